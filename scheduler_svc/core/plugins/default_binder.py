"""DefaultBinder: binds every Pod by posting a Binding.

Source: pkg/scheduler/framework/plugins/defaultbinder, v1.36.3.
"""

from scheduler_svc.core.framework.interface import BindPlugin
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import SUCCESS, Status


class DefaultBinder(BindPlugin):
    """Has the shell post a Binding with the Pod's uid."""

    name = "DefaultBinder"

    def bind(self, pod: PodInfo, node_name: str) -> Status:
        """Accept every Pod."""
        del pod, node_name
        return SUCCESS
