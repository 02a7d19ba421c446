"""One YAML (or JSON) document as a tree that remembers where each value stands.

The tree is built from PyYAML's events rather than from its nodes: building is
iterative, so nesting cannot exhaust the stack, and an alias shares the node it names,
so a "billion laughs" file costs no memory. How many values the aliases stand for in
all is counted on the way and bounded, because whoever walks the tree walks them all.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from kubeio.yaml_scalars import Scalar

Path = tuple[str | int, ...]
"""The way to a value: keys of mappings and indices of lists, from the root."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A position in the file; both count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """A single value, and how it is written."""

    mark: Mark
    value: Scalar
    text: str


@dataclass(frozen=True, slots=True)
class SequenceNode:
    """A list."""

    mark: Mark
    items: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class MappingNode:
    """An object; `key_marks` says where each key stands."""

    mark: Mark
    fields: Mapping[str, "Node"]
    key_marks: Mapping[str, Mark] = field(default_factory=dict)


Node = ScalarNode | SequenceNode | MappingNode

START: Final = Mark(1, 1)
EMPTY: Final = MappingNode(Mark(0, 0), MappingProxyType({}))
"""An object that no file has; nothing stands at line 0."""


def is_null(node: Node) -> bool:
    """Whether the node is null, which in a configuration is the same as absent."""
    return isinstance(node, ScalarNode) and node.value is None


def find(root: Node, path: Path) -> Node | None:
    """Return the node at `path`, or `None` where the file has none."""
    node: Node = root
    for part in path:
        child = _child(node, part)
        if child is None:
            return None
        node = child
    return node


def locate(root: Node, path: Path) -> Mark:
    """Return where `path` stands: its key if it has one, else its nearest ancestor there is."""
    node, mark = root, root.mark
    for part in path:
        child = _child(node, part)
        if child is None:
            return mark
        mark = (
            node.key_marks[part]
            if isinstance(node, MappingNode) and isinstance(part, str)
            else child.mark
        )
        node = child
    return mark


def _child(node: Node, part: str | int) -> Node | None:
    if isinstance(node, MappingNode) and isinstance(part, str):
        return node.fields.get(part)
    if isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.items):
        return node.items[part]
    return None


def to_plain(node: Node) -> object:
    """Return the value as dicts, lists and scalars."""
    if isinstance(node, MappingNode):
        return {key: to_plain(value) for key, value in node.fields.items()}
    if isinstance(node, SequenceNode):
        return [to_plain(item) for item in node.items]
    return node.value


def from_plain(value: object) -> Node:
    """Return dicts, lists and scalars as a tree that stands in no file.

    It recurses: the caller has judged how deep they are.
    """
    mark = EMPTY.mark
    if isinstance(value, Mapping):
        fields = {str(key): from_plain(item) for key, item in value.items()}
        return MappingNode(mark, fields, dict.fromkeys(fields, mark))
    if isinstance(value, list | tuple):
        return SequenceNode(mark, tuple(from_plain(item) for item in value))
    if value is None or isinstance(value, bool | int | float | str):
        return ScalarNode(mark, value, "" if value is None else str(value))
    raise TypeError(f"{type(value).__name__} is no type of JSON")


def iterate_given(node: Node, path: Path = ()) -> Iterator[Path]:
    """Yield the path of every value in the tree that is not null, the root's left out."""
    if is_null(node):
        return
    if path:
        yield path
    if isinstance(node, MappingNode):
        for key, value in node.fields.items():
            yield from iterate_given(value, (*path, key))
    elif isinstance(node, SequenceNode):
        for index, item in enumerate(node.items):
            yield from iterate_given(item, (*path, index))


def render_path(path: Path) -> str:
    """Write a path as Kubernetes does: `profiles[0].pluginConfig[1].args`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text
