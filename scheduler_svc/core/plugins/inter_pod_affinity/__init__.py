"""InterPodAffinity: near which other Pods a Pod wants to be, and away from which."""

from scheduler_svc.core.plugins.inter_pod_affinity.plugin import InterPodAffinity

__all__ = ["InterPodAffinity"]
