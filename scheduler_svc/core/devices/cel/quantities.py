"""Quantities as CEL values: bytes that begin with q, the amount in nano-units, and how it is held.

Upstream holds an amount as an integer and a power of ten, or as a decimal number; that shows
in whether it is an integer, in its approximate float, and, for the result of a sum, in that
nothing that is not such a result equals it from the left.

Source: staging/src/k8s.io/apiserver/pkg/cel/library/quantity.go and
staging/src/k8s.io/apimachinery/pkg/api/resource/{quantity,amount,suffix}.go, v1.36.3.
"""

import functools
import math
import re
from typing import Final, NamedTuple

from scheduler_svc.core.errors import InputError
from scheduler_svc.core.quantity import MAX_INT64

KIND: Final = b"\x01q"
_NANO_SCALE: Final = 9
# kube-scheduler's words.
_WRONG_FORMAT: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_WRONG_SUFFIX: Final = "unable to parse quantity's suffix"
_WRONG_NUMBER: Final = "unable to parse numeric part of quantity"
_SHAPE: Final = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_DECIMAL: Final = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]+)")
# Of larger ones no computer writes down the digits.
_MAX_EXPONENT: Final = 4000
_MAX_FACTORS: Final = 18


class Quantity(NamedTuple):
    """An amount: `value` times ten to the power of `scale`."""

    value: int
    scale: int
    is_decimal: bool = False
    is_sum: bool = False

    @property
    def integer(self) -> int | None:
        """The amount, where upstream has it as an integer."""
        if self.is_decimal or self.scale < 0:
            return None
        if not self.value or self.scale > _MAX_FACTORS:
            return None if self.value else 0
        whole: int = self.value * 10**self.scale
        return whole if -MAX_INT64 - 1 <= whole <= MAX_INT64 else None

    @property
    def approximately(self) -> float:
        """The amount, rounded as upstream does."""
        try:
            base = float(self.value)
        except OverflowError:
            return math.inf if self.value > 0 else -math.inf
        return base * float(f"1e{self.scale}") if self.scale else base


def quantity_value(text: str | float) -> bytes:
    """Give the CEL value of a quantity. Raises `InputError` for what is none."""
    return _encoded(str(text))


@functools.lru_cache(maxsize=4096)
def _encoded(text: str) -> bytes:
    return encoded(_parsed(text))


def encoded(quantity: Quantity) -> bytes:
    """Give the CEL value: the same for the same amount where upstream has it as an integer."""
    whole = quantity.integer
    if whole is not None:
        return KIND + f"{whole} 0{' +' if quantity.is_sum else ''}".encode()
    held = ("d" if quantity.is_decimal else "") + ("+" if quantity.is_sum else "")
    return KIND + f"{quantity.value} {quantity.scale} {held}".encode()


def decoded(value: bytes | bytearray) -> Quantity:
    """Give the amount that a CEL value is."""
    return _decoded(bytes(value))


@functools.lru_cache(maxsize=4096)
def _decoded(value: bytes) -> Quantity:
    number, scale, *held = value[2:].decode().split(" ")
    how = "".join(held)
    return Quantity(int(number), int(scale), "d" in how, "+" in how)


def _parsed(text: str) -> Quantity:
    match = _SHAPE.fullmatch(text)
    if match is None or not text:
        raise InputError(_WRONG_FORMAT)
    sign, number, fraction, suffix = match[1], match[2], match[3] or "", match[4]
    digits = number.lstrip("0") or "0"
    exponent, is_binary = _power(suffix)
    value = int(digits + fraction) * (-1 if sign == "-" else 1)
    if is_binary:
        whole = value << exponent
        room = 15 - len(digits) - exponent * 3 // 10 - 1
        if not fraction and room >= 0 and abs(whole) <= MAX_INT64:
            return Quantity(whole, 0)
        return _decimal(number, fraction, whole, -len(fraction), limit=MAX_INT64)
    scale = exponent - len(fraction)
    if len(digits) + len(fraction) <= _MAX_FACTORS and scale >= -_NANO_SCALE:
        return Quantity(value, scale)
    return _decimal(number, fraction, value, scale)


def _power(suffix: str) -> tuple[int, bool]:
    """Give the power that a suffix stands for, and whether it is one of two."""
    if suffix in _BINARY:
        return _BINARY[suffix], True
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], False
    match = _EXPONENT.fullmatch(suffix)
    if match is None or abs(int(match[1])) > _MAX_EXPONENT:
        raise InputError(_WRONG_SUFFIX)
    return int(match[1]), False


def _decimal(
    number: str, fraction: str, value: int, scale: int, *, limit: int | None = None
) -> Quantity:
    """Round to nano-units, away from zero, and to the limit."""
    if not number and not fraction:
        raise InputError(_WRONG_NUMBER)
    if scale < -_NANO_SCALE:
        sign = -1 if value < 0 else 1
        value, scale = -(-abs(value) // 10 ** (-_NANO_SCALE - scale)) * sign, -_NANO_SCALE
    elif value:
        value, scale = value * 10 ** (scale + _NANO_SCALE), -_NANO_SCALE
    if limit is not None and abs(value) > limit * 10**-scale:
        value, scale = limit * (-1 if value < 0 else 1), 0
    return Quantity(value, scale, is_decimal=True)


def _alike(left: Quantity, right: Quantity) -> tuple[int, int, int]:
    """Give both amounts at the lesser of their scales, and that."""
    scale = min(left.scale, right.scale)
    own: int = left.value * 10 ** (left.scale - scale)
    other: int = right.value * 10 ** (right.scale - scale)
    return own, other, scale


def compare(left: Quantity, right: Quantity) -> int:
    """Compare two amounts: -1, 0 or 1."""
    own, other, _ = _alike(left, right)
    return (own > other) - (own < other)


def added(left: Quantity, right: Quantity) -> Quantity:
    """Give the sum, held as upstream holds it."""
    if not left.is_decimal and not right.is_decimal:
        if not right.value:
            return left._replace(is_sum=True)
        if not left.value:
            return right._replace(is_sum=True)
    own, other, scale = _alike(left, right)
    fits = all(-MAX_INT64 - 1 <= each <= MAX_INT64 for each in (own, other, own + other))
    is_decimal = left.is_decimal or right.is_decimal or not fits
    return Quantity(own + other, scale, is_decimal, is_sum=True)
