"""A real Prometheus in the cluster finds and scrapes what runs there, and has nothing critical."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.kind.cluster import KindCluster
from tests.kind.objects import container, deployment, requesting
from tests.kind.pods import wait_running
from tests.kind.prometheus import Prometheus, prometheus
from tests.kind.waiting import wait_for
from tests.monitoring.shipped import RULE_FILES, rules

SCHEDULERS = 2
AGENTS = 3


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
        return found if is_done and len(found) >= SCHEDULERS + AGENTS else None

    found = wait_for("all targets have been scraped", targets)
    assert {one["health"] for one in found} == {"up"}, [one["lastError"] for one in found]
    jobs = Counter(one["labels"]["job"] for one in found)
    assert jobs == {"berthmaster-scheduler": SCHEDULERS, "berthmaster-agent": AGENTS}
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

    def count() -> float:
        found = scraping.query(scheduled)
        return float(found[0]["value"][1]) if found else 0.0

    before = count()
    small = container(**requesting(cpu="1m"))
    cluster.api.create(deployment("web", namespace, 5, small))
    wait_running(cluster, namespace, 5)
    wait_for("they are counted", lambda: count() >= before + 5)
    started = "sum(berthmaster_pod_start_total_duration_seconds_count)"
    wait_for(
        "their starts are measured", lambda: float(scraping.query(started)[0]["value"][1]) >= 5
    )
