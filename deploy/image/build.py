"""Building the image by the one Dockerfile, with and without a network that reaches registries."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

from berthmaster import __version__
from deploy.image.base import STATE, ask_python, find_base
from deploy.image.engine import DOCKER, has_image, pull_image, run_docker
from deploy.image.logged import run_logged
from deploy.image.wheelhouse import fetch_wheels
from deploy.programs.errors import DeployError
from deploy.programs.private_files import STATE_ROOT
from deploy.programs.reporting import Reporter

DEFAULT_TAG = "berthmaster:dev"
CHECKOUT = STATE_ROOT.parent
LOCKS = ("run.txt", "build.txt")
# The Dockerfile copies them from there.
WHEELS = STATE / "wheels"
LOG = STATE / "build.log"
LIMIT_MIB = 180
# For a base that was named, and that nothing can stand in for.
PULL_ANSWER_SECONDS = 60.0
_SCP_ADDRESS = re.compile(r"(?:[^@/]+@)?([^:/]+):(?!/)(.+)")


def build_image(tag: str, *, base_image: str | None = None, reporter: Reporter) -> None:
    """Build the image of this checkout; what hasn't changed since the last time is kept.

    Parameters
    ----------
    tag
        Its name, e.g. ``berthmaster:dev``.
    base_image
        An image with Python 3.11 or later and its venv module, which is pulled if the engine
        doesn't have it; by default ``python:3.13-slim``, or one made of Debian's packages where
        that can't be pulled.
    reporter
        Where progress is written.

    Raises
    ------
    DeployError
        If there is no base, a wheel can't be fetched or the build fails; with the last lines.
    """
    base = base_image or find_base(reporter)
    if not has_image(base):
        why_not = pull_image(base, reporter, answer_seconds=PULL_ANSWER_SECONDS)
        if why_not is not None:
            raise DeployError(f"{base} cannot be pulled: {why_not}")
    locks = [CHECKOUT / "locks" / name for name in LOCKS]
    fetch_wheels(locks, ask_python(base), WHEELS, log=LOG, reporter=reporter)
    arguments = {
        "BASE_IMAGE": base,
        "PIP_NO_INDEX": "1",
        "VERSION": __version__,
        "REVISION": read_revision(CHECKOUT),
        "SOURCE": source_address(_git(CHECKOUT, "remote", "get-url", "origin")),
    }
    options = [text for item in arguments.items() for text in ("--build-arg", "=".join(item))]
    run_logged(
        [DOCKER, "build", "--tag", tag, *options, CHECKOUT],
        log=LOG,
        saying=f"building {tag}",
        reporter=reporter,
    )
    reporter.step(f"built {tag}: {measure(tag):.0f} MiB, {measure_own(tag):.0f} over {base}")


def measure(image: str) -> float:
    """Return the size of an image in MiB, all its layers together, unpacked.

    Raises
    ------
    DeployError
        If the engine has no such image.
    """
    return int(run_docker("image", "inspect", "--format", "{{.Size}}", image)) / (1 << 20)


def measure_own(image: str) -> float:
    """Return how many MiB an image has over its base, which its label names.

    Raises
    ------
    DeployError
        If the engine has no such image or no longer its base.
    """
    label = '{{index .Config.Labels "org.opencontainers.image.base.name"}}'
    base = run_docker("image", "inspect", "--format", label, image)
    return measure(image) - measure(base)


def read_revision(checkout: Path) -> str:
    """Return the commit of a checkout, with ``-dirty`` if files differ from it; else nothing."""
    commit = _git(checkout, "rev-parse", "HEAD")
    if commit and _git(checkout, "status", "--porcelain", "--untracked-files=no"):
        return f"{commit}-dirty"
    return commit


def source_address(remote: str) -> str:
    """Return the web address of a Git remote, never with a password, or nothing if it has none."""
    scp = _SCP_ADDRESS.fullmatch(remote)
    if scp is not None and "://" not in remote:
        host, path = scp.groups()
    else:
        parts = urlsplit(remote)
        if parts.scheme not in ("http", "https", "ssh", "git"):
            return ""
        host, path = parts.hostname or "", parts.path.lstrip("/")
    return f"https://{host}/{path.removesuffix('.git')}"


def _git(checkout: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", checkout, *arguments],  # noqa: S607
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()
