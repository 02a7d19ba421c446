"""A file becomes a complete configuration."""

import pytest

from scheduler_svc.core.objects import NodeAffinity
from scheduler_svc.shell.config import (
    Configuration,
    ConfigurationError,
    EnabledPlugin,
    ExtensionPoint,
    Mistake,
    default_configuration,
    load_configuration,
)
from scheduler_svc.shell.config.arguments import (
    CPU_AND_MEMORY,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ResourceSpec,
    ScoringStrategy,
    VolumeBindingArgs,
)
from scheduler_svc.shell.config.mistakes import Problem
from scheduler_svc.shell.config.schema import ClientConnection, LeaderElection
from tests.unit.scheduler_svc.shell.config.recorded import HEAD, args_of, plugins_of, read_file

AT = ExtensionPoint
NO_SCORE = "NodeName does not score here: the weight has no effect"
KNOWN = {"Energy": frozenset({AT.FILTER, AT.SCORE})}


def load(text: str | bytes) -> Configuration:
    return load_configuration(text, path="f.yaml", known_plugins=KNOWN)


def mistakes_of(text: str | bytes) -> tuple[Mistake, ...]:
    with pytest.raises(ConfigurationError) as caught:
        load(text)
    return caught.value.mistakes


def names_at(configuration: Configuration, point: ExtensionPoint) -> list[str]:
    return [plugin.name for plugin in configuration.profiles[0].points[point]]


def test_the_default_configuration() -> None:
    configuration = default_configuration()

    assert configuration.leader_election == LeaderElection(
        leader_elect=True,
        lease_duration_seconds=15,
        renew_deadline_seconds=10,
        retry_period_seconds=2,
        resource_lock="leases",
        resource_name="berthmaster",
        resource_namespace="kube-system",
    )
    assert configuration.pod_initial_backoff_seconds == 1
    assert configuration.pod_max_backoff_seconds == 10
    assert configuration.parallelism == 16
    assert configuration.percentage_of_nodes_to_score == 0
    assert not configuration.delay_cache_until_active
    assert configuration.extenders == ()
    assert configuration.given == frozenset()
    assert configuration.notices == ()
    assert [profile.scheduler_name for profile in configuration.profiles] == ["default-scheduler"]


def test_the_shortest_file_is_the_default_configuration() -> None:
    loaded, default = load(HEAD), default_configuration()

    assert loaded.profiles == default.profiles
    assert loaded.client_connection == default.client_connection
    assert loaded.given == {"apiVersion", "kind"}


def test_default_plugins_and_weights() -> None:
    points = default_configuration().profiles[0].points

    assert points[AT.SCORE] == (
        EnabledPlugin("TaintToleration", 3),
        EnabledPlugin("NodeAffinity", 2),
        EnabledPlugin("NodeResourcesFit", 1),
        EnabledPlugin("VolumeBinding", 1),
        EnabledPlugin("PodTopologySpread", 2),
        EnabledPlugin("InterPodAffinity", 2),
        EnabledPlugin("DynamicResources", 2),
        EnabledPlugin("NodeResourcesBalancedAllocation", 1),
        EnabledPlugin("ImageLocality", 1),
    )
    assert points[AT.POST_FILTER] == (
        EnabledPlugin("DynamicResources"),
        EnabledPlugin("DefaultPreemption"),
    )
    assert points[AT.BIND] == (EnabledPlugin("DefaultBinder"),)
    assert AT.MULTI_POINT not in points


def test_a_profile_names_each_of_its_plugins_once() -> None:
    names = default_configuration().profiles[0].plugin_names

    assert len(names) == len(set(names)) == 20


def test_every_field() -> None:
    configuration = load(read_file("every-field.yaml"))
    (profile,) = configuration.profiles
    (extender,) = configuration.extenders

    assert configuration.client_connection == ClientConnection(
        kubeconfig="/etc/kubernetes/scheduler.conf",
        accept_content_types="application/json",
        content_type="application/json",
        qps=12.5,
        burst=25,
    )
    assert configuration.leader_election.retry_period_seconds == 1.5
    assert configuration.delay_cache_until_active
    assert profile.percentage_of_nodes_to_score == 70
    assert profile.args["DynamicResources"] == DynamicResourcesArgs(
        filter_timeout_seconds=2, binding_timeout_seconds=60
    )
    assert profile.args["VolumeBinding"] == VolumeBindingArgs(bind_timeout_seconds=30)
    added = profile.args["NodeAffinity"]
    assert isinstance(added, NodeAffinityArgs)
    assert isinstance(added.added_affinity, NodeAffinity)
    assert added.added_affinity.preferred is not None
    assert added.added_affinity.preferred[0].weight == 3
    assert extender.http_timeout_seconds == 3
    assert extender.tls_config is not None
    assert extender.tls_config.key_data == b"private key"
    assert [resource.name for resource in extender.managed_resources] == [
        "example.com/fpga",
        "example.com/nic",
    ]


def test_a_private_key_is_not_in_the_representation() -> None:
    configuration = load(read_file("every-field.yaml"))

    assert "private key" not in repr(configuration)


def test_strategy_of_a_stock_file() -> None:
    args = load(read_file("most-allocated.yaml")).profiles[0].args["NodeResourcesFit"]

    assert args == NodeResourcesFitArgs(
        scoring_strategy=ScoringStrategy(
            type="MostAllocated",
            resources=(
                ResourceSpec(name="cpu", weight=1),
                ResourceSpec(name="memory", weight=2),
                ResourceSpec(name="example.com/gpu", weight=5),
            ),
        )
    )


def test_default_constraints_of_a_stock_file() -> None:
    profile = load(read_file("spread-defaults.yaml")).profiles[0]
    spread = profile.args["PodTopologySpread"]

    assert isinstance(spread, PodTopologySpreadArgs)
    assert spread.defaulting_type == "List"
    assert [(c.max_skew, c.topology_key) for c in spread.default_constraints] == [
        (1, "topology.kubernetes.io/zone"),
        (2, "kubernetes.io/hostname"),
    ]
    assert profile.args["InterPodAffinity"] == InterPodAffinityArgs(
        hard_pod_affinity_weight=40, ignore_preferred_terms_of_existing_pods=True
    )
    assert profile.args["DefaultPreemption"] == DefaultPreemptionArgs()


def test_zeros_that_stand_for_defaults() -> None:
    configuration = load(
        f"{HEAD}leaderElection: {{leaseDuration: 0s, renewDeadline: 0s, retryPeriod: 0s, "
        'resourceLock: "", resourceName: "", resourceNamespace: ""}\n'
        'clientConnection: {qps: 0, burst: 0, contentType: ""}\n'
        "extenders: [{urlPrefix: http://a, filterVerb: f, httpTimeout: 0s}]\n"
    )

    assert configuration.leader_election == LeaderElection()
    assert configuration.client_connection == ClientConnection()
    assert configuration.extenders[0].http_timeout_seconds == 5


def test_weights_and_lists_that_stand_for_defaults() -> None:
    fit = load(
        args_of("NodeResourcesFit", "{scoringStrategy: {type: MostAllocated, resources: []}}")
    )
    weights = load(
        args_of(
            "NodeResourcesFit",
            "{scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 0}]}}",
        )
    )
    spread = load(args_of("PodTopologySpread", '{defaultingType: ""}'))

    found = fit.profiles[0].args["NodeResourcesFit"]
    assert isinstance(found, NodeResourcesFitArgs)
    assert found.scoring_strategy.resources == CPU_AND_MEMORY
    found = weights.profiles[0].args["NodeResourcesFit"]
    assert isinstance(found, NodeResourcesFitArgs)
    assert found.scoring_strategy.resources == (ResourceSpec(name="cpu", weight=1),)
    assert spread.profiles[0].args["PodTopologySpread"] == PodTopologySpreadArgs()


@pytest.mark.parametrize(
    ("qps", "expected"), [("12.5", 12.5), ("0", None), ("-1", None), ("null", None)]
)
def test_a_rate_is_limited_only_if_the_file_says_so(qps: str, expected: float | None) -> None:
    configuration = load(f"{HEAD}clientConnection: {{qps: {qps}}}\n")

    assert configuration.client_connection.requests_per_second == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("enableProfiling: false", False),
        ("enableProfiling: true", True),
        ("enableProfiling: false\nenableContentionProfiling: true", True),
    ],
)
def test_contention_profiling_follows_profiling(fields: str, expected: bool) -> None:
    assert load(f"{HEAD}{fields}\n").enable_contention_profiling is expected


def test_a_profile_is_found_by_its_name() -> None:
    configuration = load(read_file("several-profiles.yaml"))

    found = configuration.profile("no-scoring")
    assert found is configuration.profiles[1]
    assert configuration.profile("another") is None


def test_a_plugin_that_is_not_in_tree_runs_where_it_says() -> None:
    configuration = load(
        plugins_of("{multiPoint: {enabled: [{name: Energy, weight: 6}]}}")
        + "  pluginConfig: [{name: Energy, args: {labels: [a, b]}}]\n"
    )
    profile = configuration.profiles[0]

    assert profile.points[AT.FILTER][-1] == EnabledPlugin("Energy")
    assert profile.points[AT.SCORE][-1] == EnabledPlugin("Energy", 6)
    assert names_at(configuration, AT.PRE_FILTER).count("Energy") == 0


def test_in_tree_plugins_keep_upstreams_points() -> None:
    configuration = load_configuration(
        HEAD, path="f.yaml", known_plugins={"NodeName": frozenset({AT.SCORE})}
    )

    assert "NodeName" in names_at(configuration, AT.FILTER)
    assert "NodeName" not in names_at(configuration, AT.SCORE)


def test_a_removed_plugin_may_be_loaded_under_its_old_name() -> None:
    text = plugins_of("{filter: {enabled: [{name: EBSLimits}]}}")
    configuration = load_configuration(
        text, path="f.yaml", known_plugins={"EBSLimits": frozenset({AT.FILTER})}
    )

    assert names_at(configuration, AT.FILTER)[-1] == "EBSLimits"


@pytest.mark.parametrize(
    ("text", "notice"),
    [
        (
            plugins_of("{score: {disabled: [{name: SelectorSpread}]}}"),
            'profiles[0].plugins.score.disabled[0].name: no plugin is called "SelectorSpread"',
        ),
        (
            plugins_of("{filter: {enabled: [{name: NodeName, weight: 2}]}}"),
            f"profiles[0].plugins.filter.enabled[0].weight: {NO_SCORE}",
        ),
        (
            plugins_of("{multiPoint: {enabled: [{name: NodeName, weight: 2}]}}"),
            f"profiles[0].plugins.multiPoint.enabled[0].weight: {NO_SCORE}",
        ),
        (
            args_of("NodeName", "{a: 1}"),
            "profiles[0].pluginConfig[0].name: NodeName takes no arguments",
        ),
    ],
)
def test_what_is_accepted_to_no_effect_is_noticed(text: str, notice: str) -> None:
    line = 5 if "pluginConfig" in notice else 4

    assert load(text).notices == (f"f.yaml:{line}: {notice}",)


@pytest.mark.parametrize(
    "plugins",
    [
        "{score: {enabled: [{name: NodeAffinity, weight: 2}]}}",
        "{multiPoint: {enabled: [{name: NodeAffinity, weight: 2}]}}",
        '{score: {disabled: [{name: "*"}]}}',
    ],
)
def test_nothing_is_noticed_of_ordinary_sets(plugins: str) -> None:
    assert load(plugins_of(plugins)).notices == ()


@pytest.mark.parametrize(
    ("plugins", "path", "body"),
    [
        ("{score: {enabled: [{weight: 2}]}}", "score.enabled[0].name", "Required value"),
        ("{score: {disabled: [{}]}}", "score.disabled[0].name", "Required value"),
        (
            '{score: {enabled: [{name: "*"}]}}',
            "score.enabled[0].name",
            'Invalid value: "*": only disabled can name *',
        ),
        (
            "{score: {enabled: [{name: ImageLocality, weight: 2147483648}]}}",
            "score.enabled[0].weight",
            "Invalid value: 2147483648: not in valid range [-2147483648, 2147483647]",
        ),
        (
            "{score: {enabled: [{name: NodeName}]}}",
            "score.enabled[0].name",
            'Invalid value: "NodeName": plugin does not extend score; it extends filter',
        ),
        (
            "{permit: {enabled: [{name: GangScheduling}, {name: GangScheduling}]}}",
            "permit.enabled[1].name",
            'Duplicate value: "GangScheduling": a plugin is enabled once',
        ),
    ],
)
def test_mistakes_in_plugin_sets(plugins: str, path: str, body: str) -> None:
    (mistake,) = mistakes_of(plugins_of(plugins))

    assert mistake.path == f"profiles[0].plugins.{path}"
    assert mistake.body == body


def test_at_most_one_plugin_sorts_and_one_generates() -> None:
    known = {
        "Fifo": frozenset({AT.QUEUE_SORT}),
        "Racks": frozenset({AT.PLACEMENT_GENERATE}),
    }
    text = plugins_of(
        "{multiPoint: {enabled: [{name: Fifo}, {name: Racks}, {name: TopologyPlacementGenerator}]}}"
    )
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(text, path="f.yaml", known_plugins=known)

    assert [(m.path, m.value, m.detail) for m in caught.value.mistakes] == [
        (
            "profiles[0].plugins.queueSort.enabled",
            "2",
            "only one queue sort plugin can be enabled",
        ),
        (
            "profiles[0].plugins.placementGenerate",
            "2",
            (
                "at most one placement generate plugin is allowed for profile with scheduler name "
                '"default-scheduler"'
            ),
        ),
    ]


def test_a_plugin_that_sorts_says_how_it_is_enabled() -> None:
    known = {"Fifo": frozenset({AT.QUEUE_SORT, AT.FILTER})}
    with pytest.raises(ConfigurationError) as caught:
        default_configuration(known, ("Fifo",))
    _, place, *hint = str(caught.value).splitlines()
    assert place == (
        "the defaults and the flags: profiles[0].plugins.queueSort.enabled: Invalid value: 2: "
        "only one queue sort plugin can be enabled"
    )
    assert [line.strip() for line in hint] == [
        "PrioritySort, Fifo are enabled; for Fifo alone, give a file by --config, with",
        "multiPoint: {enabled: [{name: Fifo}]}",
        'queueSort: {enabled: [{name: Fifo}], disabled: [{name: "*"}]}',
        "under plugins of each profile",
    ]
    as_told = plugins_of("{" + ", ".join(line.strip() for line in hint[1:3]) + "}")
    [profile] = load_configuration(as_told, path="f.yaml", known_plugins=known).profiles
    assert [plugin.name for plugin in profile.points[AT.QUEUE_SORT]] == ["Fifo"]
    assert profile.points[AT.FILTER][-1].name == "Fifo"


def test_queue_sorts_of_which_none_was_added_are_only_named() -> None:
    text = plugins_of("{queueSort: {enabled: [{name: PrioritySort}, {name: Fifo}, {name: Lifo}]}}")
    known = {name: frozenset({AT.QUEUE_SORT}) for name in ("Fifo", "Lifo")}
    with pytest.raises(ConfigurationError, match="enabled are PrioritySort, Fifo, Lifo"):
        load_configuration(text, path="f.yaml", known_plugins=known)


def test_all_profiles_sort_with_the_same_arguments() -> None:
    known = {"Fifo": frozenset({AT.QUEUE_SORT})}
    profile = (
        "- schedulerName: {0}\n"
        "  plugins: {{queueSort: {{enabled: [{{name: Fifo}}], disabled: [{{name: '*'}}]}}}}\n"
        "  pluginConfig: [{{name: Fifo, args: {{by: {1}}}}}]\n"
    )
    same = f"{HEAD}profiles:\n{profile.format('a', 'age')}{profile.format('b', 'age')}"
    other = f"{HEAD}profiles:\n{profile.format('a', 'age')}{profile.format('b', 'size')}"

    load_configuration(same, path="f.yaml", known_plugins=known)
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(other, path="f.yaml", known_plugins=known)
    (mistake,) = caught.value.mistakes
    assert mistake.detail == "queueSort must be the same for all profiles"
    assert mistake.path == "profiles[1].pluginConfig"


@pytest.mark.parametrize(
    ("text", "path", "detail"),
    [
        ("[1, 2]", "", "must be an object of kind KubeSchedulerConfiguration"),
        (
            "kind: KubeSchedulerConfiguration\n",
            "apiVersion",
            "must be kubescheduler.config.k8s.io/v1",
        ),
        (
            HEAD.replace("KubeSchedulerConfiguration", "KubeletConfiguration"),
            "kind",
            'supported values: "KubeSchedulerConfiguration"',
        ),
        (
            HEAD.replace("/v1", "/v1beta3"),
            "apiVersion",
            'supported values: "kubescheduler.config.k8s.io/v1"',
        ),
    ],
)
def test_another_type_of_document(text: str, path: str, detail: str) -> None:
    (mistake,) = mistakes_of(text)

    assert (mistake.path, mistake.detail) == (path, detail)


def test_an_old_version_is_read_on() -> None:
    text = HEAD.replace("/v1", "/v1beta3") + "parallelism: 0\n"

    assert [mistake.path for mistake in mistakes_of(text)] == ["apiVersion", "parallelism"]


def test_all_mistakes_at_once_in_the_order_of_the_file() -> None:
    mistakes = mistakes_of(
        f"{HEAD}"
        "paralelism: 8\n"
        "leaderElection: {leaseDuration: 5s}\n"
        "percentageOfNodesToScore: 200\n"
        "profiles:\n"
        "- schedulerName: a\n"
        "  plugins:\n"
        "    score:\n"
        "      enabled:\n"
        "      - {name: NodeResourceFit, weight: heavy}\n"
        "      - {name: NodeName}\n"
        "  pluginConfig:\n"
        "  - name: NodeResourcesFit\n"
        "    args: {scoringStrategy: {type: LeastAlocated}}\n"
    )

    assert [(m.line, m.path, m.problem) for m in mistakes] == [
        (3, "paralelism", Problem.UNKNOWN_FIELD),
        (4, "leaderElection.leaseDuration", Problem.INVALID),
        (5, "percentageOfNodesToScore", Problem.INVALID),
        (11, "profiles[0].plugins.score.enabled[0].name", Problem.INVALID),
        (11, "profiles[0].plugins.score.enabled[0].weight", Problem.INVALID),
        (12, "profiles[0].plugins.score.enabled[1].name", Problem.INVALID),
        (15, "profiles[0].pluginConfig[0].args.scoringStrategy.type", Problem.UNSUPPORTED),
    ]


def test_a_value_of_the_wrong_type_has_no_consequences() -> None:
    mistakes = mistakes_of(f"{HEAD}podInitialBackoffSeconds: many\nleaderElection: 5\n")

    assert [mistake.path for mistake in mistakes] == ["podInitialBackoffSeconds", "leaderElection"]


@pytest.mark.parametrize(
    "bind",
    [
        '{enabled: {name: DefaultBinder}, disabled: [{name: "*"}]}',
        '{enabled: [{name: OtherBinder}], disabled: [{name: "*"}]}',
        '{enabled: [{weight: 1}], disabled: [{name: "*"}]}',
    ],
)
def test_a_mistake_in_a_set_has_no_consequences(bind: str) -> None:
    (mistake,) = mistakes_of(plugins_of(f"{{bind: {bind}}}"))

    assert mistake.path.startswith("profiles[0].plugins.bind.enabled")


def test_entries_without_a_name_are_no_duplicates() -> None:
    mistakes = mistakes_of(plugins_of("{score: {enabled: [{}, {}]}}"))

    assert [mistake.problem for mistake in mistakes] == [Problem.REQUIRED, Problem.REQUIRED]


@pytest.mark.parametrize("kind", ["InterPodAffinityArgs", "{}"])
def test_arguments_of_another_kind(kind: str) -> None:
    (mistake,) = mistakes_of(args_of("NodeResourcesFit", f"{{kind: {kind}}}"))

    assert mistake.path == "profiles[0].pluginConfig[0].args.kind"
    assert mistake.detail == "has to match plugin args: NodeResourcesFitArgs"


def test_arguments_may_have_a_null_type() -> None:
    configuration = load(args_of("NodeResourcesFit", "{kind: ~, apiVersion: ''}"))

    assert configuration.profiles[0].args["NodeResourcesFit"] == NodeResourcesFitArgs()


@pytest.mark.parametrize("plugin", ["NodeResourcesFit", "Energy"])
def test_arguments_are_an_object(plugin: str) -> None:
    (mistake,) = mistakes_of(args_of(plugin, "[1]"))

    assert mistake.path == "profiles[0].pluginConfig[0].args"
    assert mistake.detail == "must be an object"


def test_arguments_name_their_plugin() -> None:
    (mistake,) = mistakes_of(f"{HEAD}profiles:\n- pluginConfig: [{{args: {{}}}}]\n")

    assert mistake.path == "profiles[0].pluginConfig[0].name"
    assert mistake.problem is Problem.REQUIRED


def test_an_extenders_key_is_never_shown() -> None:
    mistakes = mistakes_of(
        f"{HEAD}extenders:\n- urlPrefix: http://a\n"
        "  tlsConfig: {keyData: 'my secret!', certData: 'no base64!', caData: 5}\n"
        "- tlsConfig: {keyData: [my secret]}\n"
    )

    assert [(m.path.rpartition(".")[2], m.value) for m in mistakes] == [
        ("keyData", ""),
        ("certData", '"no base64!"'),
        ("caData", "5"),
        ("keyData", ""),
    ]
