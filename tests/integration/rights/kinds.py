"""The kinds that the chart defines, and Kubernetes' own groups."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

import yaml

from deploy.controlplane import ControlPlane
from tests.integration.rest import create, request, wait_for

_CRDS: Final = Path(__file__).parents[3] / "charts/berthmaster/crds"
_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_NAMESPACE: Final = "namespaces/default"
BUILT_IN_GROUPS: Final = "scheduling.k8s.io/v1alpha2"
GROUPS: Final = f"/apis/scheduling.x-k8s.io/v1alpha1/{_NAMESPACE}/podgroups"
GROUPS_OF_KUBERNETES: Final = f"/apis/{BUILT_IN_GROUPS}/{_NAMESPACE}/podgroups"
PROFILES: Final = "/apis/berthmaster.dev/v1alpha1/schedulerprofiles"


def define_kinds(plane: ControlPlane) -> None:
    """Define the chart's kinds, and wait until their objects can be listed."""
    for file in sorted(_CRDS.iterdir()):
        create(plane, _DEFINITIONS, yaml.safe_load(file.read_text()))
    for path in (GROUPS, PROFILES):
        wait_for(f"{path} is served", partial(_is_served, plane, path))


def _is_served(plane: ControlPlane, path: str) -> bool:
    return request(plane, "GET", f"{path}?limit=1")[0] == 200


def create_profile(plane: ControlPlane, name: str) -> None:
    """Create a profile of a schedulerName of its own."""
    create(
        plane,
        PROFILES,
        {
            "apiVersion": "berthmaster.dev/v1alpha1",
            "kind": "SchedulerProfile",
            "metadata": {"name": name},
            "spec": {"schedulerName": name},
        },
    )
