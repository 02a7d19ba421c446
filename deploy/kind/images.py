"""The images that are loaded into the cluster: Berthmaster's, and one for Pods of tests."""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path, PurePosixPath

from deploy.image.build import DEFAULT_TAG, build_image
from deploy.image.engine import has_image, run_docker
from deploy.kind.archive import ImageSpec, write_archive
from deploy.programs.binaries import obtain_binaries
from deploy.programs.reporting import Reporter
from deploy.programs.versions import architecture

AGNHOST_IMAGE = "berthmaster-agnhost:dev"
# As from PATH a program may not be statically linked.
_SOURCES = ("cache", "download", "build")
_PROGRAM_LABEL = "berthmaster.agnhost.sha256"


def have_berthmaster(reporter: Reporter, *, anew: bool) -> str:
    """Have Berthmaster's image, building it if it is missing or ``anew``; give its name."""
    if anew or not has_image(DEFAULT_TAG):
        build_image(DEFAULT_TAG, reporter=reporter)
    return DEFAULT_TAG


def have_agnhost(reporter: Reporter) -> str:
    """Have an image of agnhost, the program of Kubernetes' own tests; give its name.

    It holds nothing else, and needs a command: `pause`, `netexec`, `serve-hostname` and more.
    """
    program = obtain_binaries(["agnhost"], reporter=reporter, kinds=_SOURCES, tells_found=False)[
        "agnhost"
    ].path
    with program.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if has_image(AGNHOST_IMAGE):
        labels = run_docker(
            "image", "inspect", "--format", "{{json .Config.Labels}}", AGNHOST_IMAGE
        )
        if (json.loads(labels) or {}).get(_PROGRAM_LABEL) == digest:
            return AGNHOST_IMAGE
    reporter.step(f"making the image {AGNHOST_IMAGE}")
    path = PurePosixPath("/agnhost")
    spec = ImageSpec(AGNHOST_IMAGE, {path: program}, (str(path),), {_PROGRAM_LABEL: digest})
    with tempfile.TemporaryDirectory() as scratch:
        archive = Path(scratch) / "image.tar"
        write_archive(archive, [spec], architecture=architecture())
        run_docker("load", "--quiet", "--input", archive)
    return AGNHOST_IMAGE
