"""Semantic versions as CEL values: bytes that begin with v, and the version without its build.

Source: staging/src/k8s.io/apiserver/pkg/cel/library/semverlib.go, v1.36.3, and
github.com/blang/semver v4.0.0.
"""

import functools
import re
from typing import Final

from scheduler_svc.core.devices.cel.text import quoted
from scheduler_svc.core.errors import InputError

KIND: Final = b"\x01v"
_NUMBERS: Final = re.compile("[0-9]*")
_LETTERS: Final = re.compile("[0-9A-Za-z-]*")
_MAX_NUMBER: Final = 2**64 - 1

# A version in an order that is that of versions: numbers, whether it is final, its parts.
Version = tuple[tuple[int, ...], bool, tuple[tuple[bool, int, str], ...]]


def version_value(text: str, normalize: bool = False) -> bytes:
    """Give the CEL value of a version. Raises `InputError` for what is none."""
    if normalize:
        text = _normalized(text)
    if not text:
        raise InputError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) < 3:
        raise InputError("No Major.Minor.Patch elements found")
    for name, number in zip(("major", "minor"), parts[:2], strict=True):
        _check_number(name, number)
    rest, has_build, build = parts[2].partition("+")
    patch, has_pre_release, pre_release = rest.partition("-")
    _check_number("patch", patch)
    for part in pre_release.split(".") if has_pre_release else ():
        _check_pre_release(part)
    for part in build.split(".") if has_build else ():
        if not part:
            raise InputError("Build meta data is empty")
        if not _LETTERS.fullmatch(part):
            raise InputError(f"Invalid character(s) found in build meta data {quoted(part)}")
    return KIND + f"{parts[0]}.{parts[1]}.{rest}".encode()


def _normalized(text: str) -> str:
    """Complete a short version, strip a leading v and zeros."""
    parts = text.removeprefix("v").split(".", 2)
    for index, part in enumerate(parts):
        if len(part.encode()) > 1:
            stripped = part.lstrip("0")
            is_number = stripped[:1].isascii() and stripped[:1].isdigit()
            parts[index] = stripped if is_number else f"0{stripped}"
    if len(parts) < 3 and re.search("[+-]", parts[-1]):
        raise InputError("short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, "0", "0"][: max(3, len(parts))])


def _check_number(name: str, number: str) -> None:
    if not _NUMBERS.fullmatch(number):
        raise InputError(f"Invalid character(s) found in {name} number {quoted(number)}")
    if len(number) > 1 and number[0] == "0":
        raise InputError(
            f"{name.capitalize()} number must not contain leading zeroes {quoted(number)}"
        )
    _check_size(number)


def _check_size(number: str) -> None:
    if not number or int(number) > _MAX_NUMBER:
        fault = "value out of range" if number else "invalid syntax"
        raise InputError(f"strconv.ParseUint: parsing {quoted(number)}: {fault}")


def _check_pre_release(part: str) -> None:
    if not part:
        raise InputError("Prerelease is empty")
    if not _LETTERS.fullmatch(part):
        raise InputError(f"Invalid character(s) found in prerelease {quoted(part)}")
    if _NUMBERS.fullmatch(part):
        if len(part) > 1 and part[0] == "0":
            fault = "Numeric PreRelease version must not contain leading zeroes"
            raise InputError(f"{fault} {quoted(part)}")
        _check_size(part)


@functools.lru_cache(maxsize=1024)
def version(value: bytes) -> Version:
    """Give the version that a CEL value is."""
    numbers, _, pre_release = value[2:].decode().partition("-")
    parts = tuple(
        (not part.isdigit(), int(part) if part.isdigit() else 0, "" if part.isdigit() else part)
        for part in pre_release.split(".")
        if part
    )
    return tuple(map(int, numbers.split("."))), not parts, parts
