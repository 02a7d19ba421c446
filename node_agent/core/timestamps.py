"""RFC 3339 times to Unix nanoseconds and back, without loss.

Kubernetes writes times in three resolutions: whole seconds (``metav1.Time``), microseconds
(``metav1.MicroTime``) and, in ``kubernetes.io/config.seen``, nanoseconds. A float of Unix
seconds keeps only about 200 ns, so times are integers here.
"""

import re
from typing import Final

from node_agent.core.clock import NANOSECONDS

_PATTERN: Final = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?"
    r"(?:[Zz]|([+-])(\d{2}):(\d{2}))",
    re.ASCII,
)
_DAY_SECONDS: Final = 86_400
_DAYS_IN_MONTH: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DAYS_IN_400_YEARS: Final = 146_097
_DAYS_TO_1970: Final = 719_468
"""From 0000-03-01, where the calendar's pattern of 400 years is taken to begin."""


def unix_nanoseconds(text: str | None) -> int | None:
    """Read a time; None where there is none, or none that exists.

    Parameters
    ----------
    text
        RFC 3339 with up to 9 digits of fraction and ``Z`` or an offset. A leap second counts
        as the second after it.
    """
    match = _PATTERN.fullmatch(text or "")
    if match is None:
        return None
    year, month, day, hour, minute, second = map(int, match.group(1, 2, 3, 4, 5, 6))
    if not _exists(year, month, day) or hour > 23 or minute > 59 or second > 60:
        return None
    seconds = _days(year, month, day) * _DAY_SECONDS + hour * 3600 + minute * 60 + second
    if match[8]:
        offset = int(match[9]) * 3600 + int(match[10]) * 60
        seconds += offset if match[8] == "-" else -offset
    return seconds * NANOSECONDS + int((match[7] or "").ljust(9, "0"))


def format_nanoseconds(nanoseconds: int) -> str:
    """Write a time as ``2026-01-02T03:04:05.000000006Z``: 9 digits of fraction, in UTC."""
    seconds, fraction = divmod(nanoseconds, NANOSECONDS)
    days, rest = divmod(seconds, _DAY_SECONDS)
    year, month, day = _date(days)
    clock = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"{year:04d}-{month:02d}-{day:02d}T{clock}.{fraction:09d}Z"


def _exists(year: int, month: int, day: int) -> bool:
    if not 1 <= month <= 12:
        return False
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= day <= _DAYS_IN_MONTH[month - 1] + (month == 2 and is_leap)


def _days(year: int, month: int, day: int) -> int:
    """Count days from 1970-01-01; a year begins in March here, so the leap day ends it."""
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * _DAYS_IN_400_YEARS + day_of_era - _DAYS_TO_1970


def _date(days: int) -> tuple[int, int, int]:
    """Give year, month and day of a number of days from 1970-01-01."""
    era, day_of_era = divmod(days + _DAYS_TO_1970, _DAYS_IN_400_YEARS)
    leap_days = day_of_era // 1460 - day_of_era // 36524 + day_of_era // 146096
    year_of_era = (day_of_era - leap_days) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = (shifted + 2) % 12 + 1
    return era * 400 + year_of_era + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1
