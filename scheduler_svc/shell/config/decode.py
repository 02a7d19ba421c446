"""Decodes a tree of nodes into a msgspec Struct, and notes every mistake on the way.

msgspec.convert stops at the first mistake and knows no lines. So the tree is brought
into the shape of the type first: unknown fields, wrong types and numbers out of range
are noted, with their place, and replaced by the field's default; what is then left is
converted by msgspec, which cannot fail for the types of this package. Types of other
authors (plugin arguments) may have constraints of their own: what msgspec says of
those is noted as well.

Rules of Kubernetes' decoder that are kept: null is the same as absent, 5.0 is an
integer, field names are case sensitive, bytes are base64, a duration is text.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec
import msgspec.inspect as mi

from kubeio.durations import parse_duration
from scheduler_svc.shell.config import meaning
from scheduler_svc.shell.config.document import (
    MappingNode,
    Node,
    Path,
    ScalarNode,
    SequenceNode,
    is_null,
    to_plain,
)
from scheduler_svc.shell.config.formats import DURATION, HIDDEN
from scheduler_svc.shell.config.mistakes import (
    ConfigurationError,
    MistakeLog,
    Problem,
    render_value,
)

T = TypeVar("T")

_LOCATION = re.compile(r" - at `\$(.*)`$")
_PART = re.compile(r"\.([^.\[]+)|\[(\d+)\]")


def decode(node: Node, type_: type[T], log: MistakeLog, *, path: Path = ()) -> T:
    """Return the value of `node` as `type_`, with defaults in the place of mistakes.

    Raises
    ------
    ConfigurationError
        Where msgspec refuses what is left, with all mistakes up to then.
    """
    shape = _Shaper(log).shape(node, mi.type_info(type_), path)
    try:
        return msgspec.convert(shape, type_)
    except msgspec.ValidationError as error:
        text = str(error)
        location = _LOCATION.search(text)
        parts = _PART.findall(location.group(1)) if location else []
        below = tuple(name or int(index) for name, index in parts)
        log.add(Problem.INVALID, (*path, *below), detail=_LOCATION.sub("", text))
        raise ConfigurationError(log.mistakes) from error


class _Omit:
    """Stands for a value that is absent or cannot be used."""


_OMIT: Final = _Omit()


class _Shaper:
    """Walks a tree along a type; see the module's text."""

    def __init__(self, log: MistakeLog) -> None:
        self._log = log

    def shape(self, node: Node, type_: mi.Type, path: Path) -> object:
        """Return what msgspec can convert to the type, or its zero value."""
        shaped = self._shape(node, type_, path)
        return zero_of(type_) if isinstance(shaped, _Omit) else shaped

    def _shape(self, node: Node, type_: mi.Type, path: Path) -> object:
        if is_null(node):
            return _OMIT
        if isinstance(type_, mi.StructType):
            return self._struct(node, type_, path)
        if isinstance(type_, mi.ListType | mi.VarTupleType):
            return self._list(node, type_.item_type, path)
        if isinstance(type_, mi.DictType):
            return self._dict(node, type_.value_type, path)
        if isinstance(type_, mi.UnionType):
            members = [member for member in type_.types if not isinstance(member, mi.NoneType)]
            # A choice between several types is left to msgspec.
            return self._shape(node, members[0], path) if len(members) == 1 else to_plain(node)
        if isinstance(type_, mi.Metadata):
            return self._formatted(node, type_, path)
        return self._scalar(node, type_, path)

    def _struct(self, node: Node, type_: mi.StructType, path: Path) -> object:
        if not isinstance(node, MappingNode):
            return self._wrong_type(node, path, "an object")
        fields = {field.encode_name: field for field in type_.fields}
        for name, value in node.fields.items():
            if name not in fields and name != type_.tag_field:
                self._unknown_field((*path, name), value, tuple(sorted(fields)))
        shaped: dict[str, object] = {}
        tag = node.fields.get(type_.tag_field or "")
        if tag is not None and type_.tag_field is not None:
            shaped[type_.tag_field] = to_plain(tag)
        for name, field in fields.items():
            answer = self._field(node.fields, field, path)
            if not isinstance(answer, _Omit):
                shaped[name] = answer
        return shaped

    def _field(self, given: Mapping[str, Node], field: mi.Field, path: Path) -> object:
        path = (*path, field.encode_name)
        value = given.get(field.encode_name)
        if value is not None and not is_null(value):
            answer = self._shape(value, field.type, path)
            is_lost = isinstance(answer, _Omit) and field.required
            return zero_of(field.type) if is_lost else answer
        if not field.required:
            return _OMIT
        self._log.required(path)
        self._log.replaced(path)
        return zero_of(field.type)

    def _unknown_field(self, path: Path, value: Node, known: tuple[str, ...]) -> None:
        name = str(path[-1])
        self._log.add(
            Problem.UNKNOWN_FIELD,
            path,
            value=render_value(name),
            allowed=known,
            meaning=meaning.of_unknown_field(name, value, known),
        )

    def _list(self, node: Node, item_type: mi.Type, path: Path) -> object:
        if not isinstance(node, SequenceNode):
            return self._wrong_type(node, path, "a list")
        return [self.shape(item, item_type, (*path, i)) for i, item in enumerate(node.items)]

    def _dict(self, node: Node, value_type: mi.Type, path: Path) -> object:
        if not isinstance(node, MappingNode):
            return self._wrong_type(node, path, "an object")
        fields = node.fields.items()
        return {key: self.shape(value, value_type, (*path, key)) for key, value in fields}

    def _formatted(self, node: Node, type_: mi.Metadata, path: Path) -> object:
        form = (type_.extra or {}).get("format")
        if form == DURATION:
            return self._duration(node, path)
        if form == HIDDEN:
            return self._bytes(node, path, is_hidden=True)
        return self._shape(node, type_.type, path)

    def _scalar(self, node: Node, type_: mi.Type, path: Path) -> object:
        value = node.value if isinstance(node, ScalarNode) else None
        if isinstance(type_, mi.StrType):
            return value if isinstance(value, str) else self._wrong_type(node, path, "text")
        if isinstance(type_, mi.BoolType):
            is_right = isinstance(value, bool)
            return value if is_right else self._wrong_type(node, path, "true or false")
        if isinstance(type_, mi.FloatType):
            is_right = type(value) in {int, float}
            return value if is_right else self._wrong_type(node, path, "a number")
        if isinstance(type_, mi.IntType):
            return self._integer(node, type_, path)
        if isinstance(type_, mi.BytesType):
            return self._bytes(node, path, is_hidden=False)
        return to_plain(node)

    def _integer(self, node: Node, type_: mi.IntType, path: Path) -> object:
        value = node.value if isinstance(node, ScalarNode) else None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if type(value) is not int:
            return self._wrong_type(node, path, "an integer")
        lowest, highest = type_.ge, type_.le
        if (lowest is not None and value < lowest) or (highest is not None and value > highest):
            self._log.invalid(path, value, f"not in valid range [{lowest}, {highest}]")
            return self._replace(path)
        return value

    def _duration(self, node: Node, path: Path) -> object:
        if not isinstance(node, ScalarNode) or not isinstance(node.value, str):
            return self._wrong_type(node, path, "a duration")
        try:
            return parse_duration(node.value)
        except ValueError as error:
            self._log.invalid(path, node.value, str(error), meaning=meaning.OF_DURATION)
            return self._replace(path)

    def _bytes(self, node: Node, path: Path, *, is_hidden: bool) -> object:
        value = node.value if isinstance(node, ScalarNode) else None
        if not isinstance(value, str):
            return self._wrong_type(node, path, "base64 text", is_hidden=is_hidden)
        compact = value.replace("\n", "").replace("\r", "")
        try:
            base64.b64decode(compact, validate=True)
        except binascii.Error as error:
            shown = "" if is_hidden else render_value(value)
            self._log.add(Problem.INVALID, path, value=shown, detail=f"not base64: {error}")
            return self._replace(path)
        return compact

    def _wrong_type(self, node: Node, path: Path, wanted: str, *, is_hidden: bool = False) -> _Omit:
        self._log.add(
            Problem.INVALID,
            path,
            value="" if is_hidden else render_value(to_plain(node)),
            detail=f"must be {wanted}",
            meaning=meaning.of_wrong_type(path, node, wanted),
        )
        return self._replace(path)

    def _replace(self, path: Path) -> _Omit:
        self._log.replaced(path)
        return _OMIT


def zero_of(type_: mi.Type) -> object:
    """Return the zero value of a type, which Go leaves in a field that was not given."""
    if isinstance(type_, mi.Metadata):
        return zero_of(type_.type)
    if isinstance(type_, mi.StructType):
        return {f.encode_name: zero_of(f.type) for f in type_.fields if f.required}
    if isinstance(type_, mi.ListType | mi.VarTupleType):
        return []
    zeros: dict[type, object] = {
        mi.DictType: {},
        mi.StrType: "",
        mi.IntType: 0,
        mi.FloatType: 0.0,
        mi.BoolType: False,
        mi.BytesType: "",
    }
    return zeros.get(type(type_))
