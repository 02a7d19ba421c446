"""Files that only their owner can read, and where a checkout keeps what it runs."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

STATE_ROOT = Path(__file__).resolve().parents[2] / ".state"
TEMPORARY_PREFIX = ".tmp-"


def write_private(path: Path, content: bytes | str) -> None:
    """Write a file atomically with mode 0600."""
    data = content.encode() if isinstance(content, str) else content
    # mkstemp makes the file with mode 0600; it is never readable by others, not even for a moment.
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=TEMPORARY_PREFIX)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
