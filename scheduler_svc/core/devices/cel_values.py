"""Quantities and versions as CEL values, and Kubernetes' functions on them.

The interpreter knows texts, not our types, so that a quantity or version is a text that no
attribute can have: a control character, the kind, and a canonical form. Equal values are
equal texts; everything else goes through the functions here.

Source: staging/src/k8s.io/apiserver/pkg/cel/library/{quantity,semverlib,lists,regex}.go,
v1.36.3. Differences: the libraries for addresses, URLs and named formats, and indexOf of
lists, are left out; a quantity has no more than nine decimal places.
"""

import functools
import re
from collections.abc import Callable
from typing import Any, Final

from scheduler_svc.core.errors import InputError
from scheduler_svc.core.quantity import NANO_PER_UNIT, parse_quantity

_QUANTITY: Final = "\x01q"
_VERSION: Final = "\x01v"
NO_OVERLOAD: Final = "no such overload"
# kube-scheduler's words.
_NO_QUANTITY: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)

# The pattern of semver.org, as far as its digits and letters go.
_NUMBER: Final = "0|[1-9][0-9]*"
_SEMVER: Final = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})"
    rf"(?:-((?:{_NUMBER}|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:{_NUMBER}|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*))?"
    r"(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?"
)

# A version in an order that is that of versions: numbers, whether it is final, its parts.
_Version = tuple[tuple[int, int, int], bool, tuple[tuple[bool, int, str], ...]]


def quantity_value(text: str | float) -> str:
    """Give the CEL value of a quantity. Raises `InputError` for what is none."""
    return f"{_QUANTITY}{parse_quantity(text)}"


def version_value(text: str) -> str:
    """Give the CEL value of a semantic version. Raises `InputError` for what is none."""
    match = _SEMVER.fullmatch(text)
    if match is None:
        if text.count(".") < 2:
            # kube-scheduler's words.
            raise InputError("No Major.Minor.Patch elements found")
        raise InputError(f"{text!r} is no semantic version: write major.minor.patch")
    pre_release = f"-{match[4]}" if match[4] else ""
    return f"{_VERSION}{match[1]}.{match[2]}.{match[3]}{pre_release}"


def is_version(value: object) -> bool:
    """Whether a CEL value is a version."""
    return isinstance(value, str) and value.startswith(_VERSION)


def _normalized(text: str) -> str:
    """Complete a short version, strip a leading v and zeros."""
    parts = text.removeprefix("v").split(".", 2)
    for index, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            parts[index] = stripped if stripped[:1].isdigit() else f"0{stripped}"
    if len(parts) < 3 and re.search("[+-]", parts[-1]):
        raise InputError("short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, "0", "0"][: max(3, len(parts))])


def _nano(value: str) -> int:
    if not value.startswith(_QUANTITY):
        raise InputError(NO_OVERLOAD)
    return int(value[len(_QUANTITY) :])


@functools.lru_cache(maxsize=1024)
def _version(value: str) -> _Version:
    if not value.startswith(_VERSION):
        raise InputError(NO_OVERLOAD)
    numbers, _, pre_release = value[len(_VERSION) :].partition("-")
    major, minor, patch = (int(number) for number in numbers.split("."))
    parts = tuple(
        (not part.isdigit(), int(part) if part.isdigit() else 0, part)
        for part in pre_release.split(".")
        if part
    )
    return (major, minor, patch), not parts, parts


def _quantity(text: str) -> str:
    try:
        return quantity_value(text)
    except InputError as error:
        raise InputError(_NO_QUANTITY) from error


def compare(left: str, right: str) -> int:
    """Compare two quantities or two versions: -1, 0 or 1. Raises `InputError` for others."""
    if left.startswith(_VERSION):
        first, second = _version(left), _version(right)
        return (first > second) - (first < second)
    own, other = _nano(left), _nano(right)
    return (own > other) - (own < other)


def _is_valid(parse: Callable[..., str]) -> Callable[..., bool]:
    def is_valid(*arguments: Any) -> bool:
        try:
            parse(*arguments)
        except InputError:
            return False
        return True

    return is_valid


def _semver(text: str, normalize: bool = False) -> str:
    return version_value(_normalized(text) if normalize else text)


def _as_integer(value: str) -> int:
    whole, rest = divmod(_nano(value), NANO_PER_UNIT)
    if rest:
        raise InputError("cannot convert value to integer")
    return whole


def _added(sign: int) -> Callable[[str, Any], str]:
    def added(left: str, right: Any) -> str:
        other = right * NANO_PER_UNIT if isinstance(right, int) else _nano(right)
        return f"{_QUANTITY}{_nano(left) + sign * other}"

    return added


def _sum(values: list[Any]) -> Any:
    return sum(values) if values else 0


def _extreme(choose: Callable[[list[Any]], Any], name: str) -> Callable[[list[Any]], Any]:
    def extreme(values: list[Any]) -> Any:
        if not values:
            raise InputError(f"{name} called on empty list")
        return choose(values)

    return extreme


def _distinct(values: list[Any]) -> list[Any]:
    return [value for index, value in enumerate(values) if value not in values[:index]]


def _slice(values: list[Any], start: int, end: int) -> list[Any]:
    if min(start, end) < 0:
        raise InputError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        fault = "start index must be less than or equal to end index"
        raise InputError(f"cannot slice({start}, {end}), {fault}")
    if end > len(values):
        raise InputError(f"cannot slice({start}, {end}), list is length {len(values)}")
    return values[start:end]


def _flatten(values: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise InputError("level must be non-negative")
    flat: list[Any] = []
    for value in values:
        if depth and isinstance(value, list):
            flat += _flatten(value, depth - 1)
        else:
            flat.append(value)
    return flat


def _find(text: str, pattern: str) -> str:
    match = re.search(pattern, text)
    return match[0] if match else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = [match[0] for match in re.finditer(pattern, text)]
    return found if limit < 0 else found[:limit]


def _contains_all(container: list[Any], parts: list[Any]) -> bool:
    return all(part in container for part in parts)


def _equivalent(left: list[Any], right: list[Any]) -> bool:
    return _contains_all(left, right) and _contains_all(right, left)


def _intersects(left: list[Any], right: list[Any]) -> bool:
    return any(value in right for value in left)


# (function, whether it is called as value.function(…), types of parameters, of the result,
# implementation); types by their CEL names, `quantity` and `version` being ours.
Function = tuple[str, bool, tuple[str, ...], str, Callable[..., Any]]


def _comparisons(kind: str) -> tuple[Function, ...]:
    return (
        ("compareTo", True, (kind, kind), "int", compare),
        ("isGreaterThan", True, (kind, kind), "bool", lambda a, b: compare(a, b) > 0),
        ("isLessThan", True, (kind, kind), "bool", lambda a, b: compare(a, b) < 0),
    )


FUNCTIONS: Final[tuple[Function, ...]] = (
    ("quantity", False, ("string",), "quantity", _quantity),
    ("isQuantity", False, ("string",), "bool", _is_valid(quantity_value)),
    ("sign", False, ("quantity",), "int", lambda q: (_nano(q) > 0) - (_nano(q) < 0)),
    ("isInteger", True, ("quantity",), "bool", lambda q: _nano(q) % NANO_PER_UNIT == 0),
    ("asInteger", True, ("quantity",), "int", _as_integer),
    ("asApproximateFloat", True, ("quantity",), "double", lambda q: _nano(q) / NANO_PER_UNIT),
    ("add", True, ("quantity", "quantity"), "quantity", _added(1)),
    ("add", True, ("quantity", "int"), "quantity", _added(1)),
    ("sub", True, ("quantity", "quantity"), "quantity", _added(-1)),
    ("sub", True, ("quantity", "int"), "quantity", _added(-1)),
    ("semver", False, ("string",), "version", _semver),
    ("semver", False, ("string", "bool"), "version", _semver),
    ("isSemver", False, ("string",), "bool", _is_valid(_semver)),
    ("isSemver", False, ("string", "bool"), "bool", _is_valid(_semver)),
    ("major", True, ("version",), "int", lambda v: _version(v)[0][0]),
    ("minor", True, ("version",), "int", lambda v: _version(v)[0][1]),
    ("patch", True, ("version",), "int", lambda v: _version(v)[0][2]),
    *_comparisons("quantity"),
    *_comparisons("version"),
    ("find", True, ("string", "string"), "string", _find),
    ("findAll", True, ("string", "string"), "list", _find_all),
    ("findAll", True, ("string", "string", "int"), "list", _find_all),
    ("isSorted", True, ("list",), "bool", lambda values: values == sorted(values)),
    ("sum", True, ("list",), "dyn", _sum),
    ("min", True, ("list",), "dyn", _extreme(min, "min")),
    ("max", True, ("list",), "dyn", _extreme(max, "max")),
    ("sort", True, ("list",), "list", sorted),
    ("distinct", True, ("list",), "list", _distinct),
    ("slice", True, ("list", "int", "int"), "list", _slice),
    ("flatten", True, ("list",), "list", _flatten),
    ("flatten", True, ("list", "int"), "list", _flatten),
    ("lists.range", False, ("int",), "list", lambda count: list(range(count))),
    ("sets.contains", False, ("list", "list"), "bool", _contains_all),
    ("sets.equivalent", False, ("list", "list"), "bool", _equivalent),
    ("sets.intersects", False, ("list", "list"), "bool", _intersects),
)
