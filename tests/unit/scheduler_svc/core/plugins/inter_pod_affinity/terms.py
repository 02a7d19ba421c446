"""Builds what Pods want of other Pods, in short: by the label `app` and a topology key."""

from collections.abc import Sequence

from scheduler_svc.core.affinity_objects import (
    LabelRequirement,
    LabelSelector,
    PodAffinity,
    PodAffinityTerm,
    WeightedPodAffinityTerm,
)
from scheduler_svc.core.cluster_objects import ObjectStore
from scheduler_svc.core.objects import Namespace, ObjectMeta

ZONE = "zone"
HOST = "host"

EVERY_NAMESPACE = LabelSelector()
TEAM_A = LabelSelector({"team": "a"})
NOT_TEAM_A = LabelSelector(match_expressions=(LabelRequirement("team", "NotIn", ("a",)),))


def app(name: str) -> LabelSelector:
    """Select Pods whose label `app` is `name`."""
    return LabelSelector({"app": name})


def term(
    selector: LabelSelector | str | None,
    key: str = ZONE,
    *,
    namespaces: Sequence[str] = (),
    of: LabelSelector | None = None,
) -> PodAffinityTerm:
    """Build a term about Pods of an app, in `namespaces` or those that `of` selects."""
    chosen = app(selector) if isinstance(selector, str) else selector
    return PodAffinityTerm(key, chosen, tuple(namespaces), of)


def demands(*terms: PodAffinityTerm) -> PodAffinity:
    """Build demands, all of which have to be met."""
    return PodAffinity(required=terms)


def prefers(*terms: tuple[int, PodAffinityTerm]) -> PodAffinity:
    """Build preferences: pairs of a weight and a term."""
    return PodAffinity(preferred=tuple(WeightedPodAffinityTerm(w, t) for w, t in terms))


def namespace(name: str, **labels: str) -> Namespace:
    """Build a Namespace."""
    return Namespace(ObjectMeta(name=name, labels=labels))


def namespaces(**labels: dict[str, str]) -> ObjectStore:
    """Build a store of Namespaces, labels by name; `_` in a name stands for `-`."""
    store = ObjectStore()
    for name, of_one in labels.items():
        store.upsert(namespace(name.replace("_", "-"), **of_one))
    return store
