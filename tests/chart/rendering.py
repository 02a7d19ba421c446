"""Runs helm on the chart, for tests and for whoever writes the golden files anew."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).parents[2]
CHART: Final = ROOT / "charts/berthmaster"
GOLDEN: Final = Path(__file__).parent / "golden"
VALUES_PAGE: Final = ROOT / "docs/values.md"
# What clusters have to be checked against; helm itself may think of another.
KUBERNETES_VERSION: Final = "1.36.3"
RELEASE: Final = "blue"
NAMESPACE: Final = "placement"
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast
_SUFFIX: Final = "-values.yaml"
_MONITORING: Final = "# Source: berthmaster/templates/monitoring/"

VARIANTS: Final = tuple(
    sorted(path.name.removesuffix(_SUFFIX) for path in (CHART / "ci").glob(f"*{_SUFFIX}"))
)

Document = dict[str, Any]


class HelmError(Exception):
    """helm ended with an error; the message is what it wrote."""


def values_of(variant: str) -> Path:
    """Give the values file of a variant."""
    return CHART / "ci" / f"{variant}{_SUFFIX}"


class Helm:
    """helm, with a home of its own.

    Parameters
    ----------
    program
        The executable.
    home
        A directory for its cache; nothing of the user's is read.
    kubeconfig
        The cluster to install into; none: it only renders.
    """

    def __init__(self, program: Path, home: Path, kubeconfig: Path | None = None) -> None:
        self._program = program
        self._environment = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "KUBECONFIG": str(kubeconfig or home / "none"),
        }
        self._rendered: dict[tuple[str, ...], str] = {}

    def run(self, *arguments: str) -> str:
        """Run it; give what it writes to stdout.

        Raises
        ------
        HelmError
            If it fails.
        """
        done = subprocess.run(
            [str(self._program), *arguments],
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        if done.returncode:
            raise HelmError(done.stdout + done.stderr)
        return done.stdout

    def template(
        self,
        *arguments: str,
        values: Sequence[Path] = (),
        release: str = RELEASE,
        namespace: str = NAMESPACE,
    ) -> str:
        """Render the chart; what was rendered before costs nothing."""
        files = [f"--values={path}" for path in values]
        where = [f"--namespace={namespace}", f"--kube-version={KUBERNETES_VERSION}"]
        command = ("template", release, str(CHART), *where, *files, *arguments)
        if command not in self._rendered:
            self._rendered[command] = self.run(*command)
        return self._rendered[command]

    def documents(
        self,
        *arguments: str,
        values: Sequence[Path] = (),
        release: str = RELEASE,
        namespace: str = NAMESPACE,
    ) -> list[Document]:
        """Render the chart; give the objects."""
        text = self.template(*arguments, values=values, release=release, namespace=namespace)
        return parse(text)


def parse(text: str) -> list[Document]:
    """Give the objects of what helm has rendered."""
    return [document for document in yaml.load_all(text, _LOADER) if document]


def find(
    documents: Sequence[Document],
    kind: str,
    name: str | None = None,
    *,
    component: str | None = None,
) -> Document:
    """Give the one object of a kind, or of a kind and name, or of a kind and component."""
    [found] = [
        document
        for document in documents
        if document["kind"] == kind
        and name in (None, document["metadata"]["name"])
        and component in (None, _component(document))
    ]
    return found


def _component(document: Document) -> str | None:
    label: str | None = document["metadata"].get("labels", {}).get("app.kubernetes.io/component")
    return label


def golden_text(helm: Helm, variant: str) -> str:
    """Render a variant, without what is for monitoring: that has tests of its own."""
    text = helm.template(values=[values_of(variant)])
    parts = text.removeprefix("---\n").split("\n---\n")
    return "\n---\n".join(part for part in parts if not part.startswith(_MONITORING)) + "\n"


def values_page(helm_docs: Path) -> str:
    """Make docs/values.md from the comments in values.yaml."""
    done = subprocess.run(
        [
            str(helm_docs),
            f"--chart-search-root={CHART}",
            "--template-files=values.md.gotmpl",
            "--sort-values-order=file",
            "--log-level=error",
            "--dry-run",
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.strip() + "\n"
