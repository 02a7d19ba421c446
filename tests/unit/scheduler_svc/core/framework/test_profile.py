"""Profiles: plugins at their points, and what makes a class of Pods."""

from collections.abc import Hashable, Sequence
from operator import attrgetter

import pytest

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.framework.cluster_events import EventRegistration
from scheduler_svc.core.framework.interface import EnqueueExtensions, Plugin
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.plugins.default_binder import DefaultBinder
from scheduler_svc.core.plugins.node_name import NodeName
from scheduler_svc.core.plugins.node_ports import NodePorts
from scheduler_svc.core.plugins.priority_sort import PrioritySort
from scheduler_svc.core.plugins.scheduling_gates import SchedulingGates
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.registry import IN_TREE
from tests.builders import make_pod_info, make_profile
from tests.scripted_plugins import Filtering, Permitting, Reserving, Scoring, named


def test_plugins_stand_in_order_at_their_points() -> None:
    name, ports = NodeName(), NodePorts()
    profile = make_profile({"preFilter": [ports, name], "filter": [name, ports]}, scheduler="mine")
    assert profile.scheduler_name == "mine"
    assert profile.pre_filter == (ports, name)
    assert profile.filter == (name, ports)
    assert profile.score == ()
    assert profile.bind == ()
    assert isinstance(profile.queue_sort, PrioritySort)


def test_a_plugin_cannot_stand_where_it_has_nothing_to_say() -> None:
    with pytest.raises(TypeError, match="DefaultBinder, PrioritySort cannot be used at filter"):
        make_profile({"filter": [DefaultBinder(), NodeName(), PrioritySort()]})


def test_weights_are_1_unless_given() -> None:
    scores: list[Plugin] = [named("A", Scoring)({}), named("B", Scoring)({})]
    profile = make_profile({"score": scores}, {"B": 7, "NotThere": 9})
    assert profile.weights == {"A": 1, "B": 7}


def test_totals_must_fit_into_64_bits() -> None:
    scores: list[Plugin] = [named("A", Scoring)({}), named("B", Scoring)({})]
    most = (2**63 - 1) // 100
    assert make_profile({"score": scores}, {"A": most - 1}).weights["A"] == most - 1
    with pytest.raises(ValueError, match="the weights of profile mine add up to too much"):
        make_profile({"score": scores}, {"A": most}, scheduler="mine")


class OnceAsked(EnqueueExtensions, Filtering):
    """Counts how often it is asked what it waits for."""

    name = "OnceAsked"
    asked_count = 0

    def events_to_register(self) -> Sequence[EventRegistration]:
        self.asked_count += 1
        return ()


def test_plugins_are_asked_for_their_events_once() -> None:
    """A user's may answer now and fail later, when the scheduler relies on it."""
    plugin = OnceAsked()
    profile = make_profile({"filter": [plugin]})
    first = profile.registrations()
    first["Other"] = ()
    assert profile.registrations() == {"OnceAsked": ()}
    assert plugin.asked_count == 1


def test_events_of_all_plugins_that_may_reject() -> None:
    calls: list[str] = []
    plugins = {name: factory() for name, factory in IN_TREE.items()}
    points: dict[str, Sequence[Plugin]] = {
        "queueSort": [plugins["PrioritySort"]],
        "preEnqueue": [plugins["SchedulingGates"]],
        "preFilter": [plugins["NodeName"]],
        "filter": [plugins["NodeName"], plugins["NodePorts"]],
        "score": [plugins["ImageLocality"]],
        "reserve": [named("Reserving", Reserving)(calls)],
        "permit": [named("Permitting", Permitting)(calls)],
    }
    registrations = Profile("mine", points, {}).registrations()
    # Reserving and Permitting have not said what would help them: that is for the queue to know.
    assert registrations.keys() == {"SchedulingGates", "NodeName", "NodePorts"}
    for events in registrations.values():
        assert all(isinstance(event, EventRegistration) for event in events)


def test_a_class_is_the_shape_and_what_else_plugins_read() -> None:
    plain = make_profile({"preEnqueue": [SchedulingGates()]})
    reading = make_profile({"filter": [NodeName()]})
    nothing = Cluster()
    one, other = make_pod_info("one"), make_pod_info("other", node="n1", version="2")
    another, urgent = make_pod_info("another"), make_pod_info(priority=1)
    assert plain.class_key(one, nothing) == plain.class_key(other, nothing)
    assert reading.class_key(one, nothing) == reading.class_key(another, nothing)
    assert reading.class_key(one, nothing) != reading.class_key(other, nothing)
    assert plain.class_key(one, nothing) != plain.class_key(urgent, nothing)


def test_pods_whose_projections_differ_are_of_different_classes() -> None:
    class ByLabel(Filtering):
        def projection(self, pod: PodInfo, cluster: Cluster) -> Hashable:
            return dict(pod.labels).get("app")

    profile, nothing = make_profile({"filter": [named("ByLabel", ByLabel)()]}), Cluster()
    one, same = (
        make_pod_info("a", labels={"app": "x", "n": "1"}),
        make_pod_info(labels={"app": "x"}),
    )
    assert profile.class_key(one, nothing) == profile.class_key(same, nothing)
    other = make_pod_info(labels={"app": "y"})
    assert profile.class_key(one, nothing) != profile.class_key(other, nothing)


def test_a_projection_is_asked_of_pods_that_have_what_it_looks_at() -> None:
    class ByClaims(Filtering):
        projection_fields = frozenset({"claims", "shape.requests.scalars"})

        def projection(self, pod: PodInfo, cluster: Cluster) -> Hashable:
            asked.append(pod.name)
            return pod.name

    asked = list[str]()
    profile, nothing = make_profile({"filter": [named("ByClaims", ByClaims)()]}), Cluster()
    one, other = (make_pod_info(name, requests={"cpu": 1}) for name in "ab")
    assert profile.class_key(one, nothing) == profile.class_key(other, nothing)
    assert asked == []
    one, other = (make_pod_info(name, requests={"example.com/gpu": 1}) for name in "ab")
    assert profile.class_key(one, nothing) != profile.class_key(other, nothing)
    assert asked == ["a", "b"]


@pytest.mark.parametrize("name", IN_TREE)
def test_no_projection_of_pods_that_have_nothing_that_it_looks_at(name: str) -> None:
    plugin, pod = IN_TREE[name](), make_pod_info()
    for field in plugin.projection_fields:
        assert not attrgetter(field)(pod)
    if plugin.projection_fields:
        assert plugin.projection(pod, Cluster()) is None


def test_a_profile_knows_its_plugins() -> None:
    profile = make_profile({"filter": [NodeName()], "preEnqueue": [SchedulingGates()]})
    assert profile.plugin_names == {"NodeName", "SchedulingGates", "PrioritySort"}
