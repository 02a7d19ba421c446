"""Pods counted in the columns alone: when that will do, and that it leaves nothing behind."""

import pytest

from scheduler_svc.core.cache import describe
from scheduler_svc.core.columns import CPU_ROW
from scheduler_svc.core.framework.column_counting import (
    columns_suffice,
    count_in_columns,
    is_simple,
)
from scheduler_svc.core.framework.interface import FilterPlugin, Scope
from scheduler_svc.core.objects import ContainerPort
from scheduler_svc.core.plugins.node_name import NodeName
from scheduler_svc.core.plugins.node_ports import NodePorts
from scheduler_svc.core.plugins.node_resources_fit import NodeResourcesFit
from tests.builders import make_cache, make_node_info, make_pod_info
from tests.scripted_plugins import Filtering


class Reading(Filtering):
    name = "Reading"
    filter_scope = Scope.USAGE


class Around(Filtering):
    name = "Around"
    filter_scope = Scope.CLUSTER


@pytest.mark.parametrize(
    ("plugins", "suffices"),
    [
        ([], True),
        ([NodeName(), NodePorts(), NodeResourcesFit()], True),
        ([NodeResourcesFit(), Reading()], False),
        ([NodeResourcesFit(), Around()], False),
    ],
)
def test_columns_suffice_if_nobody_looks_at_more(
    plugins: list[FilterPlugin], suffices: bool
) -> None:
    assert columns_suffice([(plugin, None) for plugin in plugins]) is suffices


def test_pods_with_host_ports_are_not_simple() -> None:
    assert is_simple(make_pod_info())
    assert not is_simple(make_pod_info(ports=[ContainerPort(host_port=80)]))


@pytest.mark.parametrize("sign", [1, -1])
def test_every_node_gets_its_pods_and_all_is_undone(sign: int) -> None:
    cache = make_cache([make_node_info(f"n{row}") for row in range(3)])
    before = describe(cache.columns)
    one, two = make_pod_info("a", requests={"cpu": 1}), make_pod_info("b", requests={"cpu": 2})
    port = make_pod_info("c", requests={"cpu": 3}, ports=[ContainerPort(host_port=80)])
    if sign < 0:
        cache.cluster.count(port, 2, 1)
        before = describe(cache.columns)
    with cache.speculation() as speculation:
        placed = [(0, [one, two]), (1, []), (2, [port])]
        count_in_columns(speculation, cache.columns, placed, sign)
        free = cache.columns.free[CPU_ROW, :3].tolist()
        assert free == ([1000, 4000, 1000] if sign > 0 else [7000, 4000, 4000])
        # Only what is not simple is told to those who ask which Pods there are.
        assert [pod.name for pod, _, _ in cache.cluster.speculated] == ["c"]
    assert describe(cache.columns) == before


def test_resources_that_nobody_had_may_come_meanwhile() -> None:
    cache = make_cache([make_node_info("n")])
    plain = make_pod_info("a", requests={"cpu": 1})
    new = make_pod_info("b", requests={"cpu": 1, "example.com/unheard-of": 2})
    newer = make_pod_info("c", requests={"example.com/never-seen": 1})
    with cache.speculation() as speculation:
        count_in_columns(speculation, cache.columns, [(0, [plain])], 1)
        count_in_columns(speculation, cache.columns, [(0, [plain, new])], 1)
        speculation.add(newer, 0)
        assert cache.columns.free[CPU_ROW, 0] == 1000
        row = cache.columns.resource_row("example.com/unheard-of")
        assert cache.columns.free[row, 0] == -2
    assert cache.columns.free[CPU_ROW, 0] == 4000
    assert cache.columns.free[row, 0] == 0
    cache.validate()
