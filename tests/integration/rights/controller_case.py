"""What a controller is given to tell of: groups by either API, and profiles."""

from __future__ import annotations

from typing import Any, Final

from deploy.controlplane import ControlPlane
from tests.integration.rest import create, read, request
from tests.integration.rights.case import EVENTS, PODS
from tests.integration.rights.kinds import (
    GROUPS,
    GROUPS_OF_KUBERNETES,
    PROFILES,
    create_profile,
)
from tests.integration.scheduler_process import SchedulerProcess

MEMBER_OF: Final = "scheduling.x-k8s.io/pod-group"


class ControllerCase:
    """Makes objects named after the scenario, for one controller.

    Parameters
    ----------
    reader
        A token of somebody who may read what the controller serves.
    """

    def __init__(
        self, plane: ControlPlane, process: SchedulerProcess, *, name: str, reader: str
    ) -> None:
        self._plane = plane
        self._reader = reader
        self.process = process
        self.name = name

    def look(self) -> None:
        """Do nothing: what is listed and watched from the start is enough."""

    def group(self) -> None:
        """Create a group with a member."""
        create(
            self._plane,
            GROUPS,
            {
                "apiVersion": "scheduling.x-k8s.io/v1alpha1",
                "kind": "PodGroup",
                "metadata": {"name": self.name},
                "spec": {"minMember": 2},
            },
        )
        self._pod({"labels": {MEMBER_OF: self.name}})

    def group_of_kubernetes(self) -> None:
        """Create one of Kubernetes' own, with a Node for its member: else nothing is told."""
        spec = {"schedulingPolicy": {"gang": {"minCount": 1}}}
        create(self._plane, GROUPS_OF_KUBERNETES, {"metadata": {"name": self.name}, "spec": spec})
        self._pod({}, schedulingGroup={"podGroupName": self.name}, nodeName="any")

    def _pod(self, metadata: dict[str, Any], **spec: Any) -> None:
        body = {
            "schedulerName": "berthmaster",
            "automountServiceAccountToken": False,
            "containers": [{"name": "c", "image": "x"}],
            **spec,
        }
        create(self._plane, PODS, {"metadata": {"name": self.name, **metadata}, "spec": body})

    def profile(self) -> None:
        """Create a profile."""
        create_profile(self._plane, self.name)

    def ask_for_metrics(self) -> None:
        """Have it ask about somebody."""
        self.process.get("/metrics", token=self._reader)

    def readiness(self) -> str:
        """Give why it is ready or not."""
        return self.process.get("/readyz?verbose")[1]

    def metrics(self) -> str:
        """Give its metrics."""
        return self.process.get("/metrics", token=self._reader)[1]

    def status(self, collection: str) -> dict[str, Any]:
        """Give the status of the scenario's object."""
        found: dict[str, Any] = read(self._plane, f"{collection}/{self.name}").get("status", {})
        return found

    def events(self) -> list[dict[str, Any]]:
        """Give the Events about the scenario's objects."""
        return [
            e for e in read(self._plane, EVENTS)["items"] if e["regarding"]["name"] == self.name
        ]

    def clear(self) -> None:
        """Delete what was made, so that the next controller has nothing to tell of it."""
        at_once = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
        for collection in (PODS, GROUPS, GROUPS_OF_KUBERNETES, PROFILES):
            request(self._plane, "DELETE", f"{collection}/{self.name}", at_once)
