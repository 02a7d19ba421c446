"""Writes anew what is made from the chart: ``python -m tests.chart``.

The golden files of tests/chart/golden and docs/values.md. Read the difference before you commit it.
"""

import sys
import tempfile
from pathlib import Path

from deploy.programs.binaries import obtain_binaries
from deploy.programs.errors import DeployError
from deploy.programs.reporting import Reporter
from tests.chart.rendering import (
    GOLDEN,
    ROOT,
    VALUES_PAGE,
    VARIANTS,
    Helm,
    golden_text,
    values_page,
)


def main() -> int:
    """Write the files; give the exit code."""
    try:
        programs = obtain_binaries(["helm", "helm-docs"], reporter=Reporter())
    except DeployError as error:
        print(f"Error: {error}", file=sys.stderr)  # noqa: T201 - a command's own message
        return 1
    texts = {VALUES_PAGE: values_page(programs["helm-docs"].path)}
    with tempfile.TemporaryDirectory() as home:
        helm = Helm(programs["helm"].path, Path(home))
        texts |= {GOLDEN / f"{variant}.yaml": golden_text(helm, variant) for variant in VARIANTS}
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))  # noqa: T201 - what the command is for
    return 0


if __name__ == "__main__":
    sys.exit(main())
