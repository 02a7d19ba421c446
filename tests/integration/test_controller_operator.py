"""kopf with our registry and settings, by its own runner: it tells of objects and touches none."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deploy.controlplane import ControlPlane
from kubeio.credentials import Credentials
from scheduler_svc.controller.custom_resources import (
    POD_GROUPS,
    SCHEDULER_PROFILES,
    CustomResource,
)
from scheduler_svc.controller.operator.framework import kopf
from scheduler_svc.controller.operator.login import log_in
from scheduler_svc.controller.operator.registry import make_registry
from scheduler_svc.controller.operator.settings import operator_settings
from scheduler_svc.controller.operator.watches import Watches
from tests.integration.controller_objects import (
    GROUPS,
    PODS,
    PROFILES,
    clear,
    create_group,
    create_member,
    define_all,
    delete,
    set_status,
    undefine,
    versions,
)
from tests.integration.rest import create, read, wait_for

pytestmark = pytest.mark.integration

STOP_SECONDS = 5.0


class Listener:
    """What kopf has told, in its order; taken in from its thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._told: list[tuple[str, str, bool, str]] = []

    def tell(self, resource: CustomResource, is_gone: bool, body: Mapping[str, Any]) -> None:
        metadata = body["metadata"]
        with self._lock:
            self._told.append(
                (resource.kind, metadata["name"], is_gone, metadata["resourceVersion"])
            )

    def has_told(self, name: str, version: str) -> bool:
        """Whether of an object just this version was told."""
        return self.of(name) == [(False, version)]

    def of(self, name: str) -> list[tuple[bool, str]]:
        """Give what was told of an object: whether it is gone, and its version."""
        with self._lock:
            return [(is_gone, version) for _, told, is_gone, version in self._told if told == name]


@pytest.fixture
def plane(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Give a control plane with our definitions; they go again."""
    define_all(control_plane)
    yield control_plane
    clear(control_plane, PODS, GROUPS, PROFILES)
    undefine(control_plane)


def runner(kubeconfig: Path, listener: Listener) -> Any:
    """Give kopf's runner of our operator."""
    from kopf.testing import KopfRunner  # noqa: PLC0415 - after `framework` has loaded kopf

    async def login() -> kopf.AiohttpSession:
        credentials = await Credentials.load(str(kubeconfig))
        return log_in(credentials, Watches(()), user_agent="berthmaster/test")

    return KopfRunner(
        ["run", "--all-namespaces", "--standalone"],
        registry=make_registry((POD_GROUPS, SCHEDULER_PROFILES), listener.tell, login),
        settings=operator_settings(),
        timeout=4 * STOP_SECONDS,
    )


def test_objects_are_told_of_and_not_touched(plane: ControlPlane) -> None:
    create_group(plane, "before", 1)
    create_member(plane, "before-0", "before")
    create(
        plane,
        PROFILES,
        {
            "apiVersion": "berthmaster.dev/v1alpha1",
            "kind": "SchedulerProfile",
            "metadata": {"name": "gpu"},
            "spec": {"schedulerName": "gpu"},
        },
    )
    before = versions(plane, GROUPS, PROFILES, PODS)
    listener = Listener()
    with runner(plane.kubeconfig_path, listener) as running:
        for path in (f"{GROUPS}/before", f"{PROFILES}/gpu"):
            name = path.rpartition("/")[2]
            wait_for(f"{name} is listed", partial(listener.has_told, name, before[path]))
        create_group(plane, "during", 1)
        wait_for("another is told of", lambda: len(listener.of("during")) == 1)
        set_status(plane, f"{GROUPS}/during", {"phase": "Pending"})
        wait_for("its change is told of", lambda: len(listener.of("during")) == 2)
        assert versions(plane, PROFILES, PODS).items() <= before.items()
        assert versions(plane, GROUPS)[f"{GROUPS}/before"] == before[f"{GROUPS}/before"]
        metadata = read(plane, f"{GROUPS}/during")["metadata"]
        assert metadata.keys().isdisjoint({"annotations", "finalizers"})
        delete(plane, f"{GROUPS}/during")
        wait_for(
            "its end is told of", lambda: [gone for gone, _ in listener.of("during")][-1:] == [True]
        )
    assert running.exit_code == 0
    assert running.exception is None
