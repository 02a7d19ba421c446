"""Null where a manifest has it, as Go's decoder takes it: for the empty value of its place.

A field that is null is one that is not given. In a map or a list there is something there all the
same: a label `node-role.kubernetes.io/control-plane:` without a value has the value "".

Source: encoding/json (`literalStore`), which sigs.k8s.io/json and so Kubernetes follow.
"""

from collections.abc import Hashable, Mapping
from functools import cache
from typing import Any, Final

from msgspec import inspect

# Of a quantity, which may be a text or a number, it is the number.
_EMPTY: Final = (
    (inspect.IntType, 0),
    (inspect.StrType, ""),
    (inspect.BoolType, False),
)


def with_empty_values(value: Any, type_: Any) -> Any:
    """Give a value that is to be converted to `type_` with the empty value in place of each null.

    What fits neither the type nor null is left as it is, for the conversion to refuse.
    """
    return _read(_type_info(type_), value)


@cache
def _type_info(type_: Hashable) -> inspect.Type:
    return inspect.type_info(type_)


def _read(info: inspect.Type, value: Any) -> Any:
    if isinstance(info, inspect.UnionType):
        return _read(_type_for(value, info), value)
    if isinstance(value, Mapping):
        if isinstance(info, inspect.StructType):
            types = {field.encode_name: field.type for field in info.fields}
            given = {name: item for name, item in value.items() if item is not None}
            return {n: _read(types[n], item) if n in types else item for n, item in given.items()}
        if isinstance(info, inspect.DictType):
            return {key: _item(info.value_type, item) for key, item in value.items()}
    if isinstance(value, list) and isinstance(info, inspect.VarTupleType | inspect.ListType):
        return [_item(info.item_type, item) for item in value]
    return value


def _type_for(value: Any, union: inspect.UnionType) -> inspect.Type:
    """Give the type that a list or an object is of, the last one for anything else."""
    nested: tuple[type[inspect.Type], ...] = (inspect.StructType, inspect.DictType)
    if isinstance(value, list):
        nested = (inspect.VarTupleType, inspect.ListType)
    return next((info for info in union.types if isinstance(info, nested)), union.types[-1])


def _item(info: inspect.Type, value: Any) -> Any:
    """Read an item of a map or a list, which is there even if it is null."""
    return _read(info, _empty(info) if value is None else value)


def _empty(info: inspect.Type) -> Any:
    types = info.types if isinstance(info, inspect.UnionType) else (info,)
    if any(isinstance(each, inspect.NoneType) for each in types):
        return None
    for kind, empty in _EMPTY:
        if any(isinstance(each, kind) for each in types):
            return empty
    if isinstance(info, inspect.StructType | inspect.DictType):
        return {}
    return [] if isinstance(info, inspect.VarTupleType | inspect.ListType) else None
