"""Durations as Go writes them (`15s`, `1h2m3.5s`, `100ms`), held here as seconds.

metav1.Duration is a string in a file, parsed by time.ParseDuration. Arithmetic is in
whole nanoseconds, as Go's, so that a value survives reading and writing unchanged (as
seconds in a float it does up to 26 days).
"""

import re
from decimal import Decimal
from typing import Final

_UNIT_NANOSECONDS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+", re.ASCII)
_UNIT = re.compile(r"[^0-9.]+", re.ASCII)
_MAX_NANOSECONDS: Final = 2**63 - 1
_MAX_LENGTH: Final = 100


def parse_duration(text: str) -> float:
    """Return the seconds that `text` stands for.

    Raises
    ------
    ValueError
        The text is no Go duration, or one beyond int64 nanoseconds (292 years); the
        message is Go's.
    """
    invalid = f'invalid duration "{text}"'
    body = text[1:] if text[:1] in {"+", "-"} else text
    if body == "0":
        return 0.0
    if not body or len(body) > _MAX_LENGTH:
        raise ValueError(f"time: {invalid}")
    nanoseconds, position = 0, 0
    while position < len(body):
        number = _NUMBER.match(body, position)
        if number is None:
            raise ValueError(f"time: {invalid}")
        unit = _UNIT.match(body, number.end())
        if unit is None:
            raise ValueError(f'time: missing unit in duration "{text}"')
        if unit.group() not in _UNIT_NANOSECONDS:
            raise ValueError(f'time: unknown unit "{unit.group()}" in duration "{text}"')
        nanoseconds += int(Decimal(number.group()) * _UNIT_NANOSECONDS[unit.group()])
        position = unit.end()
    if nanoseconds > _MAX_NANOSECONDS:
        raise ValueError(f"time: {invalid}")
    return (-nanoseconds if text.startswith("-") else nanoseconds) / 1e9


def format_duration(seconds: float) -> str:
    """Write `seconds` as Go's Duration.String does: `10m0s`, `1.5s`, `100ms`, `0s`."""
    nanoseconds = round(seconds * 1e9)
    sign, nanoseconds = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if nanoseconds == 0:
        return "0s"
    for unit in ("ns", "µs", "ms"):
        if nanoseconds < _UNIT_NANOSECONDS[unit] * 1000:
            return f"{sign}{_decimal(nanoseconds, _UNIT_NANOSECONDS[unit])}{unit}"
    minutes, rest = divmod(nanoseconds, _UNIT_NANOSECONDS["m"])
    text = f"{_decimal(rest, _UNIT_NANOSECONDS['s'])}s"
    if minutes:
        hours, minutes = divmod(minutes, 60)
        text = f"{hours}h{minutes}m{text}" if hours else f"{minutes}m{text}"
    return sign + text


def _decimal(nanoseconds: int, unit_nanoseconds: int) -> str:
    whole, rest = divmod(nanoseconds, unit_nanoseconds)
    digits = f"{rest:0{len(str(unit_nanoseconds)) - 1}d}".rstrip("0") if rest else ""
    return f"{whole}.{digits}" if digits else str(whole)
