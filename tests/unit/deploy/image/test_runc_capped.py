"""What a wrapped runc is asked for: all but the capabilities that the host doesn't have."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.image import runc_capped
from deploy.image.runc_capped import CAPABILITIES, missing_capabilities, specifications, without

KERNEL_LAST = 40  # CAP_CHECKPOINT_RESTORE, since Linux 5.9


def write_proc(directory: Path, bounding: str, last: int = KERNEL_LAST) -> Path:
    (directory / "self").mkdir(parents=True)
    (directory / "self" / "status").write_text(f"Name:\tx\nCapBnd:\t{bounding}\nCapAmb:\t0\n")
    (directory / "sys" / "kernel").mkdir(parents=True)
    (directory / "sys" / "kernel" / "cap_last_cap").write_text(f"{last}\n")
    return directory


def test_numbers_are_the_kernel_s() -> None:
    # capabilities(7), include/uapi/linux/capability.h
    numbers = {"CHOWN": 0, "SYS_ADMIN": 21, "SYS_RESOURCE": 24, "SETFCAP": 31, "BPF": 39}
    assert {name: CAPABILITIES.index(name) for name in numbers} == numbers
    assert len(CAPABILITIES) == KERNEL_LAST + 1


@pytest.mark.parametrize(
    ("bounding", "last", "missing"),
    [
        ("000001ffffffffff", 40, set()),
        ("000001fffeffffff", 40, {"CAP_SYS_RESOURCE"}),
        ("000001fffedfffff", 40, {"CAP_SYS_RESOURCE", "CAP_SYS_ADMIN"}),
        # An older kernel: what it doesn't know is not missing.
        ("0000003fffffffff", 37, set()),
    ],
)
def test_missing_capabilities(bounding: str, last: int, missing: set[str], tmp_path: Path) -> None:
    assert missing_capabilities(write_proc(tmp_path, bounding, last)) == missing


def test_a_bundle_asks_for_none_that_is_missing() -> None:
    process = {
        "args": ["sh"],
        "capabilities": {
            "bounding": ["CAP_CHOWN", "CAP_SYS_RESOURCE"],
            "effective": ["CAP_SYS_RESOURCE"],
            "permitted": ["CAP_CHOWN"],
        },
    }
    kept = {"bounding": ["CAP_CHOWN"], "effective": [], "permitted": ["CAP_CHOWN"]}
    bundle = {"ociVersion": "1.0.2", "process": process, "root": {"path": "rootfs"}}
    assert without(bundle, {"CAP_SYS_RESOURCE"}) == {
        "ociVersion": "1.0.2",
        "process": {"args": ["sh"], "capabilities": kept},
        "root": {"path": "rootfs"},
    }
    assert without(process, {"CAP_SYS_RESOURCE"}) == {"args": ["sh"], "capabilities": kept}
    assert without({"args": ["sh"]}, {"CAP_SYS_RESOURCE"}) == {"args": ["sh"]}


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        ("--root /r create --bundle /b --pid-file /p id", ["/b/config.json"]),
        ("run -b /b id", ["/b/config.json"]),
        ("create --bundle=/b id", ["/b/config.json"]),
        ("exec --process /tmp/spec.json -d id", ["/tmp/spec.json"]),
        ("exec -p /tmp/spec.json id", ["/tmp/spec.json"]),
        ("delete --force id", []),
        ("create id --bundle", []),
    ],
)
def test_specifications_in_arguments(arguments: str, files: list[str]) -> None:
    assert specifications(arguments.split()) == [Path(file) for file in files]


def test_the_script_becomes_runc(tmp_path: Path) -> None:
    """It rewrites the bundle as this host needs it, and passes all arguments on."""
    runc = tmp_path / "the real 'runc'"
    runc.write_text('#!/bin/sh\nprintf "%s|" "$@"\nexit 7\n')
    runc.chmod(0o755)
    wrapper = tmp_path / "runc-capped"
    wrapper.write_text(runc_capped.script(interpreter=Path(sys.executable), runc=runc))
    wrapper.chmod(0o755)
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    everything = [f"CAP_{name}" for name in CAPABILITIES]
    specification = {"process": {"capabilities": {"bounding": everything}}}
    (bundle / "config.json").write_text(json.dumps(specification))
    done = subprocess.run(
        [wrapper, "create", "--bundle", bundle, "an id"],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"]},
    )
    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout == f"create|--bundle|{bundle}|an id|"
    kept = json.loads((bundle / "config.json").read_text())["process"]["capabilities"]["bounding"]
    assert set(everything) - set(kept) == missing_capabilities()
