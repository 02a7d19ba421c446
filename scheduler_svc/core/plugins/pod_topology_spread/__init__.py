"""PodTopologySpread: Pods that belong together are kept evenly over Nodes, zones and the like.

Source: pkg/scheduler/framework/plugins/podtopologyspread, v1.36.3.
"""

from scheduler_svc.core.plugins.pod_topology_spread.plugin import PodTopologySpread

__all__ = ["PodTopologySpread"]
