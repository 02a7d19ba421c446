"""What devices take of shared counters."""

from typing import Any

from scheduler_svc.core.devices.allocated import AllocatedDevices
from scheduler_svc.core.devices.counters import CounterUse
from scheduler_svc.core.devices.pools import Pool, PoolView, view_of
from tests.device_builders import allocation, device, make_slice, published, result
from tests.unit.scheduler_svc.core.devices.searching import held

COUNTERS = [{"name": "cs", "counters": {"memory": {"value": "80"}, "cores": {"value": "2"}}}]


def pool(*amounts: int) -> PoolView:
    devices: list[dict[str, Any]] = [
        device(
            f"d{index}",
            consumesCounters=[{"counterSet": "cs", "counters": {"memory": {"value": str(amount)}}}],
        )
        for index, amount in enumerate(amounts)
    ]
    ready = published(
        make_slice("a", devices, pool="p", count=2),
        make_slice("b", pool="p", count=2, sharedCounters=COUNTERS),
    )
    view = view_of(Pool(("gpu.example", "p"), 0, tuple(ready)), [(one, None) for one in ready])
    assert view is not None
    return view


def test_what_falls_short_is_not_taken() -> None:
    view = pool(50, 40, 30)
    use = CounterUse(AllocatedDevices())
    first, second, third = view.devices
    assert use.add(first, view)
    assert not use.add(second, view)
    assert use.add(third, view)
    use.remove(third, view)
    use.remove(first, view)
    assert use.add(second, view)


def test_a_pool_that_is_overdrawn_gives_nothing() -> None:
    view = pool(90, 0)
    allocated = AllocatedDevices()
    allocated.claim_changed(None, held("h", allocation(result("d0", "p"))))
    assert not CounterUse(allocated, follows_quirk=False).add(view.devices[1], view)
