"""For each right to write, the least that needs it, and how to see that it was used."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from tests.integration.rest import create, read, request, wait_for
from tests.integration.rights.case import CLAIMS, HIGH, PODS, VOLUME_CLAIMS, VOLUMES, Case
from tests.integration.rights.kinds import PROFILES


class Scenario(NamedTuple):
    """What is done, and whether it has had its effect."""

    act: Callable[[Case], None]
    works: Callable[[Case], bool]


def place(case: Case) -> None:
    """A Pod that fits."""
    case.node()
    case.pod()


def place_with_lost_answer(case: Case) -> None:
    """A Pod whose Binding is carried out, and nobody hears of it."""
    case.lose_answer_to_binding()
    place(case)


def wait_for_room(case: Case) -> None:
    """A Pod that is too large."""
    case.node(cpu="1")
    case.pod(cpu="6")


def wait_for_room_again(case: Case) -> None:
    """A Pod that is tried twice, with the same outcome."""
    case.node(cpu="1")
    case.pod("neighbour", cpu="800m", nodeName=case.name)
    case.pod(cpu="500m")
    # While it still waits to be written, the second would be counted in the first.
    wait_for("its Event is written", lambda: bool(case.events()))
    # A Node that has more than before may help, and does not.
    case.resize_node("1100m")


def preempt(case: Case) -> None:
    """A Pod for which another has to go."""
    case.node(cpu="1")
    case.pod("victim", cpu="800m", nodeName=case.name)
    case.pod("urgent", cpu="800m", priorityClassName=HIGH)


def bind_volume(case: Case) -> None:
    """A Pod whose claim is kept a volume that is there."""
    case.node()
    case.storage_class("kubernetes.io/no-provisioner")
    case.volume()
    case.pod_with_volume()


def provision_volume(case: Case) -> None:
    """A Pod for whose claim a volume is to be made, on the Node that was chosen."""
    case.node()
    case.storage_class("p.example.com")
    case.pod_with_volume()


def claim_device(case: Case) -> None:
    """A Pod with a claim of a device."""
    case.node()
    case.device()
    case.pod_with_claim()


def ask_for_extended_resource(case: Case) -> None:
    """A Pod for which a claim is made."""
    case.node()
    case.device()
    case.pod_with_extended_resource()


def leave_a_claim_behind(case: Case) -> None:
    """A Pod for which a claim was made in an earlier attempt that came to nothing."""
    case.node()
    case.device()
    pod = case.pod_with_extended_resource(schedulingGates=[{"name": "example.com/gate"}])
    metadata = {
        "name": case.name,
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        "ownerReferences": [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": pod["metadata"]["name"],
                "uid": pod["metadata"]["uid"],
                "controller": True,
            }
        ],
    }
    exactly = {"deviceClassName": case.name}
    requests = [{"name": "container-0-request-0", "exactly": exactly}]
    create(case.plane, CLAIMS, {"metadata": metadata, "spec": {"devices": {"requests": requests}}})
    # A claim that it hears of after the Pod would be taken for another's.
    wait_for("the scheduler knows the claim", lambda: case.knows("resourceclaims", CLAIMS))
    pod["spec"]["schedulingGates"] = []
    status, answer = request(case.plane, "PUT", f"{PODS}/{pod['metadata']['name']}", pod)
    assert status == 200, answer


def serve_a_profile(case: Case) -> None:
    """A profile that is made while the scheduler runs."""
    case.profile()


def ask_for_metrics(case: Case) -> None:
    """Somebody who is to be asked about."""
    case.ask("GET", "/metrics", token=case.reader)


def ask_what_is_pending(case: Case) -> None:
    """`berthmaster explain pending`."""
    case.ask("GET", "/explain/pending", token=case.own_token)


def ask_about_a_new_pod(case: Case) -> None:
    """`berthmaster explain pod -f`."""
    spec = {"containers": [{"name": "c", "image": "x"}], "schedulerName": "berthmaster"}
    manifest = {"metadata": {"name": "new", "namespace": "default"}, "spec": spec}
    body = json.dumps({"apiVersion": "v1", "kind": "Pod", **manifest})
    case.ask("POST", "/explain/pods", body, token=case.own_token)


def _is_evicted(case: Case) -> bool:
    return case.has_condition("DisruptionTarget", "victim") and (
        "deletionTimestamp" in case.read_pod("victim")["metadata"]
    )


def _is_volume_kept(case: Case) -> bool:
    return bool(read(case.plane, f"{VOLUMES}/{case.name}")["spec"].get("claimRef"))


def _is_node_selected(case: Case) -> bool:
    claim = read(case.plane, f"{VOLUME_CLAIMS}/{case.name}")
    annotations: dict[str, str] = claim["metadata"].get("annotations", {})
    return annotations.get("volume.kubernetes.io/selected-node") == case.name


def _is_claim_gone(case: Case) -> bool:
    return request(case.plane, "GET", f"{CLAIMS}/{case.name}")[0] == 404


def _is_observed(case: Case) -> bool:
    return bool(read(case.plane, f"{PROFILES}/{case.name}").get("status", {}).get("observedBy"))


def _is_counted_twice(case: Case) -> bool:
    return any((event.get("series") or {}).get("count", 0) >= 2 for event in case.events())


def _is_answered(case: Case) -> bool:
    return [status for status, _ in case.answers] == [200]


def _is_bound(case: Case) -> bool:
    return case.is_bound()


_DEVICE: Final = Scenario(claim_device, _is_bound)
_METRICS: Final = Scenario(ask_for_metrics, _is_answered)

SCENARIOS: Final[Mapping[str, Scenario]] = {
    "get pods": Scenario(place_with_lost_answer, _is_bound),
    "create pods/binding": Scenario(place, _is_bound),
    "patch pods/status": Scenario(wait_for_room, lambda case: case.has_condition("PodScheduled")),
    "delete pods": Scenario(preempt, _is_evicted),
    "patch persistentvolumes": Scenario(bind_volume, _is_volume_kept),
    "patch persistentvolumeclaims": Scenario(provision_volume, _is_node_selected),
    "create resourceclaims": Scenario(ask_for_extended_resource, _is_bound),
    "patch resourceclaims": _DEVICE,
    "patch resourceclaims/status": _DEVICE,
    "patch resourceclaims/binding": _DEVICE,
    "delete resourceclaims": Scenario(leave_a_claim_behind, _is_claim_gone),
    "patch schedulerprofiles/status": Scenario(serve_a_profile, _is_observed),
    "create events": Scenario(place, lambda case: bool(case.events())),
    "create tokenreviews": _METRICS,
    "create subjectaccessreviews": _METRICS,
    "get /explain/*": Scenario(ask_what_is_pending, _is_answered),
    "post /explain/*": Scenario(ask_about_a_new_pod, _is_answered),
    # The last: another Node, and the outcome's text would not be the same.
    "patch events": Scenario(wait_for_room_again, _is_counted_twice),
}
"""By the right, as `Right` writes it. Rights to list and watch need none: the start does."""
