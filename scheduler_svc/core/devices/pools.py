"""Pools of devices as Nodes see them: complete, valid, in the order of allocation.

A driver publishes a pool as slices of one generation; until all of the newest are there
nothing is given from it. Nodes that see the same slices share one `PoolView`.

Source: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/
pools_incubating.go (`GatherPools`), v1.36.3.
"""

from collections.abc import Iterable, Sequence

from scheduler_svc.core.devices.published import DeviceId, PoolId, PublishedDevice, PublishedSlice

# By counter set and counter, nano-units.
CounterSets = dict[str, dict[str, int]]
# A slice of which a Node sees all devices (None), or some, by position.
VisibleSlice = tuple[PublishedSlice, frozenset[int] | None]


class Pool:
    """All slices of a pool, of every generation, by name."""

    __slots__ = ("code", "id", "slices")

    def __init__(self, pool_id: PoolId, code: int, slices: tuple[PublishedSlice, ...]) -> None:
        self.id, self.code, self.slices = pool_id, code, slices


class PoolView:
    """What a Node sees of a pool.

    `devices` are those of the slices that it sees, of which it may not use the `hidden` ones;
    of an `is_incomplete` or `is_invalid` pool there are none. All slices of the generation
    count for the counters: `counting` are their devices that consume some.
    """

    __slots__ = (
        "code",
        "counters",
        "counting",
        "devices",
        "has_binding_conditions",
        "hidden",
        "id",
        "is_incomplete",
        "is_invalid",
    )

    def __init__(self, pool: Pool) -> None:
        self.id, self.code = pool.id, pool.code
        self.devices: tuple[PublishedDevice, ...] = ()
        self.hidden: frozenset[DeviceId] = frozenset()
        self.counting: tuple[PublishedDevice, ...] = ()
        self.counters: CounterSets = {}
        self.is_incomplete = self.is_invalid = self.has_binding_conditions = False

    @property
    def name(self) -> str:
        """Driver and pool, as texts have them."""
        return "/".join(self.id)

    @property
    def sort_key(self) -> tuple[bool, PoolId]:
        """Sort in the order of allocation: what takes time to bind comes last."""
        return (self.has_binding_conditions, self.id)


def view_of(pool: Pool, visible: Sequence[VisibleSlice]) -> PoolView | None:
    """Give what a Node that sees these slices sees of the pool; None for one being replaced."""
    generation = max(seen.spec.pool.generation for seen, _ in visible)
    relevant = [entry for entry in visible if entry[0].spec.pool.generation == generation]
    count = relevant[0][0].spec.pool.resource_slice_count
    view = PoolView(pool)
    rest: list[PublishedSlice] = []
    if len(relevant) != count:
        if any(known.spec.pool.generation > generation for known in pool.slices):
            return None
        everything = [s for s in pool.slices if s.spec.pool.generation == generation]
        if len(everything) != count:
            view.is_incomplete = True
            return view
        names = {seen.name for seen, _ in relevant}
        rest = [known for known in everything if known.name not in names]
    _fill(view, sorted(relevant, key=lambda entry: entry[0].name), rest)
    return view


def _fill(view: PoolView, relevant: list[VisibleSlice], rest: list[PublishedSlice]) -> None:
    offering = [(seen, mask) for seen, mask in relevant if not seen.spec.shared_counters]
    # Of slices that hold counters no device is offered, or counts.
    offered = tuple(device for seen, _ in offering for device in seen.devices)
    elsewhere = [device for known in rest for device in known.devices]
    counters = _counter_sets(seen for seen, _ in relevant)
    consuming = [d for seen, _ in relevant for d in seen.devices if d.device.consumes_counters]
    counting = [d for d in elsewhere if d.device.consumes_counters]
    is_valid = counters is not None and all(_is_met(d, counters) for d in (*consuming, *counting))
    if counters is None or not is_valid or len({d.id for d in offered}) != len(offered):
        view.is_invalid = True
        return
    view.counters = counters
    view.devices = offered
    view.hidden = frozenset(
        device.id
        for seen, mask in offering
        if mask is not None
        for index, device in enumerate(seen.devices)
        if index not in mask
    )
    view.counting = (*(d for d in offered if d.device.consumes_counters), *counting)
    view.has_binding_conditions = any(d.device.binding_conditions for d in offered)


def _is_met(device: PublishedDevice, counters: CounterSets) -> bool:
    """Whether the pool has the counters that a device consumes."""
    return all(
        taken.counter_set in counters
        and taken.counters.keys() <= counters[taken.counter_set].keys()
        for taken in device.device.consumes_counters
    )


def _counter_sets(slices: Iterable[PublishedSlice]) -> CounterSets | None:
    """Collect the counters; None if two sets have one name."""
    found: CounterSets = {}
    for seen in slices:
        for name, counters in seen.counters():
            if name in found:
                return None
            found[name] = counters
    return found
