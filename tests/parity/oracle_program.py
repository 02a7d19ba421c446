"""Builds and asks the oracle: kube-scheduler's own framework, as a program (`oracle/main.go`)."""

import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from deploy.programs.errors import SourceError
from deploy.programs.gobuild import MINIMUM_GO
from deploy.programs.gotoolchain import find_go
from deploy.programs.reporting import Reporter
from deploy.programs.sources import default_cache_root

SOURCES: Final = Path(__file__).parent / "oracle"
_SHOWN_ERROR: Final = 2000
_ANSWER_TIMEOUT_SECONDS: Final = 60.0

Items = Sequence[dict[str, Any]]


class OracleError(Exception):
    """The oracle cannot be built, or does not answer; says why."""


def build(console: Console, *, with_coverage: bool = False) -> Path:
    """Give the program, built if its sources have changed: some 8 minutes at first.

    With `with_coverage` it counts the statements of the in-tree plugins that it reaches,
    into the directory that GOCOVERDIR names.
    """
    root = default_cache_root()
    digest = hashlib.sha256()
    for source in [*sorted(SOURCES.glob("*.go")), SOURCES / "go.mod", SOURCES / "go.sum"]:
        digest.update(source.read_bytes())
    flavour = "oracle-cover" if with_coverage else "oracle"
    program = root / f"{flavour}-{digest.hexdigest()[:16]}"
    if program.exists():
        return program
    root.mkdir(parents=True, exist_ok=True)
    try:
        go = find_go(MINIMUM_GO, root, Reporter(console))
    except SourceError as error:
        raise OracleError(f"the oracle cannot be built: {error}") from error
    console.print("Building the oracle (8 minutes the first time)")
    packages = ".,k8s.io/kubernetes/pkg/scheduler/framework/plugins/..."
    coverage = ["-cover", "-coverpkg", packages] if with_coverage else []
    partial = program.with_suffix(".partial")
    done = subprocess.run(
        [go.command, "build", *coverage, "-o", partial, "."],
        cwd=SOURCES,
        env={**os.environ, **go.environment, "CGO_ENABLED": "0", "GOWORK": "off"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise OracleError(f"the oracle cannot be built:\n{done.stderr[-2000:]}")
    partial.rename(program)
    return program


class OraclePanicError(OracleError):
    """kube-scheduler panics: there is no answer."""


class Oracle:
    """Answers as kube-scheduler would, under one configuration; None: its own default."""

    def __init__(self, program: Path, config: Path | None = None) -> None:
        self._program = program
        self._config = config

    def command(self, snapshot: Path) -> list[str]:
        """Give the command that asks about a snapshot."""
        config = [] if self._config is None else ["-config", str(self._config)]
        return [str(self._program), *config, "-preempt", str(snapshot)]

    def answers(self, items: Items) -> list[dict[str, Any]]:
        """Give the answers about all pending Pods. Raises `OracleError`; costs some 0.1 s."""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"apiVersion": "v1", "kind": "List", "items": list(items)}, file)
            file.flush()
            try:
                done = subprocess.run(
                    self.command(Path(file.name)),
                    capture_output=True,
                    text=True,
                    timeout=_ANSWER_TIMEOUT_SECONDS,
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                raise OracleError(f"no answer in {error.timeout:g} s") from error
        if done.returncode != 0:
            panic = done.stderr.find("panic:")
            if panic >= 0:
                raise OraclePanicError(done.stderr[panic:][:_SHOWN_ERROR])
            raise OracleError(done.stderr[-_SHOWN_ERROR:])
        return [json.loads(line) for line in done.stdout.splitlines()]
