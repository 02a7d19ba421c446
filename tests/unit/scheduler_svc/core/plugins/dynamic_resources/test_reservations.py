"""What is remembered of Pods that have devices set aside."""

import pytest

from scheduler_svc.core.devices.allocated import AllocatedDevices
from scheduler_svc.core.devices.pod_claims import PodClaims
from scheduler_svc.core.devices.writes import ReleaseClaims
from scheduler_svc.core.plugins.dynamic_resources import reservations as module
from scheduler_svc.core.plugins.dynamic_resources.reservations import (
    Reservation,
    Reservations,
    is_awaited,
)
from tests.device_builders import allocation, make_claim, make_claiming_pod, result, used_by

POD = make_claiming_pod("p", "c")


def shared() -> Reservation:
    """Give the reservation of a claim that the Pod already uses, and of one that it does not."""
    status = {"allocation": allocation(result("d0")), "reservedFor": used_by("p")}
    other = {"allocation": allocation(result("d1"))}
    claims = (make_claim("mine", status=status), make_claim("free", status=other))
    return Reservation(PodClaims(claims), {})


def test_what_was_written_can_be_taken_back_once() -> None:
    reservations = Reservations()
    reservations.add("uid-p", shared(), AllocatedDevices())
    assert reservations.release("uid-p") is None
    work = reservations.write(POD, "n1", shared())
    assert [write.name for write in work.writes] == ["free"]
    assert work.announcement == ""
    assert reservations.release("uid-p") == ReleaseClaims((("free", "uid-free"),))
    assert reservations.release("uid-p") is None


def test_after_a_release_everything_is_written_anew() -> None:
    """The watch may still show the Pod as a user of what it has just been released from."""
    reservations = Reservations()
    reservations.write(POD, "n1", shared())
    reservations.release("uid-p")
    assert [w.name for w in reservations.write(POD, "n1", shared()).writes] == ["mine", "free"]
    assert [w.name for w in reservations.write(POD, "n1", shared()).writes] == ["free"]


def test_nothing_to_write_is_nothing_to_take_back() -> None:
    reservations = Reservations()
    status = {"allocation": allocation(result("d0")), "reservedFor": used_by("p")}
    mine = Reservation(PodClaims((make_claim("mine", status=status),)), {})
    assert reservations.write(POD, "n1", mine).writes == ()
    assert reservations.release("uid-p") is None


def test_memories_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_REMEMBERED_COUNT", 2)
    reservations, allocated = Reservations(), AllocatedDevices()
    for uid in ("a", "b", "c"):
        reservations.add(uid, shared(), allocated)
        reservations.revert(uid, allocated)
    assert [reservations.was_reverted(uid) for uid in ("a", "b", "c")] == [False, True, True]
    assert reservations.get("a") is None


def test_devices_with_conditions_are_awaited() -> None:
    assert not is_awaited(shared())
    unallocated = Reservation(PodClaims((make_claim("c"),)), {})
    assert not is_awaited(unallocated)
    slow = {"allocation": allocation(result("d0", bindingConditions=["ready"]))}
    assert is_awaited(Reservation(PodClaims((make_claim("c", status=slow),)), {}))
