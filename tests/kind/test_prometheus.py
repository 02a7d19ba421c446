"""A real Prometheus in the cluster finds and scrapes what runs there, and has nothing critical."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from itertools import count
from math import isnan
from typing import Any, Final

import pytest

from tests.kind.cluster import KindCluster
from tests.kind.objects import container, deployment, pod, requesting
from tests.kind.pods import path_of_pods, wait_pod_running, wait_running, wait_unschedulable
from tests.kind.prometheus import Prometheus, prometheus
from tests.kind.test_pod_groups import MEMBER_OF, group
from tests.kind.waiting import wait_for
from tests.monitoring.shipped import (
    DASHBOARD_FILES,
    RULE_FILES,
    Query,
    everything_chosen,
    queries,
    rules,
)

SCHEDULERS = 2
CONTROLLERS = 1
AGENTS = 3
QUERIES: Final = [query for path in DASHBOARD_FILES for query in queries(path)]
QUIET: Final = frozenset(
    {
        "controller: API server and process: Calls that failed, by code",
        "node: Against the kubelet: How long they have differed",
        "node: Against the kubelet: Now, by Node",
        "node: Against the kubelet: Pods that differ, by kind",
        "node: Sources of Pods: Manifests refused",
        "node: The agent itself: Calls that failed, by code",
        "scheduler: API server: Events and conditions not written",
        "scheduler: Bindings: Pods that kubelets refused",
        "scheduler: Bindings: Volumes and devices",
        "scheduler: Bindings: Wait for volumes, devices and Permit, 99 %",
        "scheduler: Extenders and plugins: Extenders, 99 %",
        "scheduler: Extenders and plugins: Extenders: errors",
        "scheduler: Extenders and plugins: Plugins of your own, 99 %",
        "scheduler: Extenders and plugins: Plugins of your own: failures and slow calls",
        "scheduler: Preemption: Evictions carried out",
        "scheduler: Preemption: Time of evictions, 99 %",
        "scheduler: Preemption: Victims",
    }
)
"""Panels of what fails, or of what nobody here asks for; tests/monitoring has figures for them."""
FIGURES_SECONDS: Final = 120.0


@pytest.fixture(scope="module")
def scraping(
    cluster: KindCluster, kind_cluster: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("prometheus")
    with prometheus(cluster, folder, kind_cluster.load_docker_image) as running:
        yield running


def test_documented_job_finds_all_and_may_read(scraping: Prometheus) -> None:
    def targets() -> list[dict[str, Any]] | None:
        found: list[dict[str, Any]] = scraping.get("targets?state=active")["activeTargets"]
        is_done = all(one["health"] != "unknown" for one in found)
        return found if is_done and len(found) >= SCHEDULERS + CONTROLLERS + AGENTS else None

    found = wait_for("all targets have been scraped", targets)
    assert {one["health"] for one in found} == {"up"}, [one["lastError"] for one in found]
    jobs = Counter(one["labels"]["job"] for one in found)
    assert jobs == {
        "berthmaster-scheduler": SCHEDULERS,
        "berthmaster-controller": CONTROLLERS,
        "berthmaster-agent": AGENTS,
    }
    assert {one["labels"]["release"] for one in found} == {"berthmaster"}


def test_shipped_rules_are_evaluated_and_fire_not(scraping: Prometheus) -> None:
    expected = sum(len(rules(path)) for path in RULE_FILES)

    def evaluated() -> list[dict[str, Any]] | None:
        groups = scraping.get("rules")["groups"]
        found = [rule for group in groups for rule in group["rules"]]
        return found if all(rule["health"] != "unknown" for rule in found) else None

    found = wait_for("every rule has been evaluated", evaluated)
    assert len(found) == expected
    assert [rule for rule in found if rule["health"] != "ok"] == []
    critical = [
        rule["name"]
        for rule in found
        if rule.get("labels", {}).get("severity") == "critical" and rule["state"] == "firing"
    ]
    assert critical == []


def test_counts_are_those_of_the_pods(
    cluster: KindCluster, namespace: str, scraping: Prometheus
) -> None:
    scheduled = 'sum(scheduler_schedule_attempts_total{result="scheduled",profile="berthmaster"})'

    def counted() -> float:
        found = scraping.query(scheduled)
        return float(found[0]["value"][1]) if found else 0.0

    before = counted()
    small = container(**requesting(cpu="1m"))
    cluster.api.create(deployment("web", namespace, 5, small))
    wait_running(cluster, namespace, 5)
    wait_for("they are counted", lambda: counted() >= before + 5)
    started = "sum(berthmaster_pod_start_total_duration_seconds_count)"
    wait_for(
        "their starts are measured", lambda: float(scraping.query(started)[0]["value"][1]) >= 5
    )


def test_every_query_of_the_dashboards_is_understood(scraping: Prometheus) -> None:
    for query in QUERIES:
        scraping.query(everything_chosen(query))
    assert {panel_of(query) for query in QUERIES} >= QUIET


def has_figures(scraping: Prometheus, query: Query) -> bool:
    """Ask a query, which has to be understood; tell whether it has an answer."""
    found = scraping.query(everything_chosen(query))
    return any(not isnan(float(series["value"][1])) for series in found)


def panel_of(query: Query) -> str:
    """Name the panel, without the letter of the query in it."""
    return query.where.rpartition(" (")[0]


def test_dashboards_show_what_a_cluster_in_use_has(
    cluster: KindCluster, namespace: str, scraping: Prometheus
) -> None:
    cluster.api.create(pod("huge", namespace, container(**requesting(cpu="1000"))))
    cluster.api.create(group("webs", namespace, 1))
    missing = {query.where: query for query in QUERIES if panel_of(query) not in QUIET}
    deadline_seconds = time.monotonic() + FIGURES_SECONDS
    for round_ in count():
        # Rates need something to happen all the while.
        small = container(**requesting(cpu="1m"))
        cluster.api.create(pod(f"web-{round_}", namespace, small, labels={MEMBER_OF: "webs"}))
        wait_pod_running(cluster, namespace, f"web-{round_}")
        cluster.api.delete(path_of_pods(namespace, f"web-{round_}"))
        for where in [where for where, query in missing.items() if has_figures(scraping, query)]:
            del missing[where]
        if not missing or time.monotonic() > deadline_seconds:
            break
    assert not missing, "\n".join(sorted(missing))


def test_alert_begins_for_a_pod_that_fits_nowhere(
    cluster: KindCluster, namespace: str, scraping: Prometheus
) -> None:
    cluster.api.create(pod("huge", namespace, container(**requesting(cpu="1000"))))
    wait_unschedulable(cluster, namespace, "huge")
    alert = (
        'ALERTS{alertname="BerthmasterPodsUnschedulable", plugin="NodeResourcesFit", '
        'release="berthmaster", alertstate=~"pending|firing"}'
    )
    wait_for("the alert is pending", lambda: scraping.query(alert))
