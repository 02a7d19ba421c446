"""The image's base: Python's official one where it can be pulled, else Debian's Python unpacked."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.image import debian
from deploy.image.engine import has_image, import_image, pull_image, run_docker
from deploy.programs.errors import DeployError
from deploy.programs.private_files import STATE_ROOT
from deploy.programs.reporting import Reporter

OFFICIAL_IMAGE = "python:3.13-slim"
# Debian 13 has Python 3.13.
SUITE = "trixie"
PACKAGES = ("python3", "python3-venv", "ca-certificates")
UNPACKED_IMAGE = f"berthmaster-base:{SUITE}"
STATE = STATE_ROOT / "image"

# Run by the base's own Python: what decides which wheels fit. The names of the first part are
# those of PEP 508's markers.
_QUESTION = """
import json, os, platform, sys
print(json.dumps({
    "markers": {
        "implementation_name": sys.implementation.name,
        "implementation_version": platform.python_version(),
        "os_name": os.name,
        "platform_machine": platform.machine(),
        "platform_python_implementation": platform.python_implementation(),
        "platform_release": "",
        "platform_system": platform.system(),
        "platform_version": "",
        "python_full_version": platform.python_version(),
        "python_version": ".".join(platform.python_version_tuple()[:2]),
        "sys_platform": sys.platform,
    },
    "libc": platform.libc_ver(),
}))
"""


@dataclass(frozen=True, slots=True)
class PythonTarget:
    """A Python that wheels are to fit: PEP 508's marker variables, and its C library.

    ``libc`` is e.g. ``("glibc", "2.41")``, or empty texts where that isn't glibc.
    """

    markers: Mapping[str, str]
    libc: tuple[str, str]


def find_base(reporter: Reporter) -> str:
    """Return the name of a base image that the engine has, pulling or making one if need be.

    Python's official one is preferred, unless a base was made here before.

    Raises
    ------
    DeployError
        If none can be pulled and none made; says both why.
    """
    for image in (OFFICIAL_IMAGE, UNPACKED_IMAGE):
        if has_image(image):
            reporter.step(f"base: {image}")
            return image
    why_not = pull_image(OFFICIAL_IMAGE, reporter)
    if why_not is None:
        reporter.step(f"base: {OFFICIAL_IMAGE}, pulled")
        return OFFICIAL_IMAGE
    reporter.step(f"{OFFICIAL_IMAGE} cannot be pulled: {why_not}")
    try:
        make_base(UNPACKED_IMAGE, reporter)
    except DeployError as error:
        raise DeployError(
            f"there is no base: {OFFICIAL_IMAGE} cannot be pulled ({why_not}), and none can be "
            f"made of Debian's packages: {error}\n"
            "Any one of these helps:\n"
            "  - let Docker reach its registry, or configure a mirror of it\n"
            "  - run this as root on Debian or Ubuntu\n"
            "  - load an image with Python 3.11 or later and its venv module, and name it: --base"
        ) from error
    return UNPACKED_IMAGE


def make_base(image: str, reporter: Reporter) -> None:
    """Make a base image of Debian's packages; needs root.

    Raises
    ------
    DeployError
        If it can't be made.
    """
    STATE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="berthmaster-base-") as scratch:
        root = Path(scratch) / "root"
        debian.bootstrap(root, SUITE, PACKAGES, reporter=reporter, log=STATE / "bootstrap.log")
        import_image(root, image, changes=('CMD ["python3"]', "ENV LANG=C.UTF-8"))
    reporter.step(f"made {image}")


def ask_python(image: str) -> PythonTarget:
    """Ask the Python of a base image which wheels fit it.

    Raises
    ------
    DeployError
        If the image has no ``python3`` or it can't be run.
    """
    arguments = ("run", "--rm", "--network", "none", "--entrypoint", "python3", image)
    answer: dict[str, Any] = json.loads(run_docker(*arguments, "-c", _QUESTION))
    name, version = answer["libc"]
    return PythonTarget(answer["markers"], (name, version))
