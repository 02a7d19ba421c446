"""A wrapper around runc for hosts that lack capabilities: asks for none that cannot be given.

A privileged container is to get every capability that the kernel knows. Where the host, itself a
container or a small virtual machine, has fewer in its bounding set (CAP_SYS_RESOURCE is often
left out), runc fails with "unable to apply caps: operation not permitted". This takes them out of
the bundle's ``config.json`` and the process's specification (OCI runtime specification 1.1,
``process.capabilities``) before runc reads them.

The file is also the wrapper itself: ``script`` gives it with its first and last line filled in, so
it imports nothing but what Python has.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

RUNC = ""
# In the order of their numbers: include/uapi/linux/capability.h of Linux 6.12.
CAPABILITIES = (
    *("CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID"),
    *("SETPCAP", "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW"),
    *("IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT"),
    *("SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD"),
    *("LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG"),
    *("WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF", "CHECKPOINT_RESTORE"),
)
BUNDLE_FLAGS = ("--bundle", "-b")
PROCESS_FLAGS = ("--process", "-p")


def missing_capabilities(proc: Path = Path("/proc")) -> frozenset[str]:
    """Name the kernel's capabilities that no process of this host can have.

    E.g. ``CAP_SYS_RESOURCE``: what the bounding set of this process lacks, as ``proc`` tells it.
    """
    status = (proc / "self" / "status").read_text().splitlines()
    bounding = next(line for line in status if line.startswith("CapBnd:"))
    bits = int(bounding.split()[1], 16)
    count = int((proc / "sys" / "kernel" / "cap_last_cap").read_text()) + 1
    known = CAPABILITIES[:count]
    return frozenset(f"CAP_{name}" for number, name in enumerate(known) if not bits >> number & 1)


def without(specification: Mapping[str, Any], missing: Collection[str]) -> dict[str, Any]:
    """Return a bundle's or a process's specification that asks for none of ``missing``."""
    if "process" in specification:
        return {**specification, "process": without(specification["process"], missing)}
    capabilities = specification.get("capabilities")
    if not capabilities:
        return dict(specification)
    kept = {
        kind: [name for name in names if name not in missing]
        for kind, names in capabilities.items()
    }
    return {**specification, "capabilities": kept}


def specifications(arguments: Sequence[str]) -> list[Path]:
    """Return the files named in runc's arguments that may ask for capabilities."""
    found = []
    pairs = list(itertools.pairwise(arguments))
    pairs += [(flag, value) for flag, _, value in (text.partition("=") for text in arguments)]
    for flag, value in pairs:
        if not value:
            continue
        if flag in BUNDLE_FLAGS:
            found.append(Path(value) / "config.json")
        elif flag in PROCESS_FLAGS:
            found.append(Path(value))
    return found


def script(*, interpreter: Path, runc: Path) -> str:
    """Return the text of the wrapper, run by ``interpreter``, for the real ``runc``."""
    text = Path(__file__).read_text().replace('\nRUNC = ""\n', f"\nRUNC = {str(runc)!r}\n")
    # Isolated and without site-packages: it starts in a third of the time.
    return f"#!{interpreter} -IS\n{text}"


def main() -> None:
    """Become runc, with the same arguments."""
    missing = missing_capabilities()
    for path in filter(Path.is_file, specifications(sys.argv[1:])):
        specification = json.loads(path.read_text())
        path.write_text(json.dumps(without(specification, missing)))
    os.execv(RUNC, [RUNC, *sys.argv[1:]])  # noqa: S606 - runc itself; it takes no shell


if __name__ == "__main__":
    main()
