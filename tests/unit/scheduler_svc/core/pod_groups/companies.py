"""Members that look at other Pods, most often other members."""

from scheduler_svc.core.affinity_objects import (
    LabelSelector,
    PodAffinity,
    PodAffinityTerm,
    TopologySpreadConstraint,
)


def near_small() -> PodAffinity:
    """Want a small Pod on the same host."""
    selector = LabelSelector(match_labels={"size": "small"})
    return PodAffinity(required=(PodAffinityTerm("host", selector),))


def away_from(app: str) -> PodAffinity:
    """Want no Pod of an app on the same host."""
    selector = LabelSelector(match_labels={"app": app})
    return PodAffinity(required=(PodAffinityTerm("host", selector),))


def over_zones_whatever_the_affinity() -> TopologySpreadConstraint:
    """Have Pods of the app web spread evenly, those zones counted that the Pod may not be in."""
    return TopologySpreadConstraint(
        max_skew=1,
        topology_key="zone",
        when_unsatisfiable="DoNotSchedule",
        label_selector=LabelSelector(match_labels={"app": "web"}),
        node_affinity_policy="Ignore",
    )
