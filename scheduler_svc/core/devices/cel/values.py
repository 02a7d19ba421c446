"""Values of Kubernetes' own types in CEL, and its functions on values of several types.

The interpreter knows no such types, so that a value of them is bytes that no device has: a
control character, a letter for its type, and a canonical form (`cel.quantities`,
`cel.versions`, `cel.addresses`, `cel.urls`, `cel.formats`). Wherever the interpreter would
take such bytes for bytes, it is made to ask here (`cel.syntax`).

Source: staging/src/k8s.io/apiserver/pkg/cel/*.go and library/lists.go, v1.36.3.
"""

import itertools
from collections.abc import Callable
from typing import Any, Final

from scheduler_svc.core.devices.cel import (
    addresses,
    formats,
    quantities,
    urls,
    versions,
)
from scheduler_svc.core.errors import InputError
from scheduler_svc.core.quantity import MAX_INT64

NO_OVERLOAD: Final = "no such overload"
# Of an attribute.
_MAX_VALUES: Final = 48
# Of an expression, in upstream's units.
_MAX_COST: Final = 10**6
_PLAIN_NAMES: Final[dict[type, str]] = {
    bool: "bool",
    bytearray: "bytes",
    bytes: "bytes",
    dict: "map",
    float: "double",
    int: "int",
    list: "list",
    str: "string",
}
# By letter, as CEL names the type and as Go does.
_NAMES: Final = {
    quantities.KIND: ("kubernetes.Quantity", "Quantity"),
    versions.KIND: ("kubernetes.Semver", "Semver"),
    addresses.IP_KIND: ("net.IP", "IP"),
    addresses.CIDR_KIND: ("net.CIDR", "CIDR"),
    urls.KIND: ("kubernetes.URL", "URL"),
    formats.KIND: ("kubernetes.NamedFormat", "Format"),
}


KINDS: Final = {
    "quantity": quantities.KIND,
    "version": versions.KIND,
    "ip": addresses.IP_KIND,
    "cidr": addresses.CIDR_KIND,
    "url": urls.KIND,
    "format": formats.KIND,
}


def kind_of(value: object) -> bytes:
    """Give the letter of a value's type, b"" for what is of none of ours."""
    kind = bytes(value[:2]) if isinstance(value, bytes | bytearray) else b""
    return kind if kind in _NAMES else b""


def names_of(value: object) -> tuple[str, str] | None:
    """Give how CEL and Go name a value's type; nothing for what is of none of ours."""
    return _NAMES.get(kind_of(value))


def _parts(value: bytes) -> Any:
    """Give what two values of a type are equal by."""
    kind, value = kind_of(value), bytes(value)
    if kind == versions.KIND:
        return versions.version(value)
    return urls.text_of(urls.parsed(value)) if kind == urls.KIND else value


def equals(pair: list[Any]) -> bool:
    """Whether a value equals another. Raises `InputError` where upstream has no answer."""
    own, other = pair
    kind = kind_of(own)
    if other is None or not kind:
        return bool(own == other)
    if kind_of(other) != kind:
        raise InputError(NO_OVERLOAD)
    if kind != quantities.KIND:
        return bool(_parts(own) == _parts(other))
    left, right = quantities.decoded(own), quantities.decoded(other)
    if right.is_sum:
        raise InputError(NO_OVERLOAD)
    return quantities.compare(left, right) == 0


def differs(pair: list[Any]) -> bool:
    """Whether a value differs from another, as it does from what it cannot be compared with."""
    try:
        return not equals(pair)
    except InputError:
        return True


def is_among(pair: list[Any]) -> bool:
    """Whether a value equals one of a list. Raises `InputError` as upstream fails."""
    own, others = pair
    if isinstance(others, dict):
        return False
    return any(not differs([other, own]) for other in _as_list(others))


def includes(pair: list[Any]) -> bool:
    """Whether a value equals another or one of a list, which has no more than 48."""
    values, wanted = pair
    if not isinstance(values, list):
        return _same(values, wanted)
    if any(_same(value, wanted) for value in values[:_MAX_VALUES]):
        return True
    if len(values) > _MAX_VALUES:
        fault = f"cannot be applied to lists longer than {_MAX_VALUES} values"
        raise InputError(f"'includes' function {fault}")
    return False


def is_constant(value: bytes) -> bool:
    """Whether a value is one of plain constants. Raises `InputError` as upstream fails."""
    if kind_of(value) in (versions.KIND, formats.KIND):
        name = _NAMES[kind_of(value)][1]
        raise InputError(f"internal error: runtime error: hash of unhashable type cel.{name}")
    return False


def type_name(value: object) -> str:
    """Give how CEL names a value's type."""
    names = names_of(value)
    return names[0] if names else _PLAIN_NAMES.get(type(value), "null_type")


def no_overload(_value: bytes, text: str) -> bool:
    """Raise what upstream says of a function that does not take values of our types."""
    raise InputError(f"{NO_OVERLOAD}: {text}")


def no_number(_value: bool) -> int:
    """Raise what upstream says of a number that is to be made of a truth value."""
    raise InputError(f"{NO_OVERLOAD}: int(bool)")


def size(value: bytes) -> int:
    """Give the number of bytes. Raises `InputError` for values of our types."""
    if kind_of(value):
        raise InputError(f"{NO_OVERLOAD}: size")
    return len(value)


def as_string(value: bytes) -> str:
    """Give the text of an address, or of bytes. Raises `InputError` for other values."""
    kind = kind_of(value)
    if kind in (addresses.IP_KIND, addresses.CIDR_KIND):
        return value[2:].decode()
    if kind:
        raise InputError(f"{NO_OVERLOAD}: string({_NAMES[kind][0]})")
    return bytes(value).decode(errors="replace")


def compare(left: bytes, right: bytes) -> int:
    """Compare two quantities or two versions: -1, 0 or 1. Raises `InputError` for others."""
    kind = kind_of(left)
    if kind != kind_of(right):
        raise InputError(NO_OVERLOAD)
    if kind == quantities.KIND:
        pair = quantities.decoded(left), quantities.decoded(right)
        return quantities.compare(*pair)
    if kind != versions.KIND:
        raise InputError(NO_OVERLOAD)
    own, other = versions.version(bytes(left)), versions.version(bytes(right))
    return (own > other) - (own < other)


def _order(left: Any, right: Any) -> int | None:
    """Compare two plain values: -1, 0 or 1; nothing for those that have no order."""
    numbers = (int, float)
    are_numbers = isinstance(left, numbers) and isinstance(right, numbers)
    if isinstance(left, bool) != isinstance(right, bool):
        return None
    if not are_numbers and type(left) is not type(right):
        return None
    try:
        is_less, is_more = left < right, left > right
    except TypeError:
        return None
    return int(is_more) - int(is_less)


def is_sorted(values: list[Any]) -> bool:
    """Whether none is less than the one before it."""
    return all(_order(*pair) != 1 for pair in itertools.pairwise(values))


def total(values: list[Any]) -> Any:
    """Give the sum, 0 of none. Raises `InputError` where there is none."""
    if not values:
        return 0
    if not (
        all(type(each) is int for each in values) or all(type(each) is float for each in values)
    ):
        raise InputError(NO_OVERLOAD)
    found = sum(values)
    # Integers without a sign are those that would not fit with one.
    most = MAX_INT64 if max(values) <= MAX_INT64 else 2 * MAX_INT64 + 1
    if isinstance(found, int) and not -MAX_INT64 - 1 <= found <= most:
        raise InputError("integer overflow")
    return found


def extreme(name: str, sign: int) -> Callable[[list[Any]], Any]:
    """Give a function that gives the first of the least values (sign 1), or of the greatest."""

    def found(values: list[Any]) -> Any:
        if not values:
            raise InputError(f"{name} called on empty list")
        best = values[0]
        for value in values[1:]:
            if _order(best, value) == sign:
                best = value
        return best

    return found


def _same(value: Any, wanted: Any) -> bool:
    return isinstance(value, bool) == isinstance(wanted, bool) and not differs([value, wanted])


def _places(values: list[Any], wanted: Any) -> list[int]:
    return [place for place, value in enumerate(values) if _same(value, wanted)]


def index_of(parts: list[Any]) -> int:
    """Give where a value is first in a list, or a text in another; -1 where it is not.

    In a text it may be searched from a place on. Raises `InputError` for a negative one.
    """
    values, wanted, *places = parts
    if isinstance(values, str) and isinstance(wanted, str):
        place = _place(wanted, *places)
        return place if not wanted and places else values.find(wanted, place)
    return min(_places(_as_list(values), wanted), default=-1)


def last_index_of(parts: list[Any]) -> int:
    """Give the same for where it is last; in a text, up to a place."""
    values, wanted, *places = parts
    if isinstance(values, str) and isinstance(wanted, str):
        place = _place(wanted, *places)
        if places and (not wanted or place >= len(values)):
            return -1 if wanted else place
        return values.rfind(wanted, 0, place + len(wanted) if places else None)
    return max(_places(_as_list(values), wanted), default=-1)


def _place(wanted: str, place: int = 0) -> int:
    if wanted and place < 0:
        raise InputError(f"index out of range: {place}")
    return place


def _as_list(values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise InputError(NO_OVERLOAD)
    return values


def up_to(count: int) -> list[int]:
    """Give the integers from 0 on. Raises `InputError` where they cost more than there may be."""
    if count > _MAX_COST:
        raise InputError("operation cancelled: actual cost limit exceeded")
    return list(range(count))


def inserted(parts: list[Any]) -> dict[Any, Any]:
    """Give a map with one more key and its value, or with those of another map."""
    known, *more = parts
    added = {more[0]: more[1]} if len(more) == 2 else more[0]
    for key in added:
        if key in known:
            raise InputError(f"insert failed: key {_as_text(key)} already exists")
    return {**known, **added}


def _as_text(key: object) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)
