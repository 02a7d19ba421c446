"""A plugin stands at the points whose methods it defines."""

from typing import Any

import pytest

from scheduler_svc.core.custom_plugins.adapt import adapt, defines, plugin_name, points_of
from scheduler_svc.core.custom_plugins.base import (
    BasePlugin,
    NodePlugin,
    Normalize,
    Reject,
    VectorPlugin,
    Wait,
)
from scheduler_svc.core.custom_plugins.guard import PlainGuard
from scheduler_svc.core.custom_plugins.node_arrays import Nodes
from scheduler_svc.core.custom_plugins.views import Node, Pod
from scheduler_svc.core.framework.interface import (
    ClusterScorePlugin,
    EnqueueExtensions,
    FilterPlugin,
    NormalizedScorePlugin,
    PermitPlugin,
    PreFilterPlugin,
    PreScorePlugin,
    Scope,
    ScorePlugin,
)
from scheduler_svc.core.labels import BoolArray


class Filters(NodePlugin[Any]):
    """A Filter."""

    name = "Sieve"
    pod_fields = frozenset({"owner"})
    scope = Scope.SPEC

    def filter(self, pod: Pod, node: Node) -> str | Reject | None:
        return None


class VectorFilters(VectorPlugin[Any]):
    """A vectorised Filter."""

    def filter(self, pod: Pod, nodes: Nodes) -> BoolArray:
        return nodes.has_label("x")


class Scores(NodePlugin[Any]):
    """A Score."""

    def score(self, pod: Pod, node: Node) -> float:
        return 1


class Inherits(Scores):
    """Has its Score from another plugin."""


class Permits(NodePlugin[Any]):
    """A Permit."""

    def permit(self, pod: Pod, node_name: str) -> str | Reject | Wait | None:
        return None


class Names(NodePlugin[Any]):
    """A PreFilter alone."""

    def pre_filter(self, pod: Pod) -> str | Reject | frozenset[str] | None:
        return None


@pytest.mark.parametrize(
    ("plugin", "name", "points"),
    [
        (Filters, "Sieve", {"filter"}),
        (VectorFilters, "VectorFilters", {"filter"}),
        (Scores, "Scores", {"score"}),
        (Inherits, "Inherits", {"score"}),
        (Permits, "Permits", {"permit"}),
        (Names, "Names", {"preFilter"}),
        (NodePlugin, "NodePlugin", set()),
    ],
)
def test_names_and_points(plugin: type[BasePlugin[Any]], name: str, points: set[str]) -> None:
    assert plugin_name(plugin) == name
    assert points_of(plugin) == points


def test_a_method_counts_where_it_is_defined() -> None:
    assert defines(Inherits, "score")
    assert not defines(Inherits, "filter")
    assert not defines(Inherits, "no_such_method")


def test_a_filter() -> None:
    adapter = adapt(Filters(), PlainGuard())
    assert isinstance(adapter, FilterPlugin)
    assert isinstance(adapter, PreFilterPlugin)
    assert not isinstance(adapter, ScorePlugin | EnqueueExtensions)
    assert (adapter.name, adapter.filter_scope) == ("Sieve", Scope.SPEC)
    assert adapter.pod_fields == frozenset({"owner"})
    assert isinstance(adapt(VectorFilters(), PlainGuard()), FilterPlugin)


def test_a_pre_filter_alone() -> None:
    adapter = adapt(Names(), PlainGuard())
    assert isinstance(adapter, PreFilterPlugin)
    assert not isinstance(adapter, FilterPlugin)


@pytest.mark.parametrize(
    ("scope", "normalize", "contract"),
    [
        (Scope.USAGE, Normalize.NONE, ScorePlugin),
        (Scope.USAGE, Normalize.HIGHER_IS_BETTER, NormalizedScorePlugin),
        (Scope.CLUSTER, Normalize.LOWER_IS_BETTER, ClusterScorePlugin),
        (Scope.CLUSTER, Normalize.NONE, ClusterScorePlugin),
    ],
)
def test_scores(scope: Scope, normalize: Normalize, contract: type[Any]) -> None:
    made = type("Made", (Scores,), {"scope": scope, "normalize": normalize})
    adapter = adapt(made(), PlainGuard())
    assert isinstance(adapter, contract)
    assert isinstance(adapter, PreScorePlugin)
    assert not isinstance(adapter, FilterPlugin | PermitPlugin)
