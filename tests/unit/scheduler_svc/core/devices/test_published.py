"""Devices as they are allocated: amounts in nano-units, taints that count."""

from tests.device_builders import device, make_slice, published

GI = 2**30 * 10**9


def test_a_device_is_made_ready() -> None:
    consumed = [{"counterSet": "cs", "counters": {"memory": {"value": "10Gi"}}}]
    taints = [
        {"key": "a", "effect": "NoSchedule"},
        {"key": "b", "effect": "NoExecute"},
        {"key": "c", "effect": "None"},
    ]
    one = device(
        "d0", memory="40Gi", taints=taints, consumesCounters=consumed, allowMultipleAllocations=True
    )
    (ready,) = published(make_slice("s", [one], pool="p", nodeName="n1"))
    (found,) = ready.devices
    assert found.id == ("gpu.example", "p", "d0")
    assert [taint.key for taint in found.taints] == ["a", "b"]
    assert found.consumption == (("cs", "memory", 10 * GI),)
    assert found.capacity["memory"].amount == 40 * GI
    assert found.capacity["memory"].text == "40Gi"
    assert found.is_shared
    assert found.traits.variables["driver"] == "gpu.example"


def test_counters_concern_every_node() -> None:
    sets = [{"name": "cs", "counters": {"memory": {"value": "1Gi"}}}]
    own, counters, everybody = published(
        make_slice("own", nodeName="n1"),
        make_slice("counters", nodeName="n1", sharedCounters=sets),
        make_slice("all", allNodes=True),
    )
    assert [own.is_local, counters.is_local, everybody.is_local] == [True, False, False]
    assert list(counters.counters()) == [("cs", {"memory": GI})]
