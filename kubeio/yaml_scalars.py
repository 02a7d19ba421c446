"""What a plain (unquoted) YAML scalar means to Kubernetes.

Its components read YAML through sigs.k8s.io/yaml, which resolves scalars by YAML 1.1
as go-yaml v2 does: `yes` and `on` are true, `010` is eight, `0x10` is sixteen. PyYAML's
own resolver differs (it also knows base 60 and dates), so this module follows go-yaml's
resolve.go. Dates stay text here: no field that is read here is one.
"""

import math
import re
from typing import Final

Scalar = str | int | float | bool | None

_TRUE: Final = frozenset(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"))
_FALSE: Final = frozenset(
    ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
)
_NULL: Final = frozenset(("", "~", "null", "Null", "NULL"))
_NOT_FINITE: Final = {
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
_INTEGER = re.compile(
    r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[oO]?([0-7]+)|0[bB]([01]+)|(0|[1-9][0-9]*))", re.ASCII
)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_MAX_DIGITS: Final = 40


def resolve_plain(text: str) -> Scalar:
    """Return the value of a plain scalar.

    An integer of more than 64 bits becomes a float, as in go-yaml; the field's own
    range is checked where it is decoded.
    """
    if text in _NULL:
        return None
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    if text in _NOT_FINITE:
        return _NOT_FINITE[text]
    if text[0] not in "0123456789+-.":
        return text
    return _resolve_number(text)


def _resolve_number(text: str) -> str | int | float:
    plain = text if text.startswith(".") else text.replace("_", "")
    integer = _INTEGER.fullmatch(plain)
    if integer is not None and len(plain) <= _MAX_DIGITS:
        sign, hexadecimal, octal, binary, decimal = integer.groups()
        base, digits = next(
            (base, digits)
            for base, digits in ((16, hexadecimal), (8, octal), (2, binary), (10, decimal))
            if digits is not None
        )
        magnitude = int(digits, base)
        value = -magnitude if sign == "-" else magnitude
        return value if -(2**63) <= value < 2**64 else float(value)
    number = float(plain) if _FLOAT.fullmatch(plain) else math.inf
    return text if math.isinf(number) else number
