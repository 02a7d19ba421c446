"""Which extenders have a say about a Pod, and about how many Nodes they are asked."""

import pytest

from scheduler_svc.core.extenders import Extender, Extenders
from tests.builders import GPU, make_container, make_pod_info


@pytest.mark.parametrize(
    ("managed", "is_interested"),
    [(frozenset[str](), True), (frozenset({GPU}), True), (frozenset({"example.com/b"}), False)],
)
def test_a_pod_is_the_matter_of_who_manages_what_it_asks_for(
    managed: frozenset[str], is_interested: bool
) -> None:
    pod = make_pod_info(requests={GPU: 1})
    assert Extender(0, managed_resources=managed).is_interested_in(pod) is is_interested


def test_init_containers_ask_for_resources_too_and_a_request_of_none_is_one() -> None:
    extender = Extender(0, managed_resources=frozenset({GPU}))
    init = make_pod_info(init_containers=[make_container("i", {GPU: 1})])
    nothing = make_pod_info(requests={GPU: 0})
    assert extender.is_interested_in(init)
    assert extender.is_interested_in(nothing)
    assert not extender.is_interested_in(make_pod_info())


def test_extenders_are_told_apart_by_what_they_do() -> None:
    first = Extender(0, filters=True, managed_resources=frozenset({GPU}))
    second = Extender(1, prioritizes=True, preempts=True)
    third = Extender(2, preempts=True, binds=True)
    extenders = Extenders([first, second, third])
    plain, gpu = make_pod_info("a"), make_pod_info("b", requests={GPU: 1})
    assert extenders.deciding(plain) == [second]
    assert extenders.deciding(gpu) == [first, second]
    assert extenders.preempting(plain) == (second, third)
    assert extenders.binder(plain) is third
    assert Extenders().binder(plain) is None


@pytest.mark.parametrize(
    ("node_count", "percentage", "expected"),
    [
        (99, 0, 99),
        (99, 30, 99),
        (100, 0, 100),
        (1000, 0, 420),
        (5000, 0, 500),
        (15000, 0, 750),
        (5000, 70, 3500),
        (1000, 5, 100),
    ],
)
def test_extenders_are_asked_about_as_many_nodes_as_kube_scheduler_looks_at(
    node_count: int, percentage: int, expected: int
) -> None:
    extenders = Extenders(percentages={"berthmaster": percentage})
    assert extenders.wanted_count("berthmaster", node_count) == expected
