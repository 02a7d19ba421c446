"""What claims ask for, and points for what they get."""

from scheduler_svc.core.device_objects import DeviceClass
from scheduler_svc.core.devices.demands import ClaimDemand, missing_class
from tests.device_builders import claim_spec, first_available, make_class, request, wanted

CLASSES = {"gpu": make_class("gpu", "true")}


def class_of(name: str) -> DeviceClass | None:
    return CLASSES.get(name)


def test_requests_and_their_alternatives() -> None:
    spec = claim_spec(
        request("a", count=2, expression="1 == 1", adminAccess=True),
        first_available("b", wanted(name="large"), wanted(name="small", deviceClassName="none")),
    )
    demand = ClaimDemand(spec, class_of)
    (first,), (large, small) = demand.requests
    assert (first.name, first.full_name, first.count, first.is_admin) == ("a", "a", 2, True)
    assert first.class_expressions == ("true",)
    assert first.expressions == ("1 == 1",)
    assert first.capacity == {}
    assert (large.name, large.full_name) == ("large", "b/large")
    assert (small.device_class, small.class_expressions) == (None, ())
    assert demand.is_prioritized
    assert not ClaimDemand(claim_spec(), class_of).is_prioritized


def test_capacity_and_selectors_of_no_known_kind() -> None:
    spec = claim_spec(request(capacity={"requests": {"memory": "1Gi"}}, selectors=[{}]))
    ((only,),) = ClaimDemand(spec, class_of).requests
    assert only.capacity == {"memory": "1Gi"}
    assert only.expressions == (None,)


def test_earlier_alternatives_get_more_points() -> None:
    alternatives = [wanted(name=name) for name in ("x", "y", "z")]
    spec = claim_spec(request("a"), first_available("b", *alternatives))
    demand = ClaimDemand(spec, class_of)
    assert [demand.score({name}) for name in ("b/x", "b/y", "b/z", "a")] == [8, 7, 6, 0]


def test_a_class_that_does_not_exist() -> None:
    assert missing_class(claim_spec(), class_of) is None
    assert missing_class(claim_spec(request("r", deviceClassName="x")), class_of) == ("r", "x")
    spec = claim_spec(first_available("r", wanted(name="s"), wanted(name="t", deviceClassName="x")))
    assert missing_class(spec, class_of) == ("r/t", "x")
    assert missing_class(claim_spec({"name": "nothing"}), class_of) is None
