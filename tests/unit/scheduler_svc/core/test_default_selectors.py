"""Which Pods belong together: by the Services that select them and by their controller."""

import msgspec
import pytest

from scheduler_svc.core import default_selectors
from scheduler_svc.core.affinity_objects import LabelRequirement, LabelSelector
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.cluster_objects import ApiObject, ObjectKind
from scheduler_svc.core.label_selectors import Selector
from scheduler_svc.core.objects import ObjectMeta, OwnerReference
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.workload_objects import (
    LabelsSpec,
    ReplicaSet,
    ReplicationController,
    SelectorSpec,
    Service,
    StatefulSet,
)
from tests.builders import make_pod_info

WEB = {"app": "web", "tier": "front"}


def service(name: str, selector: dict[str, str] | None, namespace: str = "default") -> Service:
    return Service(ObjectMeta(name=name, namespace=namespace), LabelsSpec(selector))


def replica_set(name: str, selector: LabelSelector | None) -> ReplicaSet:
    return ReplicaSet(ObjectMeta(name=name, namespace="default"), SelectorSpec(selector))


def owned(kind: str, name: str = "owner", api_version: str = "apps/v1") -> PodInfo:
    owner = OwnerReference(api_version=api_version, kind=kind, name=name, controller=True)
    return msgspec.structs.replace(make_pod_info(labels=WEB), owner=owner)


def cluster_of(*objects: tuple[ObjectKind, ApiObject]) -> Cluster:
    cluster = Cluster()
    for kind, each in objects:
        cluster.objects[kind].upsert(each)
    return cluster


def selected(**labels: str) -> Selector:
    return Selector(tuple(LabelRequirement(k, "In", (v,)) for k, v in sorted(labels.items())))


def test_nothing_selects_a_pod_without_service_and_controller() -> None:
    other = service("other", {"app": "other"})
    elsewhere = service("web", {"app": "web"}, namespace="elsewhere")
    cluster = cluster_of((ObjectKind.SERVICE, other), (ObjectKind.SERVICE, elsewhere))
    assert cluster.default_selectors.of(make_pod_info(labels=WEB)) is None
    assert cluster.default_selectors.of(make_pod_info()) is None
    assert Cluster().default_selectors.of(make_pod_info(labels=WEB)) is None


def test_every_service_that_selects_the_pod_counts() -> None:
    cluster = cluster_of(
        (ObjectKind.SERVICE, service("by-app", {"app": "web"})),
        (ObjectKind.SERVICE, service("by-both", WEB)),
        (ObjectKind.SERVICE, service("narrower", {"app": "web", "canary": "yes"})),
        (ObjectKind.SERVICE, service("without", None)),
        (ObjectKind.SERVICE, service("of-all", {})),
    )
    assert cluster.default_selectors.of(make_pod_info(labels=WEB)) == selected(**WEB)
    assert cluster.default_selectors.of(make_pod_info(labels={"app": "web"})) == selected(app="web")


@pytest.mark.parametrize(
    ("kind", "each", "expected"),
    [
        (
            ObjectKind.REPLICA_SET,
            replica_set("owner", LabelSelector({"app": "web"})),
            selected(app="web"),
        ),
        (ObjectKind.REPLICA_SET, replica_set("owner", None), None),
        (ObjectKind.REPLICA_SET, replica_set("owner", LabelSelector()), None),
        (ObjectKind.REPLICA_SET, replica_set("another", LabelSelector({"app": "web"})), None),
        # What makes no sense adds nothing.
        (ObjectKind.REPLICA_SET, replica_set("owner", LabelSelector({"app": "-web"})), None),
        (
            ObjectKind.STATEFUL_SET,
            StatefulSet(
                ObjectMeta(name="owner", namespace="default"),
                SelectorSpec(LabelSelector(None, (LabelRequirement("app", "Exists"),))),
            ),
            Selector((LabelRequirement("app", "Exists"),)),
        ),
        (
            ObjectKind.REPLICATION_CONTROLLER,
            ReplicationController(
                ObjectMeta(name="owner", namespace="default"), LabelsSpec({"app": "web"})
            ),
            selected(app="web"),
        ),
        (
            ObjectKind.REPLICATION_CONTROLLER,
            ReplicationController(ObjectMeta(name="owner", namespace="default")),
            None,
        ),
    ],
)
def test_the_controller_counts(
    kind: ObjectKind, each: ApiObject, expected: Selector | None
) -> None:
    version = "v1" if kind is ObjectKind.REPLICATION_CONTROLLER else "apps/v1"
    pod = owned(kind.value, api_version=version)
    assert cluster_of((kind, each)).default_selectors.of(pod) == expected


@pytest.mark.parametrize(
    ("kind", "api_version"),
    [("ReplicaSet", "apps/v1beta2"), ("ReplicaSet", "v1"), ("Job", "batch/v1")],
)
def test_other_owners_do_not_count(kind: str, api_version: str) -> None:
    replicas = replica_set("owner", LabelSelector({"app": "web"}))
    cluster = cluster_of((ObjectKind.REPLICA_SET, replicas))
    assert cluster.default_selectors.of(owned(kind, api_version=api_version)) is None


def test_services_and_controller_must_both_select() -> None:
    cluster = cluster_of(
        (ObjectKind.SERVICE, service("web", {"tier": "front"})),
        (ObjectKind.REPLICA_SET, replica_set("owner", LabelSelector({"app": "web"}))),
    )
    assert cluster.default_selectors.of(owned("ReplicaSet")) == selected(**WEB)


def test_a_change_of_a_selector_is_followed() -> None:
    cluster, pod = Cluster(), make_pod_info(labels=WEB)
    services, of = cluster.objects[ObjectKind.SERVICE], cluster.default_selectors.of
    assert of(pod) is None
    services.upsert(service("one", {"app": "web"}))
    services.upsert(service("two", {"app": "web", "tier": "front"}))
    assert of(pod) == selected(**WEB)
    services.upsert(service("two", {"app": "another"}))
    assert of(pod) == selected(app="web")
    services.upsert(service("two", {"app": "another"}))
    assert of(pod) == selected(app="web")
    services.upsert(service("one", None))
    assert of(pod) is None
    services.upsert(service("one", {"tier": "front"}))
    assert of(pod) == selected(tier="front")
    services.delete("default/one")
    assert of(pod) is None
    services.delete("default/two")
    assert of(pod) is None


def test_a_new_version_with_the_same_selector_forgets_nothing() -> None:
    cluster, pod = Cluster(), owned("ReplicaSet")
    replica_sets = cluster.objects[ObjectKind.REPLICA_SET]
    replica_sets.upsert(replica_set("owner", LabelSelector({"app": "web"})))
    first = cluster.default_selectors.of(pod)
    replica_sets.upsert(replica_set("owner", LabelSelector({"app": "web"})))
    assert cluster.default_selectors.of(pod) is first


def test_kinds_of_pods_are_forgotten_when_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(default_selectors, "_MAX_KNOWN", 2)
    cluster = cluster_of((ObjectKind.SERVICE, service("web", {"app": "web"})))
    of = cluster.default_selectors.of
    first = of(make_pod_info(labels=WEB))
    of(make_pod_info(labels={"app": "b"}))
    assert of(make_pod_info(labels=WEB)) is first
    of(make_pod_info(labels={"app": "c"}))
    assert of(make_pod_info(labels=WEB)) == first
    assert of(make_pod_info(labels=WEB)) is not first
