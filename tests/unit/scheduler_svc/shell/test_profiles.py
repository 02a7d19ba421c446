import pytest

from scheduler_svc.core.columns import NodeView
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.framework.resource_scoring import (
    LeastAllocated,
    MostAllocated,
    RequestedToCapacityRatio,
)
from scheduler_svc.core.plugins.default_preemption import DefaultPreemption
from scheduler_svc.core.plugins.inter_pod_affinity import InterPodAffinity
from scheduler_svc.core.plugins.node_volume_limits import NodeVolumeLimits
from scheduler_svc.core.registry import IN_TREE
from scheduler_svc.shell.config import Configuration, default_configuration, load_configuration
from scheduler_svc.shell.profiles import ProfileError, make_profiles
from tests.builders import make_cache, make_node_info, make_pod_info
from tests.storage import (
    DRIVER,
    csi,
    ephemeral,
    make_claim,
    make_csi_node,
    make_storage_cluster,
    make_volume,
    pod_claiming,
    pod_with,
)
from tests.unit.scheduler_svc.core.plugins.inter_pod_affinity.asking import NEAR, Asked
from tests.unit.scheduler_svc.core.plugins.inter_pod_affinity.terms import (
    NOT_TEAM_A,
    demands,
    prefers,
    term,
)
from tests.unit.scheduler_svc.core.plugins.storage_asking import Answer
from tests.unit.scheduler_svc.core.preemption.building import failed_attempt
from tests.unit.scheduler_svc.core.preemption.building import pod as preemptible

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


RATIO = (
    "{type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: "
    "[{utilization: 0, score: 0}, {utilization: 100, score: 10}]}}"
)
ZONE_A = (
    "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
    "[{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}}"
)


def configured(text: str) -> Configuration:
    return load_configuration(HEAD + text, path="scheduler.yaml", known_plugins={})


def only_profile(configuration: Configuration) -> Profile:
    [profile] = make_profiles(configuration).profiles
    return profile


def names(plugins: tuple[object, ...]) -> list[str]:
    return [str(getattr(plugin, "name", "")) for plugin in plugins]


def test_default_profile_has_upstreams_order_and_weights() -> None:
    profile = only_profile(default_configuration())
    assert profile.scheduler_name == "default-scheduler"
    assert names((profile.queue_sort,)) == ["PrioritySort"]
    filters = [
        name
        for name in (
            *("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts"),
            *("NodeResourcesFit", "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding"),
            *("VolumeZone", "PodTopologySpread", "InterPodAffinity"),
        )
        if name in IN_TREE
    ]
    assert [n for n in names(profile.filter) if n in filters] == filters
    upstream_weights = {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }
    assert {n: profile.weights[n] for n in upstream_weights} == upstream_weights
    assert names(profile.bind) == ["DefaultBinder"]


def test_what_prepares_judges_and_the_other_way_round() -> None:
    """Ours prepare at PreFilter what upstream's compute Node by Node."""
    profile = only_profile(default_configuration())
    assert {"NodeName", "TaintToleration", "NodeUnschedulable"} <= set(names(profile.pre_filter))
    assert "ImageLocality" in names(profile.pre_score)
    assert len(names(profile.pre_filter)) == len(set(names(profile.pre_filter)))


def test_plugins_that_there_are_none_of_yet_are_named_once() -> None:
    registry = {name: IN_TREE[name] for name in ("PrioritySort", "DefaultBinder", "NodeName")}
    made = make_profiles(configured("profiles: [{schedulerName: a}, {schedulerName: b}]"), registry)
    assert len(made.not_implemented) == len(set(made.not_implemented))
    assert {"NodeResourcesFit", "InterPodAffinity"} <= set(made.not_implemented)
    assert not set(registry) & set(made.not_implemented)
    assert names(made.profiles[1].filter) == ["NodeName"]


def test_disabled_plugins_are_absent_and_weights_are_the_files() -> None:
    profile = only_profile(
        configured(
            "profiles:\n"
            "- schedulerName: x\n"
            "  plugins:\n"
            "    multiPoint: {disabled: [{name: NodePorts}]}\n"
            "    score: {disabled: [{name: ImageLocality}], enabled: [{name: NodeAffinity, "
            "weight: 7}]}\n"
        )
    )
    assert "NodePorts" not in names((*profile.pre_filter, *profile.filter))
    assert "ImageLocality" not in names((*profile.score, *profile.pre_score))
    assert profile.weights["NodeAffinity"] == 7


@pytest.mark.parametrize(
    ("strategy", "kind"),
    [
        ("{type: LeastAllocated}", LeastAllocated),
        ("{type: MostAllocated, resources: [{name: cpu, weight: 3}]}", MostAllocated),
        (
            RATIO,
            RequestedToCapacityRatio,
        ),
    ],
)
def test_scoring_strategy_is_the_files(strategy: str, kind: type) -> None:
    profile = only_profile(
        configured(
            "profiles:\n"
            "- schedulerName: x\n"
            "  pluginConfig:\n"
            "  - name: NodeResourcesFit\n"
            f"    args: {{scoringStrategy: {strategy}}}\n"
        )
    )
    [fit] = [plugin for plugin in profile.score if plugin.name == "NodeResourcesFit"]
    assert isinstance(vars(fit)["_strategy"], kind)


def test_arguments_reach_the_plugins() -> None:
    """Where a Pod fits, and is ranked, shows whether a plugin has its arguments."""
    profile = only_profile(
        configured(
            "profiles:\n"
            "- schedulerName: x\n"
            "  pluginConfig:\n"
            "  - name: NodeResourcesFit\n"
            "    args: {ignoredResources: [example.com/gpu]}\n"
            "  - name: NodeAffinity\n"
            f"    args: {{addedAffinity: {ZONE_A}}}\n"
        )
    )
    cluster = make_cache(
        [make_node_info("n-a", labels={"zone": "a"}), make_node_info("n-b", labels={"zone": "b"})]
    ).cluster
    pod = make_pod_info(requests={"example.com/gpu": 1})
    passing = {}
    for plugin in profile.filter:
        if plugin.name in ("NodeResourcesFit", "NodeAffinity"):
            [preparing] = [p for p in profile.pre_filter if p.name == plugin.name]
            state = preparing.pre_filter(pod, cluster).state
            mask = plugin.filter(state, NodeView(cluster.columns, slice(0, 2)))
            passing[plugin.name] = None if mask is None else mask.tolist()
    assert passing == {"NodeResourcesFit": None, "NodeAffinity": [True, False]}


def test_resources_that_extenders_check_alone_are_ignored_besides_those_of_the_arguments() -> None:
    profile = only_profile(
        configured(
            "profiles:\n"
            "- schedulerName: x\n"
            "  pluginConfig:\n"
            "  - name: NodeResourcesFit\n"
            "    args: {ignoredResources: [example.com/gpu]}\n"
            "extenders:\n"
            "- urlPrefix: http://a\n"
            "  managedResources:\n"
            "  - {name: example.com/nic, ignoredByScheduler: true}\n"
            "  - {name: example.com/fpga}\n"
        )
    )
    cluster = make_cache([make_node_info("n")]).cluster
    [fit] = [p for p in profile.pre_filter if p.name == "NodeResourcesFit"]
    names = ("example.com/gpu", "example.com/nic", "example.com/fpga")
    pod = make_pod_info(requests=dict.fromkeys(names, 1))
    needed = fit.pre_filter(pod, cluster).state.names
    assert [name for name in needed if name in names] == ["example.com/fpga"]


def test_plugin_that_may_judge_but_not_prepare_is_refused() -> None:
    configuration = configured(
        "profiles:\n"
        "- schedulerName: x\n"
        "  plugins:\n"
        "    preFilter: {disabled: [{name: NodeResourcesFit}]}\n"
        "    preScore: {disabled: [{name: TaintToleration}]}\n"
    )
    with pytest.raises(ProfileError) as caught:
        make_profiles(configuration)
    first, second = str(caught.value).splitlines()
    assert first.startswith("profile x: NodeResourcesFit is enabled at filter but disabled at")
    assert second.startswith("profile x: TaintToleration is enabled at score but disabled at")


@pytest.mark.parametrize(
    "name", ["NodeAffinity", "NodeResourcesBalancedAllocation", "NodeResourcesFit"]
)
@pytest.mark.parametrize("point", ["multiPoint", "preScore"])
def test_plugin_that_upstream_can_score_with_alone_is_prepared_all_the_same(
    name: str, point: str
) -> None:
    """As in upstream's Score, which falls back where there is no state of PreScore."""
    profile = only_profile(
        configured(
            "profiles:\n"
            "- schedulerName: x\n"
            "  plugins:\n"
            f"    {point}: {{disabled: [{{name: {name}}}]}}\n"
            f"    score: {{disabled: [{{name: {name}}}], enabled: [{{name: {name}, weight: 9}}]}}\n"
        )
    )
    assert name in names(profile.pre_score)
    assert profile.weights[name] == 9
    if point == "multiPoint":
        assert name not in names(profile.filter)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("{}", {"drawn": 55, "selected": NEAR}),
        ("{hardPodAffinityWeight: 0}", {"drawn": 50, "selected": NEAR}),
        ("{hardPodAffinityWeight: 20}", {"drawn": 100, "selected": NEAR}),
        ("{ignorePreferredTermsOfExistingPods: true}", {"drawn": None, "selected": NEAR}),
        ("{upstreamQuirks: true}", {"drawn": 55, "selected": NEAR}),
        ("{upstreamQuirks: false}", {"drawn": 55, "selected": None}),
    ],
)
def test_arguments_of_inter_pod_affinity(arguments: str, expected: dict[str, object]) -> None:
    profile = only_profile(
        configured(
            "profiles: [{schedulerName: s, pluginConfig: "
            f"[{{name: InterPodAffinity, args: {arguments}}}]}}]"
        )
    )
    [plugin] = [p for p in profile.filter if isinstance(p, InterPodAffinity)]
    web = {"app": "web"}
    asked = Asked(
        make_pod_info("p", node="a1", labels=web, near=prefers((20, term("db", "host")))),
        make_pod_info("q", node="a2", near=demands(term("db", "host"))),
        make_pod_info("r", node="a2", near=prefers((10, term("db", "host")))),
        plugin=plugin,
        spaces={"default": {"team": "a"}},
    )
    away = demands(term("web", "host", of=NOT_TEAM_A))
    answer = {
        "drawn": asked(make_pod_info(labels={"app": "db"}))["a2"],
        "selected": asked(make_pod_info(away=away))["a1"],
    }
    assert answer == expected


@pytest.mark.parametrize(
    ("arguments", "searched"),
    [
        ("{minCandidateNodesAbsolute: 20, minCandidateNodesPercentage: 0}", 49),
        ("{minCandidateNodesAbsolute: 0, minCandidateNodesPercentage: 80}", 99),
        ("{}", 99),
    ],
)
def test_arguments_of_default_preemption(arguments: str, searched: int) -> None:
    profile = only_profile(
        configured(
            "profiles: [{schedulerName: s, pluginConfig: "
            f"[{{name: DefaultPreemption, args: {arguments}}}]}}]"
        )
    )
    [plugin] = [p for p in profile.post_filter if isinstance(p, DefaultPreemption)]
    assert plugin in profile.pre_enqueue
    # From the 31st Node on, the first that does the least harm is the 50th, and then the last.
    nodes = [make_node_info(f"n{i}") for i in range(100)]
    pods = [
        preemptible(f"p{i}", 1 if i in (49, 99) else 5, node=f"n{i}", requests={"cpu": 4})
        for i in range(100)
    ]
    pods[49] = preemptible("p49", 1, started="09:00", node="n49", requests={"cpu": 4})
    attempt = failed_attempt(make_pod_info(priority=10, requests={"cpu": 4}), nodes, pods, seed=30)
    assert plugin.post_filter(attempt).nomination == f"n{searched}"


@pytest.mark.parametrize(
    ("arguments", "fails"),
    [("", True), (", args: {}", True), (", args: {upstreamQuirks: false}", False)],
)
def test_arguments_of_node_volume_limits(arguments: str, fails: bool) -> None:
    profile = only_profile(
        configured(
            "profiles: [{schedulerName: s, pluginConfig: "
            f"[{{name: NodeVolumeLimits{arguments}}}]}}]"
        )
    )
    [plugin] = [p for p in profile.filter if isinstance(p, NodeVolumeLimits)]
    objects = [
        make_csi_node("a", {DRIVER: 1}),
        make_claim(volume="pv"),
        make_volume(csi=csi("h")),
        make_claim("other-scratch"),
    ]
    other = pod_with(ephemeral(), name="other", node="a")
    cluster = make_storage_cluster([make_node_info("a")], objects, [other])
    answer = Answer(plugin, pod_claiming("data"), cluster)
    assert (answer.failure is not None) is fails
