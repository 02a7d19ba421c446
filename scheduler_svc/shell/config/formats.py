"""The types of fields that a file writes in a form of its own, or that have a range."""

from typing import Annotated, Final

import msgspec

DURATION: Final = "duration"
HIDDEN: Final = "hidden"

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

Seconds = Annotated[float, msgspec.Meta(extra={"format": DURATION})]
"""Seconds, which a file writes as a Go duration: `15s`, `1m30s`."""

HiddenBytes = Annotated[bytes, msgspec.Meta(extra={"format": HIDDEN})]
"""Bytes, base64 in a file, that no message, log or page may show."""
