"""Objects nested deeper than a decoder goes, which anybody may create who may create any."""

import json
from typing import Any

import msgspec
import pytest

from kubeio.decoding import MAX_NESTING, ListPage, ObjectDecoder, ObjectMetadata, Query, shallow
from kubeio.resources import ResourcePath

DEEP = 5000


class Thing(msgspec.Struct):
    """An object whose content is anything."""

    metadata: ObjectMetadata
    spec: Any = None


class Bare(msgspec.Struct):
    """An object whose content is not read."""

    metadata: ObjectMetadata


def nested(depth: int) -> bytes:
    return b'{"a":[' * (depth // 2) + b'"x"' + b"]}" * (depth // 2)


def document(spec: bytes, name: str = "deep") -> bytes:
    metadata = json.dumps({"name": name, "uid": f"uid-{name}", "resourceVersion": "7"})
    return b'{"metadata":' + metadata.encode() + b',"spec":' + spec + b"}"


def decoder(type_: type[Any]) -> ObjectDecoder[Any]:
    return ObjectDecoder(Query(resource=ResourcePath("g", "v1", "things"), object_type=type_))


def depth_of(value: Any) -> int:
    depth = 0
    while isinstance(value, dict | list):
        depth += 1
        value = value["a"] if isinstance(value, dict) else value[0]
    assert value is None
    return depth


@pytest.mark.parametrize("type_", [Thing, Bare])
def test_a_list_with_a_deep_object_is_read(type_: type[Any]) -> None:
    items = b",".join([document(b"1", "before"), document(nested(DEEP)), document(b"2", "after")])
    body = b'{"metadata":{"resourceVersion":"7"},"items":[' + items + b"]}"
    reading = decoder(type_)
    page = reading.page(body)
    assert isinstance(page, ListPage)
    assert page.items is not None
    decoded = [reading.item(item) for item in page.items]
    assert [each.metadata.name for each in decoded] == ["before", "deep", "after"]
    assert [each.problem for each in decoded] == ["", "", ""]


@pytest.mark.parametrize("type_", [Thing, Bare])
def test_a_watch_of_a_deep_object_goes_on(type_: type[Any]) -> None:
    line = b'{"type":"ADDED","object":' + document(nested(DEEP)) + b"}"
    kind, decoded = decoder(type_).event(line)
    assert (kind, decoded.metadata.name, decoded.problem) == ("ADDED", "deep", "")
    if isinstance(decoded.object, Thing):
        # The watch event and the object around it count, too.
        assert depth_of(decoded.object.spec) == MAX_NESTING - 2


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"a": [1, {"b": "]}{["}], "c\\"{": "\\\\"}',
        json.dumps({"é": ["\u2028", {"x": None}]}),
        nested(MAX_NESTING).decode(),
    ],
)
def test_what_is_not_deep_is_left_as_it_is(text: str) -> None:
    assert shallow(text.encode()) == text.encode()


def test_only_what_is_too_deep_is_cut_off() -> None:
    text = b'{"before":"[","deep":' + nested(DEEP) + b',"also":' + nested(DEEP) + b',"after":[2]}'
    read = msgspec.json.decode(shallow(text))
    assert list(read) == ["before", "deep", "also", "after"]
    assert (read["before"], read["after"]) == ("[", [2])
    assert depth_of(read["deep"]) == depth_of(read["also"]) == MAX_NESTING - 1
