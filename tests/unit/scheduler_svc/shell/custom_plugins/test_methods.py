"""Misspelt methods of users' plugins are told of, and ones that cannot be called keep them out."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any

import pytest

from berthmaster.plugin import FeedApi, Node, NodePlugin, Nodes, Pod, VectorPlugin
from scheduler_svc.core.custom_plugins.adapt import ASYNC_METHODS, METHODS
from scheduler_svc.core.custom_plugins.base import BasePlugin
from scheduler_svc.shell.custom_plugins.methods import (
    making_mistakes,
    signature_mistakes,
    unheard_methods,
)


class Right(NodePlugin[Any]):
    """Stands at a point, and has nothing else."""

    def pre_enqueue(self, pod: Pod) -> str | None:
        return None


def changed(**methods: Any) -> type[Any]:
    return type("Changed", (Right,), methods)


def _method(self: Any, *anything: Any) -> None:
    return None


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("scores", "did you mean 'score'?"),
        ("Score", "did you mean 'score'?"),
        ("filters", "did you mean 'filter'?"),
        ("fliter", "did you mean 'filter'?"),
        ("prefilter", "did you mean 'pre_filter'?"),
        ("preFilter", "did you mean 'pre_filter'?"),
        ("postbind", "did you mean 'post_bind'?"),
        ("un_reserve", "did you mean 'unreserve'?"),
        ("on_feeds", "did you mean 'on_feed'?"),
        ("event_to_register", "did you mean 'events_to_register'?"),
        ("normalise_score", "set `normalize` to scale scores"),
        ("normalize_score", "set `normalize` to scale scores"),
        ("post_fliter", "plugins in Python have no such point"),
        ("bind", "plugins in Python have no such point; use pre_bind or post_bind"),
        ("pre_score", "plugins in Python have no such point; prepare in score"),
    ],
)
def test_what_was_meant_is_named(name: str, meant: str) -> None:
    [said] = unheard_methods(changed(**{name: _method}))
    start = f"plugin Changed has a method {name!r}, which no extension point calls; "
    assert said == start + meant


@pytest.mark.parametrize("name", ["scores_of", "team_of", "_scores", "weigh", "refresh", "close"])
def test_methods_of_a_plugins_own_are_its_business(name: str) -> None:
    assert unheard_methods(changed(**{name: _method})) == ()


def test_every_method_of_a_plugin_is_known() -> None:
    methods = dict.fromkeys((*METHODS, *ASYNC_METHODS), _method)
    assert unheard_methods(changed(**methods)) == ()


def test_no_attribute_is_a_method() -> None:
    own = {"scores": {"a": 1}, "filters": property(lambda self: ()), "permits": type("X", (), {})}
    assert unheard_methods(changed(**own)) == ()


class Calling(Right):
    """Calls its own methods, some of them where it makes another function."""

    def score(self, pod: Pod, node: Node) -> float:
        return self.score_of(node) + sum(self.filtered(each) for each in node.pods)

    def score_of(self, node: Node) -> float:
        return 1.0

    def filtered(self, pod: Pod) -> float:
        return 0.0

    @property
    def permission(self) -> Any:
        return self.permits

    @staticmethod
    def permits() -> bool:
        return True

    @classmethod
    def reserved(cls) -> "Calling":
        return cls()

    def scores(self) -> None:
        """Is not meant for `score`, which there is."""


def make() -> Calling:
    return Calling.reserved()


def test_what_the_plugin_or_its_module_calls_is_its_own() -> None:
    assert unheard_methods(Calling) == ()


class Mixin:
    """Has what a plugin inherits, and is none."""

    def filters(self, pod: Pod, node: Node) -> None:
        return self.filters(pod, node)  # it alone calls itself


class Inheriting(Mixin, Right):
    """Has a name, and what others misspelt."""

    name = "Inherited"


def test_what_is_inherited_is_told_by_the_plugins_name() -> None:
    [said] = unheard_methods(Inheriting)
    assert said.startswith("plugin Inherited has a method 'filters'")


async def _work(self: Any, pod: Pod, node_name: str) -> None:
    return None


class Opaque:
    """Is no function; how it is bound is its own affair."""

    def __call__(self, *given: Any) -> None:
        return None


def decorated(method: Callable[..., Any]) -> Any:
    @wraps(method)
    def wrapper(self: Any, pod: Pod, node: Node) -> Any:
        return method(self, pod, node, "session")

    return wrapper


@pytest.mark.parametrize(
    "methods",
    [
        {"filter": lambda self, pod, node: None},
        {"filter": lambda self, *given: None},
        {"filter": lambda self, p, n, strict=False: None},
        {"filter": staticmethod(lambda pod, node: None)},
        {"filter": classmethod(lambda cls, pod, node: None)},
        {"filter": decorated(lambda self, pod, node, session: None)},
        {"filter": lru_cache(lambda self, pod, node: None)},
        {"filter": Opaque()},
        {"pre_bind": _work},
        {"events_to_register": lambda self: []},
    ],
)
def test_what_can_be_called(methods: dict[str, Any]) -> None:
    assert list(signature_mistakes(changed(**methods))) == []


@pytest.mark.parametrize(
    "methods",
    [
        {},
        {"__init__": lambda self, args: None},
        {"__init__": lambda self, args=None, *, client=None: None},
        {"__init__": lambda self, *given: None},
        {"__init__": Opaque()},
    ],
)
def test_what_can_be_made(methods: dict[str, Any]) -> None:
    assert list(making_mistakes(changed(**methods))) == []


@pytest.mark.parametrize(
    "method", [lambda self: None, lambda self, args, client: None, lambda self, *, args=None: None]
)
def test_what_cannot_be_made_has_the_right_constructor_shown(method: Any) -> None:
    [said] = making_mistakes(changed(__init__=method))
    assert said.startswith("__init__ cannot be called with (args): ")
    assert "it must be __init__(self, args=None)" in said


@pytest.mark.parametrize(
    ("name", "method", "arguments"),
    [
        ("filter", lambda self, pod: None, "pod, node"),
        ("filter", lambda pod, node: None, "pod, node"),
        ("score", lambda self, pod, node, nodes: 1, "pod, node"),
        ("score", lambda self, pod, node, *, weight: 1, "pod, node"),
        ("score", staticmethod(lambda self, pod, node: 1), "pod, node"),
        ("sort_key", lambda self, pod: (), "pod, timestamp_seconds"),
        ("permit", lambda self, pod: None, "pod, node_name"),
        ("unreserve", lambda self: None, "pod, node_name"),
        ("undo_pre_bind", lambda self, pod: None, "pod, node_name"),
        ("feed", lambda self: None, "api"),
        ("on_feed", lambda self: None, "value"),
    ],
)
def test_what_cannot_be_called_has_the_right_signature_shown(
    name: str, method: Any, arguments: str
) -> None:
    [said] = signature_mistakes(changed(**{name: method}))
    assert said.startswith(f"{name} cannot be called with ({arguments}): ")
    assert said.endswith(f"; it must be {name}(self, {arguments})")


class Vector(VectorPlugin[Any]):
    """Judges all Nodes, in one method as it must."""

    def filter(self, pod: Pod, nodes: Nodes) -> Any:
        return None

    score: Any = lambda self, nodes: None


class Other(BasePlugin[Any]):
    """Is of neither kind, so it is asked as a vector plugin."""

    filter: Any = lambda self, pod, node, more: None


def test_a_plugin_of_neither_kind_is_asked_about_all_nodes() -> None:
    [said] = signature_mistakes(Other)
    assert said.endswith("it must be filter(self, pod, nodes)")


def test_a_vector_plugins_signatures_are_its_bases() -> None:
    [said] = signature_mistakes(Vector)
    assert said.endswith("it must be score(self, pod, nodes)")


class Feeding(Right):
    """Feeds rightly."""

    async def feed(self, api: FeedApi) -> Any:
        yield 1


def test_a_feed_can_be_called() -> None:
    assert list(signature_mistakes(Feeding)) == []
