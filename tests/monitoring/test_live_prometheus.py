"""A real Prometheus scrapes real processes; rules work, and dashboards have something to show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from math import isnan
from typing import Final

import pytest

from tests.integration.rest import wait_for
from tests.monitoring.observed_cluster import ObservedCluster, observed_cluster
from tests.monitoring.prometheus_package import program
from tests.monitoring.prometheus_process import PrometheusProcess
from tests.monitoring.runbook_commands import expressions
from tests.monitoring.shipped import (
    DASHBOARD_FILES,
    RULE_FILES,
    Query,
    everything_chosen,
    queries,
    rules,
)

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

QUERIES: Final = {query.where: query for path in DASHBOARD_FILES for query in queries(path)}
NEEDS_EVENT: Final = {
    "scheduler: Views of the cluster: Watches that ended (A)": "a watch that ends: minutes",
}
"""Queries that nothing here gives data to, and what would."""
KUBELET_MEAN: Final = (
    "node: A Pod's journey on the chosen Nodes: Started, ours and the kubelet's mean"
)
ONE_READING: Final = frozenset({f"{KUBELET_MEAN} ({letter})" for letter in "BCD"})
"""Queries whose figures come from the kubelet once a minute: here there is no second reading."""
DEADLINE_SECONDS: Final = 90.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObservedCluster]:
    program("prometheus")  # where there is none, skip before anything is started
    with observed_cluster(tmp_path_factory.mktemp("observed")) as running:
        yield running


@pytest.fixture(scope="module")
def prometheus(
    cluster: ObservedCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PrometheusProcess]:
    folder = tmp_path_factory.mktemp("prometheus")
    with PrometheusProcess(folder, cluster.scrape_jobs(), RULE_FILES) as running:
        wait_for("all targets are scraped", lambda: len(running.query("up == 1")) == 5)
        cluster.live()
        yield running


def has_data(prometheus: PrometheusProcess, query: Query) -> bool:
    if query.where in ONE_READING:
        return bool(prometheus.query(everything_chosen(query)))
    return has_figures(prometheus, everything_chosen(query))


def has_figures(prometheus: PrometheusProcess, expression: str) -> bool:
    found = prometheus.query(expression)
    return any(not isnan(float(series["value"][1])) for series in found)


def test_all_targets_are_up(prometheus: PrometheusProcess) -> None:
    targets = prometheus.get("/api/v1/targets")["activeTargets"]
    jobs = [target["labels"]["job"] for target in targets]
    assert Counter(jobs) == {
        "berthmaster-agent": 2,
        "berthmaster-controller": 1,
        "berthmaster-scheduler": 2,
    }
    assert {target["health"] for target in targets} == {"up"}


def test_every_query_of_the_dashboards_returns_data(
    cluster: ObservedCluster, prometheus: PrometheusProcess
) -> None:
    missing = {where for where in QUERIES if where not in NEEDS_EVENT}

    def all_answered() -> bool:
        cluster.live()
        missing.difference_update(
            [where for where in missing if has_data(prometheus, QUERIES[where])]
        )
        return not missing

    try:
        wait_for("data for every query", all_answered, timeout_seconds=DEADLINE_SECONDS)
    except AssertionError:
        assert sorted(missing) == []
        raise


def test_expressions_of_the_runbooks_return_data(prometheus: PrometheusProcess) -> None:
    for each in expressions():
        wait_for(f"{each.page}: {each.text}", partial(has_figures, prometheus, each.text))


def test_those_without_data_exist_and_are_understood(prometheus: PrometheusProcess) -> None:
    assert NEEDS_EVENT.keys() <= QUERIES.keys()
    for where in NEEDS_EVENT:
        prometheus.query(everything_chosen(QUERIES[where]))


def test_all_rules_are_evaluated(prometheus: PrometheusProcess) -> None:
    expected = sum(len(rules(path)) for path in RULE_FILES)

    def evaluated() -> list[dict[str, str]]:
        groups = prometheus.get("/api/v1/rules")["groups"]
        found = [rule for group in groups for rule in group["rules"]]
        return [rule for rule in found if rule["health"] != "unknown"]

    wait_for("every rule is evaluated", lambda: len(evaluated()) == expected)
    assert [rule for rule in evaluated() if rule["health"] != "ok"] == []


def test_only_the_leaders_queue_counts(prometheus: PrometheusProcess) -> None:
    """A standby shows Pods as waiting that the leader has long judged."""
    waiting = 'scheduler_pending_pods{job="berthmaster-scheduler", queue="active"}'
    standby = 'leader_election_master_status{job="berthmaster-scheduler"} == 0'
    stat = QUERIES["scheduler: Is it well?: Pods waiting to be decided (A)"]
    wait_for("the standby's copy", lambda: prometheus.query(f"{waiting} > 0"))
    wait_for(
        "the leader has judged all",
        lambda: prometheus.query(everything_chosen(stat))[0]["value"][1] == "0",
    )
    assert prometheus.query(f"{waiting} > 0 and on (instance) {standby}")


def test_who_has_no_token_reads_nothing(cluster: ObservedCluster) -> None:
    for process in (*cluster.schedulers, cluster.controller, *cluster.agents.values()):
        assert process.get("/metrics")[0] == 401
