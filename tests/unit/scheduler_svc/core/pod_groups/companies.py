"""Members that want other members near them."""

from scheduler_svc.core.affinity_objects import LabelSelector, PodAffinity, PodAffinityTerm


def near_small() -> PodAffinity:
    """Want a small Pod on the same host."""
    selector = LabelSelector(match_labels={"size": "small"})
    return PodAffinity(required=(PodAffinityTerm("host", selector),))
