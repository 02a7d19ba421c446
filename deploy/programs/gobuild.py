"""Building programs from the Go module proxy.

``go install module@version`` refuses modules that have replace directives, as k8s.io/kubernetes
does: it names its staging modules by path. So each program is built in a module of our own, which
requires the program's module, pins the staging modules to the release that belongs to it, and
replaces modules by others as the program's module does.

Each program is built by itself: what is done stays done when the command is interrupted.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deploy.programs import interrupts, processes
from deploy.programs.catalogue import PROGRAMS, linker_flags
from deploy.programs.errors import SourceError
from deploy.programs.gotoolchain import GoToolchain, find_go
from deploy.programs.private_files import TEMPORARY_PREFIX
from deploy.programs.reporting import Reporter
from deploy.programs.sources import Binary, Cache
from deploy.programs.versions import Requirement, Version

MINIMUM_GO = Version(1, 26, 0)
POLL_SECONDS = 0.5
FAILURE_LINES = 3
STALE_PACKAGES = "{{if .Stale}}{{.ImportPath}}{{end}}"
_STAGING = re.compile(r"^\s*(?:replace\s+)?(k8s\.io/\S+) => \./staging", re.MULTILINE)
_REPLACED = re.compile(r"^\s*(?:replace\s+)?(\S+(?: v\S+)?) => ([^./]\S* v\S+)", re.MULTILINE)
_GO_DIRECTIVE = re.compile(r"^go (\d+)\.(\d+)(?:\.(\d+))?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class GoProgram:
    """What to build: a main package of a module at a version, and flags for the linker."""

    module: str
    version: Version
    package: str
    linker_flags: str = "-s -w"


class GoBuildSource:
    """Builds programs with Go and puts them into the cache.

    Parameters
    ----------
    cache, reporter
        Where the programs go, and where progress is written.
    owner
        The state directory whose ``down`` also ends a build that outlived its command.
    """

    label = "Go build"

    def __init__(self, cache: Cache, reporter: Reporter, *, owner: Path) -> None:
        self._cache = cache
        self._reporter = reporter
        self._owner = owner

    def obtain(self, requirement: Requirement) -> Binary:
        """Build the program; minutes on a cold cache.

        Raises
        ------
        SourceError
            If there is no Go, a module can't be fetched or the build fails.
        """
        program = describe(requirement)
        go = find_go(MINIMUM_GO, self._cache.root, self._reporter)
        log = self._cache.directory / f"{requirement.name}.build.log"
        log.write_bytes(b"")
        with tempfile.TemporaryDirectory(
            dir=self._cache.directory, prefix=TEMPORARY_PREFIX
        ) as path:
            build = _Build(go, Path(path), log, self._owner, self._reporter)
            title = f"{requirement.name} {requirement.version}"
            self._reporter.step(f"building {title} with Go {go.version}, log {log}")
            minimum = build.prepare(program)
            if minimum > go.version:
                build.go = find_go(minimum, self._cache.root, self._reporter)
            binary = build.compile(program, requirement.name)
            source = f"built with Go {build.go.version}"
            return self._cache.install(
                *(requirement.name, binary, requirement.version, source),
                built_with=program.linker_flags,
            )


def describe(requirement: Requirement) -> GoProgram:
    """Say how a program is built."""
    program = PROGRAMS[requirement.name]
    version = requirement.version
    flags = linker_flags(requirement.name, version)
    return GoProgram(program.module, version, program.import_path, flags)


def module_file(program: GoProgram, upstream: str) -> str:
    """Write the go.mod of the module to build ``program`` in.

    Parameters
    ----------
    program
        What to build.
    upstream
        The go.mod of the program's module: tells which modules it replaces, by a path or another.
    """
    lines = [
        "module berthmaster.invalid/build",
        "",
        f"go {go_directive(upstream)}",
        "",
        f"require {program.module} v{program.version}",
        "",
    ]
    staging = f"v0.{program.version.minor}.{program.version.patch}"
    lines += [f"replace {name} => {name} {staging}" for name in _STAGING.findall(upstream)]
    lines += [f"replace {name} => {other}" for name, other in _REPLACED.findall(upstream)]
    return "\n".join(lines) + "\n"


def go_directive(upstream: str) -> Version:
    """Return the Go version that a go.mod asks for."""
    match = _GO_DIRECTIVE.search(upstream)
    if match is None:
        return MINIMUM_GO
    major, minor, patch = match.groups()
    return Version(int(major), int(minor), int(patch or 0))


class _Build:
    """One build, in a directory of its own."""

    def __init__(
        self, go: GoToolchain, directory: Path, log: Path, owner: Path, reporter: Reporter
    ) -> None:
        self.go = go
        self._directory = directory
        self._log = log
        self._owner = owner
        self._reporter = reporter

    def prepare(self, program: GoProgram) -> Version:
        """Download the program's module and write go.mod; return the Go version it asks for."""
        # Outside of any module, as `go mod download` of a single one needs none.
        answer = self._directory / "module.json"
        reference = f"{program.module}@v{program.version}"
        arguments = ["mod", "download", "-json", reference]
        self._run(arguments, f"downloading {reference}", output=answer)
        try:
            upstream = Path(json.loads(answer.read_text())["GoMod"]).read_text()
        except (OSError, ValueError, KeyError) as error:
            raise SourceError(f"go mod download {reference}: unexpected answer: {error}") from error
        (self._directory / "go.mod").write_text(module_file(program, upstream))
        return go_directive(upstream)

    def compile(self, program: GoProgram, name: str) -> Path:
        """Build the program, telling how many packages are compiled of how many."""
        listing = self._directory / "stale.txt"
        # Also downloads the modules that are needed, which `go build` would do without a word.
        self._run(
            ["list", "-mod=mod", "-deps", "-f", STALE_PACKAGES, program.package],
            f"{name}: downloading modules, counting packages",
            output=listing,
        )
        total_count = len(listing.read_text().split())
        binary = self._directory / name
        began_seconds = time.monotonic()
        offset = self._log.stat().st_size

        def progress() -> str:
            with self._log.open("rb") as log:
                log.seek(offset)
                compiled_count = log.read().count(b"\n")
            elapsed_seconds = int(time.monotonic() - began_seconds)
            return (
                f"building {name}: {min(compiled_count, total_count)} of {total_count} packages, "
                f"{elapsed_seconds // 60} min {elapsed_seconds % 60:02} s, log {self._log}"
            )

        arguments = ["build", "-mod=mod", "-v", "-ldflags", program.linker_flags]
        self._run([*arguments, "-o", str(binary), program.package], progress)
        return binary

    def _run(
        self,
        arguments: Sequence[str],
        progress: str | Callable[[], str],
        *,
        output: Path | None = None,
    ) -> None:
        """Run go, showing progress; its errors go to the log, its output there or to a file."""
        environment = {
            **os.environ,
            **self.go.environment,
            "CGO_ENABLED": "0",
            "GOTOOLCHAIN": "local",
            "GOWORK": "off",
        }
        with self._started(arguments, environment, output) as child:
            while child.poll() is None:
                self._reporter.progress(progress if isinstance(progress, str) else progress())
                try:
                    child.wait(POLL_SECONDS)
                except subprocess.TimeoutExpired:
                    continue
            if child.returncode != 0:
                raise SourceError(self._failure(arguments, child.returncode))

    @contextmanager
    def _started(
        self, arguments: Sequence[str], environment: dict[str, str], output: Path | None
    ) -> Iterator[subprocess.Popen[bytes]]:
        with interrupts.deferred():
            child = processes.spawn(
                [self.go.command, *arguments],
                owner=self._owner,
                component="go",
                log=self._log,
                environment=environment,
                directory=self._directory,
                output=output,
            )
        try:
            yield child
        finally:
            if child.poll() is None:
                # Not yet waited for, so the number can't have become another group's.
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()

    def _failure(self, arguments: Sequence[str], code: int) -> str:
        lines = self._log.read_text(errors="replace").splitlines()
        errors = [line for line in lines if not re.fullmatch(r"[\w./-]+", line)]
        tail = "; ".join((errors or lines)[-FAILURE_LINES:]) or f"exit code {code}"
        return f"go {arguments[0]} failed: {tail[:600]} (log {self._log})"
