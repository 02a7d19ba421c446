"""What a plugin declares is checked before it is used, and each mistake is told in a line."""

from collections.abc import AsyncIterator
from math import inf, nan
from typing import Any

import pytest

from berthmaster.plugin import FeedApi, Node, NodePlugin, Normalize, Scope, VectorPlugin
from berthmaster.testing import cluster, node, pod
from scheduler_svc.core.custom_plugins.declared import is_plugin, mistakes_in_values, mistakes_of


class Right(NodePlugin[Any]):
    """Is as it should be."""

    pre_bind_timeout_seconds = 5

    def filter(self, pod: Any, node: Node) -> str | None:
        return None

    async def pre_bind(self, pod: Any, node_name: str) -> None:
        return None

    async def undo_pre_bind(self, pod: Any, node_name: str) -> None:
        return None

    async def feed(self, api: FeedApi) -> AsyncIterator[int]:
        yield 1


class RightArrays(VectorPlugin[Any]):
    """The same, over arrays."""

    def score(self, pod: Any, nodes: Any) -> Any:
        return nodes.pod_counts


def changed(base: type[Any], **values: Any) -> type[Any]:
    return type("Changed", (base,), values)


FIELDS = "annotations, labels, name, namespace, owner, uid"


@pytest.mark.parametrize("plugin", [Right, RightArrays])
def test_what_is_right(plugin: type[Any]) -> None:
    assert mistakes_of(plugin) == []
    assert mistakes_in_values(plugin()) == []


@pytest.mark.parametrize(
    "values",
    [
        {"pod_fields": ("labels",)},
        {"pod_fields": ["labels", "uid"]},
        {"pod_fields": set()},
        {"pod_fields": {"annotations"}, "pod_annotations": ["example.com/team"]},
        {"scope": Scope.SPEC, "normalize": Normalize.LOWER_IS_BETTER},
        {"pre_bind_timeout_seconds": 0.5},
        # Of a NodePlugin these are its own.
        {"reason": 5, "resolvable": {}},
    ],
)
def test_what_may_be_declared(values: dict[str, Any]) -> None:
    assert mistakes_of(changed(Right, **values)) == []


def test_declared_collections_may_be_of_any_kind() -> None:
    plugin = changed(Right, pod_fields=["labels"], pod_annotations=("a",))
    assert cluster(nodes=[node("a")], plugins=[plugin()]).schedule(pod()).node == "a"


@pytest.mark.parametrize(
    ("attribute", "value", "said"),
    [
        ("name", 5, "name is 5; it must be printable text"),
        ("name", "a\nb", "name is 'a\\nb'; it must be printable text"),
        ("args_type", dict, "a subclass of berthmaster.plugin.Args"),
        ("args_type", None, "args_type is None; it must be a subclass of berthmaster.plugin.Args"),
        (
            "pod_fields",
            "labels",
            f"pod_fields is 'labels'; it must be a set of names out of {FIELDS}",
        ),
        ("pod_fields", None, f"pod_fields is None; it must be a set of names out of {FIELDS}"),
        ("pod_fields", {1}, f"pod_fields is {{1}}; it must be a set of names out of {FIELDS}"),
        ("pod_fields", {"mood"}, f"pod_fields names mood; it may name {FIELDS}"),
        ("pod_fields", {"annotations"}, "so pod_annotations must name which; none is kept else"),
        ("pod_annotations", "x", "pod_annotations is 'x'; it must be a set of annotations' keys"),
        ("pod_annotations", [1], "pod_annotations is [1]; it must be a set of annotations' keys"),
        ("scope", "cluster", "it must be Scope.SPEC, Scope.USAGE or Scope.CLUSTER"),
        ("scope", None, "scope is None; it must be Scope.SPEC, Scope.USAGE or Scope.CLUSTER"),
        ("normalize", "higher", "normalize is 'higher'; it must be Normalize.NONE, Normalize.H"),
        ("pre_bind_timeout_seconds", "5", "is '5'; it must be a number of seconds above 0"),
        ("pre_bind_timeout_seconds", None, "is None; it must be a number of seconds above 0"),
        ("pre_bind_timeout_seconds", nan, "is nan; it must be a number of seconds above 0"),
        ("pre_bind_timeout_seconds", inf, "is inf; it must be a number of seconds above 0"),
        ("pre_bind_timeout_seconds", 0, "is 0; it must be a number of seconds above 0"),
        ("pre_bind_timeout_seconds", True, "is True; it must be a number of seconds above 0"),
        ("reason", 5, "reason is 5; it must be text"),
        ("reason", None, "reason is None; it must be text"),
        ("resolvable", "no", "resolvable is 'no'; it must be True or False"),
    ],
)
def test_values_of_wrong_types(attribute: str, value: Any, said: str) -> None:
    base = RightArrays if attribute in ("reason", "resolvable") else Right
    [mistake] = mistakes_of(changed(base, **{attribute: value}))
    assert mistake.startswith(attribute)
    assert said in mistake
    made = base()
    setattr(made, attribute, value)
    assert mistakes_in_values(made) == [mistake]


async def _async(*_: Any) -> None:
    """Stands for any method with async."""


async def _async_generator(*_: Any) -> AsyncIterator[int]:
    yield 1


PLAIN = (
    "pre_enqueue",
    "sort_key",
    "pre_filter",
    "filter",
    "score",
    "reserve",
    "unreserve",
    "permit",
    "post_bind",
    "on_feed",
    "events_to_register",
)


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("method", [_async, _async_generator])
def test_methods_that_nothing_awaits_are_plain(name: str, method: Any) -> None:
    said = f"{name} is async; it must be a plain function, since nothing awaits it"
    assert mistakes_of(changed(Right, **{name: method})) == [said]


@pytest.mark.parametrize("name", [*PLAIN, "pre_bind", "undo_pre_bind", "feed"])
def test_methods_are_methods(name: str) -> None:
    assert mistakes_of(changed(Right, **{name: []})) == [f"{name} is []; it must be a method"]


def test_a_feed_yields() -> None:
    said = "feed yields nothing; it must be an asynchronous generator"
    assert mistakes_of(changed(Right, feed=_async)) == [said]


def test_all_mistakes_are_told() -> None:
    wrong = changed(Right, scope="x", normalize="y", filter=_async)
    assert [line.split()[0] for line in mistakes_of(wrong)] == ["filter", "scope", "normalize"]


@pytest.mark.parametrize(
    ("candidate", "said"),
    [
        (7, "is no subclass of NodePlugin or VectorPlugin of berthmaster.plugin"),
        (NodePlugin, "NodePlugin is a base for plugins, not one"),
        (
            changed(NodePlugin),
            (
                "Changed defines no method of an extension point; there are pre_enqueue, sort_key, "
                "pre_filter, filter, score, reserve, unreserve, permit, pre_bind, undo_pre_bind, "
                "post_bind"
            ),
        ),
    ],
)
def test_what_is_no_plugin(candidate: Any, said: str) -> None:
    assert mistakes_of(candidate) == [said]


def test_a_plugins_class_is_told_from_others() -> None:
    candidates = (7, int, NodePlugin, changed(NodePlugin), Right)
    assert [is_plugin(each) for each in candidates] == [False, False, False, True, True]
