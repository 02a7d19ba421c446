"""When the kubelet made its directories for a Pod: their birth times, read from the disk.

Modification times would not do: a directory's changes with every entry made in it. Where the
file system keeps no birth times, or nothing is mounted there, nothing is known.

Source: pkg/kubelet/kubelet_getters.go, kuberuntime/helpers.go (``BuildPodLogsDirectory``,
``BuildContainerLogsDirectory``), v1.36.3; statx(2).
"""

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import Any, Final

from node_agent.core.clock import NANOSECONDS
from node_agent.core.journey.journey import FileTimes, PodIdentity

_NOWHERE: Final = Path("/nonexistent")
_AT_FDCWD: Final = -100
_AT_SYMLINK_NOFOLLOW: Final = 0x100
_STATX_BTIME: Final = 0x800
_STATX_BYTES: Final = 256
_MASK_OFFSET: Final = 0
_BTIME_OFFSET: Final = 80
"""Of ``struct statx``: 8 words of 4 and 8 bytes, then stx_atime (16 bytes), stx_btime."""


class DirectoryTimes:
    """Reads the times of Pods' directories.

    Parameters
    ----------
    kubelet_pods, pod_logs
        Where ``/var/lib/kubelet/pods`` and ``/var/log/pods`` are seen from here; "" for nowhere.
    """

    def __init__(self, kubelet_pods: str, pod_logs: str) -> None:
        self._kubelet_pods = Path(kubelet_pods) if kubelet_pods else _NOWHERE
        self._pod_logs = Path(pod_logs) if pod_logs else _NOWHERE

    @property
    def sees_logs(self) -> bool:
        """Whether a log directory that is not seen is not there: there are birth times at all."""
        return birth_nanoseconds(self._pod_logs) is not None

    def read(self, identity: PodIdentity, kubelet_uid: str) -> FileTimes:
        """Read what there is of a Pod. Cost: three system calls and one for each container.

        Parameters
        ----------
        kubelet_uid
            The Pod's uid in the kubelet, which differs from the agent's for static Pods.
        """
        logs = self._pod_logs / f"{identity.namespace}_{identity.name}_{kubelet_uid}"
        log_directory = birth_nanoseconds(logs)
        containers = {}
        if log_directory is not None:
            for name in identity.containers:
                born = birth_nanoseconds(logs / name)
                if born is not None:
                    containers[name] = born
        return FileTimes(
            data_directory=birth_nanoseconds(self._kubelet_pods / kubelet_uid),
            log_directory=log_directory,
            container_logs=containers,
        )


def birth_nanoseconds(path: Path) -> int | None:
    """Give when a file was made (Unix nanoseconds); None where it, or its birth, is not known."""
    statx = _statx()
    if statx is None:
        return None
    buffer = (ctypes.c_uint8 * _STATX_BYTES)()
    failed = statx(_AT_FDCWD, os.fsencode(path), _AT_SYMLINK_NOFOLLOW, _STATX_BTIME, buffer)
    mask = ctypes.c_uint32.from_buffer(buffer, _MASK_OFFSET).value
    if failed or not mask & _STATX_BTIME:
        return None
    seconds = ctypes.c_int64.from_buffer(buffer, _BTIME_OFFSET).value
    nanoseconds = ctypes.c_uint32.from_buffer(buffer, _BTIME_OFFSET + 8).value
    return seconds * NANOSECONDS + nanoseconds


@cache
def _statx() -> Any:
    """Find the C library's statx; None where it has none (older than glibc 2.28, musl 1.2.3)."""
    statx = getattr(ctypes.CDLL(None), "statx", None)
    if statx is not None:
        statx.argtypes = (
            ctypes.c_int,
            ctypes.c_char_p,
            ctypes.c_int,
            ctypes.c_uint,
            ctypes.c_void_p,
        )
        statx.restype = ctypes.c_int
    return statx
