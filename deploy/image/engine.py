"""A Docker engine to work with: found, or on request installed and started."""

from __future__ import annotations

import os
import queue
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from deploy.image import daemon
from deploy.programs.errors import DeployError
from deploy.programs.reporting import Reporter

DOCKER = "docker"
COMMAND_TIMEOUT_SECONDS = 600.0
INFO_TIMEOUT_SECONDS = 20.0
PULL_ANSWER_SECONDS = 5.0
PULL_STALL_SECONDS = 120.0


def ensure_docker(reporter: Reporter, *, install: bool = False) -> None:
    """Make sure that ``docker`` works.

    Parameters
    ----------
    reporter
        Where it is written what is installed and started.
    install
        Whether packages may be installed and a daemon started where there is none; that takes root
        on Debian or Ubuntu.

    Raises
    ------
    DeployError
        If there is none; says what helps.
    """
    why_not = _why_not()
    if why_not is None:
        return
    if "permission denied" in why_not.lower():
        raise DeployError(
            "the Docker engine runs, but this user may not use it: "
            f"`sudo usermod -aG docker {os.environ.get('USER', 'YOU')}` and log in anew, "
            "or run this as root"
        )
    if not install:
        raise DeployError(f"{why_not}\n{_what_helps()}")
    daemon.install(reporter)
    daemon.start(lambda: _why_not() is None, reporter)


def run_docker(
    *arguments: str | Path,
    given: bytes | IO[bytes] | None = None,
    timeout_seconds: float = COMMAND_TIMEOUT_SECONDS,
) -> str:
    """Run ``docker`` with some arguments and return what it prints, without the last newline.

    Parameters
    ----------
    arguments
        E.g. ``"image", "inspect", "berthmaster:dev"``.
    given
        What it reads from its standard input: bytes, or an open file or pipe.

    Raises
    ------
    DeployError
        If it can't be run, fails or takes longer than ``timeout_seconds``.
    """
    with tempfile.TemporaryFile() as file:
        if isinstance(given, bytes):
            file.write(given)
            file.seek(0)
            given = file
        try:
            done = subprocess.run(
                [DOCKER, *arguments],
                stdin=given or subprocess.DEVNULL,
                capture_output=True,
                timeout=timeout_seconds,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DeployError(f"docker {arguments[0]}: {error}") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).decode(errors="replace").strip()
        raise DeployError(f"docker {arguments[0]} failed: {said or f'exit {done.returncode}'}")
    return done.stdout.decode(errors="replace").rstrip("\n")


def has_image(image: str) -> bool:
    """Tell whether the engine has an image of this name."""
    return bool(run_docker("image", "ls", "--quiet", image))


def import_image(root: Path, image: str, *, changes: Sequence[str] = ()) -> None:
    """Make an image of one layer of all that is in a directory.

    Parameters
    ----------
    root
        The directory; who owns the files there owns them in the image.
    image
        Its name and tag.
    changes
        Instructions as in a Dockerfile, e.g. ``ENTRYPOINT ["/init"]``.

    Raises
    ------
    DeployError
        If the files can't be read or the engine doesn't take them.
    """
    options = [text for change in changes for text in ("--change", change)]
    command: list[str | Path] = ["tar", "--directory", root, "--numeric-owner", "--create", "."]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as tar:
        try:
            run_docker("import", *options, "-", image, given=tar.stdout)
        except BaseException:
            tar.kill()
            raise
        said = tar.stderr.read().decode(errors="replace") if tar.stderr else ""
    if tar.returncode != 0:
        run_docker("image", "rm", image)
        raise DeployError(f"reading {root} for {image}: {said.strip()}")


def pull_image(
    image: str, reporter: Reporter, *, answer_seconds: float = PULL_ANSWER_SECONDS
) -> str | None:
    """Pull an image; None if it is there then, else why it can't be had, in a line.

    Gives up when the registry has said nothing for ``answer_seconds``, so that a network that lets
    nothing through costs no more; once it has answered, after two minutes without a word.
    """
    reporter.progress(f"asking for {image}")
    with subprocess.Popen(
        [DOCKER, "pull", image],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as child:
        try:
            last = _follow(child, image, reporter, answer_seconds)
        except TimeoutError as error:
            return str(error)
        finally:
            if child.poll() is None:
                child.kill()
    return None if child.returncode == 0 else (last or f"exit code {child.returncode}")


def _follow(
    child: subprocess.Popen[bytes], image: str, reporter: Reporter, answer_seconds: float
) -> str:
    """Show what `docker pull` writes until it ends; return its last line."""
    lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    threading.Thread(target=_read_lines, args=(child.stdout, lines), daemon=True).start()
    last, timeout_seconds = "", answer_seconds
    while True:
        try:
            line = lines.get(timeout=timeout_seconds)
        except queue.Empty:
            raise TimeoutError(f"no answer within {timeout_seconds:.0f} s") from None
        if line is None:
            child.wait()
            return last
        last, timeout_seconds = line.decode(errors="replace").strip(), PULL_STALL_SECONDS
        reporter.progress(f"pulling {image}: {last}")


def _read_lines(pipe: IO[bytes], lines: queue.SimpleQueue[bytes | None]) -> None:
    for line in pipe:
        lines.put(line)
    lines.put(None)


def _why_not() -> str | None:
    """Say why ``docker`` doesn't work, or None if it does."""
    if shutil.which(DOCKER) is None:
        return "Docker is not installed: there is no `docker` on PATH."
    try:
        run_docker("info", "--format", "{{.ServerVersion}}", timeout_seconds=INFO_TIMEOUT_SECONDS)
    except DeployError as error:
        return str(error)
    return None


def _what_helps() -> str:
    helps = [
        "start the engine if it is installed: `sudo systemctl start docker`",
        "install it: https://docs.docker.com/engine/install/",
        "point DOCKER_HOST or `docker context use` at an engine elsewhere",
    ]
    if daemon.why_not_installable() is None:
        helps.append(
            "have it installed and started here: `python -m deploy.image docker --install`"
        )
    return "Any one of these helps:\n" + "\n".join(f"  - {text}" for text in helps)
