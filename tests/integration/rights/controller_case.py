"""What a controller is given to tell of: groups by either API, and profiles."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Final

import yaml

from deploy.controlplane import ControlPlane
from tests.integration.rest import create, read, request, wait_for
from tests.integration.rights.case import DEFAULT, EVENTS, PODS
from tests.integration.scheduler_process import SchedulerProcess

_CRDS: Final = Path(__file__).parents[3] / "charts/berthmaster/crds"
_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_NAMESPACE: Final = DEFAULT.removeprefix("/api/v1/")
BUILT_IN_GROUPS: Final = "scheduling.k8s.io/v1alpha2"
GROUPS: Final = f"/apis/scheduling.x-k8s.io/v1alpha1/{_NAMESPACE}/podgroups"
GROUPS_OF_KUBERNETES: Final = f"/apis/{BUILT_IN_GROUPS}/{_NAMESPACE}/podgroups"
PROFILES: Final = "/apis/berthmaster.dev/v1alpha1/schedulerprofiles"
MEMBER_OF: Final = "scheduling.x-k8s.io/pod-group"


def define_kinds(plane: ControlPlane) -> None:
    """Define the chart's kinds, and wait until their objects can be listed."""
    for file in sorted(_CRDS.iterdir()):
        create(plane, _DEFINITIONS, yaml.safe_load(file.read_text()))
    for path in (GROUPS, PROFILES):
        wait_for(f"{path} is served", partial(_is_served, plane, path))


def _is_served(plane: ControlPlane, path: str) -> bool:
    return request(plane, "GET", f"{path}?limit=1")[0] == 200


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
        create(
            self._plane,
            PROFILES,
            {
                "apiVersion": "berthmaster.dev/v1alpha1",
                "kind": "SchedulerProfile",
                "metadata": {"name": self.name},
                "spec": {"schedulerName": self.name},
            },
        )

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
