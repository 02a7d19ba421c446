"""NodeResourcesFit and extended resources that a DeviceClass stands for."""

from typing import Any

import pytest

from scheduler_svc.core.device_objects import DeviceClass
from scheduler_svc.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    EventResource,
    QueueingHint,
)
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.framework.verdict import judge
from scheduler_svc.core.plugins.node_resources_fit import NodeResourcesFit
from tests.builders import GPU, make_node_info, make_pod_info, make_profile
from tests.device_builders import device_cluster, drop, make_class

OTHER = "vendor.example.com/disk"
GPUS = make_class("gpus", extendedResourceName=GPU)
CLASS_EVENTS = [
    ClusterEvent(EventResource.DEVICE_CLASS, action)
    for action in (ActionType.ADD, ActionType.UPDATE)
]


def reasons(cluster: Any, amounts: dict[str, Any]) -> dict[str, str]:
    """Give by Node what it lacks."""
    pod = make_pod_info(requests=amounts)
    plugin = NodeResourcesFit()
    prepared = prepare(make_profile({"preFilter": [plugin], "filter": [plugin]}), pod, cluster)
    verdict = judge(prepared, cluster.columns)
    found = {cluster.columns.names[row]: "" for row in verdict.rows}
    for group in verdict.diagnosis.groups:
        for row in group.rows:
            found[cluster.columns.names[row]] = group.status.message
    return found


def test_a_node_that_offers_none_is_left_to_the_devices() -> None:
    nodes = [
        make_node_info("none"),
        make_node_info("zero", offers={GPU: 0}),
        make_node_info("one", offers={GPU: 1}),
        make_node_info("two", offers={GPU: 2}),
    ]
    cluster = device_cluster(nodes, GPUS)
    short = f"Insufficient {GPU}"
    expected = {"none": "", "zero": "", "one": short, "two": ""}
    assert reasons(cluster, {GPU: 2}) == expected
    assert reasons(cluster, {GPU: 2, OTHER: 1})["none"] == f"Insufficient {OTHER}"
    drop(cluster, GPUS)
    assert reasons(cluster, {GPU: 2}) == expected | {"none": short, "zero": short}


def test_pods_are_of_another_class_when_a_device_class_comes() -> None:
    cluster = device_cluster([])
    plugin, pod = NodeResourcesFit(), make_pod_info(requests={GPU: 1})
    before = plugin.projection(pod, cluster)
    assert before != plugin.projection(pod, device_cluster([], GPUS))
    assert plugin.projection(make_pod_info(), cluster) is None


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        (None, GPUS, True),
        (None, make_class("gpus"), False),
        (None, make_class("x", extendedResourceName=OTHER), False),
        (make_class("gpus"), GPUS, True),
        (GPUS, GPUS, False),
        (GPUS, make_class("gpus"), False),
    ],
)
def test_a_class_that_comes_to_stand_for_the_resource(
    old: DeviceClass | None, new: DeviceClass, helps: bool
) -> None:
    pod = make_pod_info(requests={GPU: 1})
    registration = NodeResourcesFit().events_to_register()[-1]
    assert all(registration.event.matches(event) for event in CLASS_EVENTS)
    assert registration.hint is not None
    expected = QueueingHint.QUEUE if helps else QueueingHint.SKIP
    assert registration.hint(pod, old, new) is expected


def test_a_class_stands_for_the_resource_of_its_name_from_the_start() -> None:
    pod = make_pod_info(requests={"deviceclass.resource.kubernetes.io/gpus": 1})
    hint = NodeResourcesFit().events_to_register()[-1].hint
    assert hint is not None
    assert hint(pod, None, make_class("gpus")) is QueueingHint.QUEUE
    assert hint(pod, make_class("gpus"), GPUS) is QueueingHint.SKIP


@pytest.mark.parametrize("attached", [False, True])
def test_a_node_without_the_resource_helps_if_a_class_stands_for_it(attached: bool) -> None:
    plugin, pod = NodeResourcesFit(), make_pod_info(requests={GPU: 1})
    if attached:
        plugin.attach(device_cluster([], GPUS))
    hint = plugin.events_to_register()[2].hint
    assert hint is not None
    expected = QueueingHint.QUEUE if attached else QueueingHint.SKIP
    assert hint(pod, None, make_node_info()) is expected
    assert hint(pod, make_node_info(), make_node_info()) is expected
    # One that offers too few is not helped by devices.
    assert hint(make_pod_info(requests={GPU: 2}), None, make_node_info(offers={GPU: 1})) is (
        QueueingHint.SKIP
    )
