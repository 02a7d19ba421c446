"""Makes a snapshot that shows something as small as it gets while it still shows it."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any, Final

Manifest = dict[str, Any]
Items = list[Manifest]

# What an object is, and where it is.
_KEPT: Final = frozenset(
    {
        ("metadata",),
        ("metadata", "name"),
        ("metadata", "namespace"),
        ("metadata", "uid"),
        ("spec",),
        ("spec", "nodeName"),
    }
)


def shrink(items: Items, shows: Callable[[Items], bool]) -> Items:
    """Leave out objects, then fields, as long as `shows` holds. It holds for `items`."""
    items = _leave_out_objects(items, shows)
    return _leave_out_fields(items, shows)


def _leave_out_objects(items: Items, shows: Callable[[Items], bool]) -> Items:
    """Try ever smaller stretches of objects (Zeller's ddmin, from half down to one)."""
    size = max(len(items) // 2, 1)
    while size:
        start = 0
        while start < len(items):
            rest = _consistent(items[:start] + items[start + size :])
            if 0 < len(rest) < len(items) and shows(rest):
                items = rest
            else:
                start += size
        size //= 2
    return items


def _consistent(items: Items) -> Items:
    """Leave out Pods on Nodes that are not there any more; nothing is left without Nodes."""
    nodes = {item["metadata"]["name"] for item in items if item["kind"] == "Node"}
    if not nodes:
        return []
    return [
        item
        for item in items
        if item["kind"] != "Pod" or item["spec"].get("nodeName", "") in {"", *nodes}
    ]


def _leave_out_fields(items: Items, shows: Callable[[Items], bool]) -> Items:
    progress = True
    while progress:
        progress = False
        for smaller in _with_a_field_less(items):
            if shows(smaller):
                items, progress = smaller, True
                break
    return items


def _with_a_field_less(items: Items) -> Iterator[Items]:
    for number, item in enumerate(items):
        for path in _paths(item):
            smaller = deepcopy(item)
            _delete(smaller, path)
            yield [*items[:number], smaller, *items[number + 1 :]]


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Give the paths of what may be left out, the largest parts first."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    nested = []
    for key, child in entries:
        here = (*path, key)
        if here[0] not in ("apiVersion", "kind") and here not in _KEPT:
            yield here
        if isinstance(child, dict | list):
            nested.append((child, here))
    for child, here in nested:
        yield from _paths(child, here)


def _delete(value: Any, path: tuple[str | int, ...]) -> None:
    for key in path[:-1]:
        value = value[key]
    del value[path[-1]]
