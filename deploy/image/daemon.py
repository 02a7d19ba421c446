"""Docker's daemon on a bare Debian or Ubuntu machine: its packages, its configuration, its start.

For machines that are made for one run and thrown away, as in CI: with no init system, and perhaps
themselves a container that lacks a capability.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from deploy.image import debian, runc_capped
from deploy.programs import interrupts
from deploy.programs.errors import DeployError
from deploy.programs.reporting import Reporter

PACKAGES = ("docker.io", "runc", "iptables")
PROGRAMS = ("docker", "dockerd", "runc", "iptables")
RUNTIME_NAME = "capped"
WRAPPER = Path("/usr/local/lib/berthmaster/runc-capped")
CONFIGURATION = Path("/etc/docker/daemon.json")
LOG = Path("/var/log/dockerd.log")
SYSTEMD = Path("/run/systemd/system")
START_SECONDS = 60.0
POLL_SECONDS = 0.25
LOG_LINES = 10


def why_not_installable() -> str | None:
    """Say why the daemon can't be installed and started here, or None if it can."""
    return debian.why_not_installable()


def install(reporter: Reporter) -> None:
    """Install what of Docker is missing; nothing if all is there.

    Raises
    ------
    DeployError
        If this isn't root on Debian or Ubuntu, or the packages can't be had.
    """
    missing = [name for name in PROGRAMS if debian.find_program(name) is None]
    if not missing:
        return
    why_not = why_not_installable()
    if why_not is not None:
        raise DeployError(
            f"{', '.join(missing)} missing, and {why_not}: install Docker by hand, "
            "https://docs.docker.com/engine/install/"
        )
    # Debian 13's docker.io only recommends the package that has `docker` itself.
    debian.install_packages(PACKAGES, reporter, recommended=True)


def start(works: Callable[[], bool], reporter: Reporter) -> None:
    """Start the daemon and wait until ``works`` says yes; it outlives this process.

    Raises
    ------
    DeployError
        If it doesn't work within a minute; with the last lines of its log.
    """
    if os.geteuid() != 0:
        raise DeployError("only root can start Docker's daemon: `sudo systemctl start docker`")
    missing = runc_capped.missing_capabilities()
    if missing:
        reporter.step(f"this host gives no {', '.join(sorted(missing))}: wrapping runc")
        cap_runc()
    if SYSTEMD.is_dir():
        reporter.step("starting Docker's service")
        subprocess.run(["systemctl", "restart", "docker"], check=False)  # noqa: S607
        _wait(works, lambda: None, reporter)
        return
    command = debian.find_program("dockerd")
    if command is None:
        raise DeployError("dockerd is not installed")
    reporter.step(f"starting {command}, log {LOG}")
    with interrupts.deferred(), LOG.open("ab") as log:
        child = subprocess.Popen(
            [command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd="/",
            env={**os.environ, "PATH": os.pathsep.join(debian.program_directories())},
        )
    try:
        _wait(works, child.poll, reporter)
    except BaseException:
        child.terminate()
        raise


def cap_runc(wrapper: Path = WRAPPER, configuration: Path = CONFIGURATION) -> None:
    """Install the wrapper around runc and make it the daemon's default runtime.

    What else the daemon's configuration says stays as it is.

    Raises
    ------
    DeployError
        If the configuration isn't JSON, or names another default runtime.
    """
    runc = debian.find_program("runc")
    if runc is None:
        raise DeployError("runc is not installed")
    try:
        settings = json.loads(configuration.read_text()) if configuration.exists() else {}
    except ValueError as error:
        raise DeployError(f"{configuration}: {error}") from error
    default = settings.get("default-runtime", RUNTIME_NAME)
    if default != RUNTIME_NAME:
        raise DeployError(
            f"{configuration} says default-runtime {default!r}, and this host needs runc wrapped: "
            f"remove that line, or make {default} work without the missing capabilities"
        )
    runtimes = {**settings.get("runtimes", {}), RUNTIME_NAME: {"path": str(wrapper)}}
    settings |= {"runtimes": runtimes, "default-runtime": RUNTIME_NAME}
    # The Python beneath a virtual environment: that stays when the environment goes.
    text = runc_capped.script(interpreter=Path(sys.executable).resolve(), runc=runc)
    _write(wrapper, text, mode=0o755)
    _write(configuration, json.dumps(settings, indent=2) + "\n", mode=0o644)


def _write(path: Path, text: str, *, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        file.write(text)
    new = Path(file.name)
    new.chmod(mode)
    new.replace(path)


def _wait(
    works: Callable[[], bool], exit_code: Callable[[], int | None], reporter: Reporter
) -> None:
    deadline_seconds = time.monotonic() + START_SECONDS
    while not works():
        code = exit_code()
        if code is not None or time.monotonic() > deadline_seconds:
            happened = f"ended with {code}" if code is not None else "does not answer"
            raise DeployError(f"Docker's daemon {happened}:\n{_log_tail()}")
        reporter.progress("waiting for Docker's daemon")
        time.sleep(POLL_SECONDS)
    reporter.step("Docker works")


def _log_tail() -> str:
    if not LOG.exists():
        return "  see `journalctl -u docker`" if shutil.which("journalctl") else "  no log"
    lines = LOG.read_text(errors="replace").splitlines()
    return "\n".join(f"  {line}" for line in lines[-LOG_LINES:])
