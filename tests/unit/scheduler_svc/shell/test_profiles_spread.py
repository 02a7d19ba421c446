"""Arguments of PodTopologySpread: what a profile's Pods without constraints are spread by."""

import pytest

from scheduler_svc.core.affinity_objects import LabelRequirement
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.label_selectors import Selector
from scheduler_svc.core.objects import ObjectMeta
from scheduler_svc.core.plugins.pod_topology_spread import PodTopologySpread
from scheduler_svc.core.plugins.pod_topology_spread.rules import (
    HOSTNAME,
    ZONE,
    SpreadConstraint,
    SpreadRules,
)
from scheduler_svc.core.workload_objects import LabelsSpec, Service
from scheduler_svc.shell.config import load_configuration
from scheduler_svc.shell.profiles import make_profiles
from tests.builders import make_cache, make_pod_info
from tests.unit.scheduler_svc.core.plugins.pod_topology_spread.spreading import (
    everywhere,
    hard,
    node,
    web_pods,
)

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
WEB = Selector((LabelRequirement("app", "In", ("web",)),))
LISTED = """{defaultingType: List, defaultConstraints: [
    {maxSkew: 2, topologyKey: rack, whenUnsatisfiable: DoNotSchedule, minDomains: 3,
     nodeAffinityPolicy: Ignore, nodeTaintsPolicy: Honor},
    {maxSkew: 4, topologyKey: row, whenUnsatisfiable: ScheduleAnyway}]}"""


def plugin_with(arguments: str) -> PodTopologySpread:
    text = (
        f"{HEAD}profiles: [{{schedulerName: s, "
        f"pluginConfig: [{{name: PodTopologySpread, args: {arguments}}}]}}]"
    )
    [profile] = make_profiles(
        load_configuration(text, path="scheduler.yaml", known_plugins={})
    ).profiles
    [plugin] = [p for p in profile.filter if isinstance(p, PodTopologySpread)]
    assert [p for p in profile.score if p is plugin] == [plugin]
    assert profile.weights["PodTopologySpread"] == 2
    return plugin


def rules_of_a_served_pod(arguments: str) -> SpreadRules | None:
    cluster = Cluster()
    service = Service(ObjectMeta(name="s", namespace="default"), LabelsSpec({"app": "web"}))
    cluster.objects[ObjectKind.SERVICE].upsert(service)
    rules = plugin_with(arguments).projection(make_pod_info(labels={"app": "web"}), cluster)
    assert rules is None or isinstance(rules, SpreadRules)
    return rules


@pytest.mark.parametrize("arguments", ["{}", "{defaultingType: System}"])
def test_the_system_spreads_over_hosts_and_zones(arguments: str) -> None:
    rules = rules_of_a_served_pod(arguments)
    assert rules is not None
    assert rules.hard == ()
    assert rules.soft == (SpreadConstraint(3, HOSTNAME, WEB), SpreadConstraint(5, ZONE, WEB))
    assert not rules.needs_all_keys


def test_a_profile_may_list_its_own() -> None:
    rules = rules_of_a_served_pod(LISTED)
    assert rules is not None
    assert rules.hard == (SpreadConstraint(2, "rack", WEB, 3, False, True),)
    assert rules.soft == (SpreadConstraint(4, "row", WEB),)
    assert rules.needs_all_keys
    assert rules_of_a_served_pod("{defaultingType: List}") is None


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [("{}", True), ("{upstreamQuirks: true}", True), ("{upstreamQuirks: false}", False)],
)
def test_quirks_are_copied_unless_they_are_not_wanted(arguments: str, expected: bool) -> None:
    """Upstream counts supposed Pods that terminate, and so finds the Node's zone too full."""
    cache = make_cache([node("a1", "a"), node("b1", "b")])
    plugin, pod = plugin_with(arguments), make_pod_info(labels={"app": "web"}, spread=[hard()])
    state = plugin.pre_filter(pod, cache.cluster).state
    (terminating,) = web_pods("a1", terminating=True)
    with cache.speculation() as speculation:
        speculation.add(terminating, cache.columns.rows["a1"])
        mask = plugin.filter(state, everywhere(cache.cluster))
    assert mask.tolist() == [not expected, True]
