"""What of an expression has to be asked otherwise of Google's interpreter than of cel-go.

An expression is a tree of messages, `cel.expr.Expr` (syntax.proto). Here some of its calls are
replaced in the serialized tree: of operators that would take our values (`cel.values`) for the
bytes they are to the interpreter, of functions that take more kinds of values than the
interpreter's own, and of those that may give nothing, which ours do by an empty list.
"""

from collections.abc import Iterable, Iterator
from typing import Final

_Field = tuple[int, int | bytes]

_LENGTH_DELIMITED: Final = 2
_FIXED_BYTES: Final = {1: 8, 5: 4}
# Of ParsedExpr in its Any, and of Expr: its number in the message that holds it.
_ANY_VALUE, _PARSED_EXPR = 2, 2
_IDENT, _SELECT, _CALL, _LIST, _STRUCT, _COMPREHENSION = 4, 5, 6, 7, 8, 9
_CONSTANT, _BOOL_CONSTANT, _INT_CONSTANT, _TEXT_CONSTANT = 3, 2, 3, 6
_TARGET, _FUNCTION, _ARGUMENT = 1, 2, 3
_OPERAND, _FIELD, _TEST_ONLY = 1, 2, 3
# The expressions in each kind of expression.
_PARTS: Final = {
    _SELECT: frozenset({1}),
    _CALL: frozenset({_TARGET, _ARGUMENT}),
    _LIST: frozenset({1}),
    _COMPREHENSION: frozenset({2, 4, 5, 6, 7}),
}
_ENTRY, _ENTRY_PARTS = 2, frozenset({3, 4})

_EQUALITY: Final = {b"_==_": b"@equals", b"_!=_": b"@differs"}
# A value of ours on the left has no overload.
_ORDER: Final = frozenset({b"_<_", b"_<=_", b"_>_", b"_>=_", b"_+_"})
# Called with one argument, or on a value with none.
_OF_ONE: Final = {b"size": b"@size", b"string": b"@string"}
_IN: Final = b"@in"
# Constants that upstream makes a set of: numbers, truth values and texts.
_IN_SETS: Final = frozenset({2, 3, 4, 5, 6})
# Called on a value, where the interpreter has them of texts alone.
_OF_LISTS: Final = {
    b"includes": b"@includes",
    b"indexOf": b"@indexOf",
    b"lastIndexOf": b"@lastIndexOf",
}
_NAMED, _VALIDATE = b"format.named", b"validate"
# The interpreter makes numbers of truth values, too.
_NUMBERS: Final = frozenset({b"double", b"int", b"uint"})
_INDEX: Final = b"_[_]"
_LOOKUPS: Final = {_INDEX: b"_[?_]", b"_[?_]": b"_[?_]", b"_?._": b"_?._"}
_INSERT: Final = b"cel.@mapInsert"
_RANGE: Final = b"lists.range"
# Operators that may give one of our values; no other may.
_TRANSPARENT: Final = frozenset({b"_[_]", b"_?._", b"_[?_]", b"_?_:_"})


def rewritten(serialized: bytes) -> bytes:
    """Give a serialized expression in which such calls are replaced."""
    return _message(
        (number, _program(_bytes(value)) if number == _ANY_VALUE else value)
        for number, value in _fields(serialized)
    )


def _program(data: bytes) -> bytes:
    return _message(
        (number, _expression(value) if number == _PARSED_EXPR else value)
        for number, value in _fields(data)
    )


def _expression(data: int | bytes) -> bytes:
    made: list[_Field] = []
    for number, value in _fields(_bytes(data)):
        if not isinstance(value, bytes):
            made.append((number, value))
        elif number == _STRUCT:
            made.append((number, _parts(value, frozenset({_ENTRY}), is_entry=True)))
        elif number in _PARTS:
            inner = _parts(value, _PARTS[number])
            if number == _CALL:
                return _call(made, inner)
            if number == _SELECT:
                return _select(made, inner)
            made.append((number, inner))
        else:
            made.append((number, value))
    return _message(made)


def _parts(data: bytes, numbers: frozenset[int], *, is_entry: bool = False) -> bytes:
    made: list[_Field] = []
    for number, value in _fields(data):
        if number in numbers and isinstance(value, bytes):
            part = _parts(value, _ENTRY_PARTS) if is_entry else _expression(value)
            made.append((number, part))
        else:
            made.append((number, value))
    return _message(made)


def _select(before: list[_Field], data: bytes) -> bytes:
    """Give an expression that is a field; of domains each is there, if only with nothing in it."""
    fields = dict(_fields(data))
    operand, name = _bytes(fields[_OPERAND]), fields[_FIELD]
    if not _are_domains(operand):
        return _message([*before, (_SELECT, data)])
    if _TEST_ONLY in fields:
        return _constant(_BOOL_CONSTANT, 1)
    return _domain(_function(b"_?._", operand, _constant(_TEXT_CONSTANT, name)))


def _domain(found: bytes) -> bytes:
    """Give what is found in the domains, or nothing in a map."""
    empty = _message([(_STRUCT, b"")])
    call: list[_Field] = [(_TARGET, found), (_FUNCTION, b"orValue"), (_ARGUMENT, empty)]
    return _message([(_CALL, _message(call))])


def _are_domains(data: bytes) -> bool:
    """Whether an expression is device.attributes or device.capacity."""
    fields = dict(_fields(_bytes(dict(_fields(data)).get(_SELECT))))
    is_plain = _TEST_ONLY not in fields and fields.get(_FIELD) in (b"attributes", b"capacity")
    return is_plain and _name(_bytes(fields[_OPERAND])) == b"device"


def _call(before: list[_Field], data: bytes) -> bytes:
    """Give an expression that is a call, of parts that are replaced already."""
    target: list[bytes] = []
    arguments: list[bytes] = []
    name = b""
    for number, value in _fields(data):
        if number == _FUNCTION:
            name = _bytes(value)
        else:
            (target if number == _TARGET else arguments).append(_bytes(value))
    values = target + arguments
    plain = _message([*before, (_CALL, data)])
    if name in _LOOKUPS and _are_domains(values[0]):
        found = _domain(_function(_LOOKUPS[name], *values))
        return found if name == _INDEX else _function(b"optional.of", found)
    return _operation(name, values, plain) or _named_call(name, target, arguments) or plain


def _operation(name: bytes, values: list[bytes], plain: bytes) -> bytes:
    """Give what an operator, or a function by a name of its own, is replaced with, if it is."""
    if name == _IN and _is_empty_list(values[1]):
        return _constant(_BOOL_CONSTANT, 0)
    if len(values) == 1 and name in _NUMBERS:
        return _if_of_kind(b"bool", values[0], _function(b"@noNumber", values[0]), plain)
    if not values or not _may_be_ours(values[0]):
        return b""
    ours = b""
    if name in _EQUALITY:
        ours = _function(_EQUALITY[name], _list(values))
    elif name in _ORDER:
        ours = _function(b"@nothing", values[0], _constant(_TEXT_CONSTANT, name))
    elif len(values) == 1 and name in _OF_ONE:
        ours = _function(_OF_ONE[name], values[0])
    elif name == _IN and _is_constant_list(values[1]):
        ours = _function(b"@inConstants", values[0])
    elif name == _IN:
        ours = _function(b"@among", _list(values))
    return _if_of_kind(b"bytes", values[0], ours, plain) if ours else b""


def _named_call(name: bytes, target: list[bytes], arguments: list[bytes]) -> bytes:
    """Give what a call by name is replaced with, if it is."""
    values = target + arguments
    if target and name in _OF_LISTS:
        return _function(_OF_LISTS[name], _list(values))
    if name == _INSERT:
        return _function(b"@mapInsert", _list(values))
    qualified = _name(target[0]) + b"." + name if target else name
    if qualified == _RANGE:
        return _function(b"@range", *arguments)
    if qualified == _NAMED:
        return _optional(_function(b"@named", *arguments))
    return _optional(_function(b"@validate", *values)) if target and name == _VALIDATE else b""


def _optional(found: bytes) -> bytes:
    """Give the first of a list, if it has one."""
    return _function(b"_[?_]", found, _constant(_INT_CONSTANT, 0))


def _may_be_ours(data: bytes) -> bool:
    for number, value in _fields(data):
        if number == _CALL:
            name = _bytes(dict(_fields(_bytes(value)))[_FUNCTION])
            return name in _TRANSPARENT or not name.startswith((b"_", b"!", b"-", b"@"))
        if number == _SELECT:
            return all(each != _TEST_ONLY for each, _ in _fields(_bytes(value)))
        if number in (_IDENT, _COMPREHENSION):
            return True
    return False


def _is_empty_list(data: bytes) -> bool:
    return dict(_fields(data)).get(_LIST) == b""


def _is_constant_list(data: bytes) -> bool:
    """Whether it is a list of plain constants, and of some."""
    fields = dict(_fields(data))
    parts = list(_fields(_bytes(fields.get(_LIST))))
    return bool(parts) and all(_is_constant(part) for _, part in parts)


def _is_constant(data: int | bytes) -> bool:
    constant = dict(_fields(_bytes(data))).get(_CONSTANT)
    return not _IN_SETS.isdisjoint(dict(_fields(_bytes(constant))))


def _name(data: bytes) -> bytes:
    """Give the name that an expression is, b"" for any other."""
    for number, value in _fields(data):
        if number == _IDENT:
            return b"".join(_bytes(part) for _, part in _fields(_bytes(value)))
    return b""


def _if_of_kind(kind: bytes, value: bytes, special: bytes, plain: bytes) -> bytes:
    wanted = _message([(_IDENT, _message([(1, kind)]))])
    is_special = _function(b"_==_", _function(b"type", value), wanted)
    return _function(b"_?_:_", is_special, special, plain)


def _function(name: bytes, *arguments: bytes) -> bytes:
    call = _message([(_FUNCTION, name), *((_ARGUMENT, each) for each in arguments)])
    return _message([(_CALL, call)])


def _list(values: list[bytes]) -> bytes:
    """Give a list: a function of ours takes what is of no certain kind in one."""
    return _message([(_LIST, _message([(1, each) for each in values]))])


def _constant(kind: int, value: int | bytes) -> bytes:
    return _message([(_CONSTANT, _message([(kind, value)]))])


def _bytes(value: int | bytes | None) -> bytes:
    return value if isinstance(value, bytes) else b""


def _fields(data: bytes) -> Iterator[_Field]:
    """Give the fields of a message; of those that are written again none is of fixed length."""
    place = 0
    while place < len(data):
        tag, place = _varint(data, place)
        kind = tag & 7
        if kind == _LENGTH_DELIMITED:
            size, place = _varint(data, place)
            yield tag >> 3, data[place : place + size]
            place += size
        elif kind in _FIXED_BYTES:
            size = _FIXED_BYTES[kind]
            yield tag >> 3, data[place : place + size]
            place += size
        else:
            value, place = _varint(data, place)
            yield tag >> 3, value


def _message(fields: Iterable[tuple[int, int | bytes]]) -> bytes:
    made = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            made += _as_varint(number << 3) + _as_varint(value)
        else:
            made += _as_varint(number << 3 | _LENGTH_DELIMITED) + _as_varint(len(value)) + value
    return bytes(made)


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = data[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place


def _as_varint(value: int) -> bytes:
    made = bytearray()
    while value >= 128:
        made.append(value & 127 | 128)
        value >>= 7
    made.append(value)
    return bytes(made)
