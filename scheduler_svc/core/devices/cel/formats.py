"""Named formats as CEL values: bytes that begin with f, and the name; and what a text lacks of one.

Source: staging/src/k8s.io/apiserver/pkg/cel/library/format.go,
staging/src/k8s.io/apimachinery/pkg/{util,api}/validat{ion,e} and kube-openapi's strfmt, v1.36.3.
"""

import re
from collections.abc import Callable
from typing import Final

from scheduler_svc.core.devices.cel.urls import check_request_uri
from scheduler_svc.core.errors import InputError

KIND: Final = b"\x01f"
_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE: Final = f"({_KEY})?"
_ENDS: Final = "and must start and end with an alphanumeric character"
# kube-scheduler's words.
_LABEL_FAULT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    f"{_ENDS} (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_SUBDOMAIN_FAULT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    f"'.', {_ENDS} (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_LABEL_1035_FAULT: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    f"regex used for validation is '{_LABEL_1035}')"
)
_KEY_FAULT: Final = (
    f"must consist of alphanumeric characters, '-', '_' or '.', {_ENDS} (e.g. 'MyName',  or "
    f"'my.name',  or '123-abc', regex used for validation is '{_KEY}')"
)
_VALUE_FAULT: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    f"'.', {_ENDS} (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'{_VALUE}')"
)
_PREFIXED: Final = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
_HEX: Final = "[0-9A-Fa-f]"
_UUID: Final = re.compile(f"{_HEX}{{8}}-?(?:{_HEX}{{4}}-?){{3}}{_HEX}{{12}}")
_BASE64: Final = re.compile(
    "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"
)
_DATE: Final = re.compile("([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME: Final = re.compile(
    r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})"
)
_DAYS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _length(text: str, limit: int, unit: str = "bytes") -> list[str]:
    return [f"must be no more than {limit} {unit}"] if len(text.encode()) > limit else []


def _is(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text) is not None


def _label(text: str) -> list[str]:
    found = _length(text, 63, "characters")
    if not _is(_LABEL, text):
        found.append("must not contain dots" if _is(_SUBDOMAIN, text) else _LABEL_FAULT)
    return found


def _subdomain(text: str) -> list[str]:
    faults = [] if _is(_SUBDOMAIN, text) else [_SUBDOMAIN_FAULT]
    return _length(text, 253, "characters") + faults


def _label_1035(text: str) -> list[str]:
    faults = [] if _is(_LABEL_1035, text) else [_LABEL_1035_FAULT]
    return _length(text, 63, "characters") + faults


def _label_value(text: str) -> list[str]:
    return _length(text, 63) + ([] if _is(_VALUE, text) else [_VALUE_FAULT])


def _qualified_name(text: str) -> list[str]:
    parts = text.split("/")
    if len(parts) > 2:
        return [f"a valid label key {_KEY_FAULT}{_PREFIXED}"]
    found = []
    if len(parts) == 2:
        faults = _subdomain(parts[0]) if parts[0] else ["must be non-empty"]
        found = [f"prefix part {fault}" for fault in faults]
    name = parts[-1]
    faults = _length(name, 63) if name else ["must be non-empty"]
    faults += [] if _is(_KEY, name) else [_KEY_FAULT]
    return found + [f"name part {fault}" for fault in faults]


def _as_prefix(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Check a text that something is to be written after, so that it may end with a dash."""

    def checked(text: str) -> list[str]:
        if len(text) > 1 and text.endswith("-"):
            text = (text.encode()[:-2] + b"a").decode(errors="replace")
        return check(text)

    return checked


def _uri(text: str) -> list[str]:
    try:
        check_request_uri(text)
    except InputError as error:
        return [str(error)]
    return []


def _is_date(text: str) -> bool:
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    year, month, day = map(int, match.groups())
    if not 1 <= month <= 12 or not 1 <= day <= _DAYS[month - 1]:
        return False
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return (month, day) != (2, 29) or is_leap


def _is_time(text: str) -> bool:
    date, *rest = text.lower().split("t")
    if not rest or not _is_date(date):
        return False
    match = _TIME.fullmatch(rest[0])
    return match is not None and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


def _told(is_sound: Callable[[str], object], fault: str) -> Callable[[str], list[str]]:
    return lambda text: [] if is_sound(text) else [fault]


FORMATS: Final[dict[str, Callable[[str], list[str]]]] = {
    "dns1123Label": _label,
    "dns1123Subdomain": _subdomain,
    "dns1035Label": _label_1035,
    "qualifiedName": _qualified_name,
    "dns1123LabelPrefix": _as_prefix(_label),
    "dns1123SubdomainPrefix": _as_prefix(_subdomain),
    "dns1035LabelPrefix": _as_prefix(_label_1035),
    "labelValue": _label_value,
    "uri": _uri,
    "uuid": _told(_UUID.fullmatch, "does not match the UUID format"),
    "byte": _told(_BASE64.fullmatch, "invalid base64"),
    "date": _told(_is_date, "invalid date"),
    "datetime": _told(_is_time, "invalid datetime"),
}


def named(name: str) -> list[bytes]:
    """Give the format of this name, in a list; an empty one where there is none."""
    return [KIND + name.encode()] if name in FORMATS else []


def faults(value: bytes | bytearray, text: str) -> list[str]:
    """Give what a text lacks of a format."""
    return FORMATS[value[2:].decode()](text)
