"""What a mistake was most likely meant to be."""

from typing import Any

import pytest
import yaml

from scheduler_svc.shell.config import (
    Configuration,
    ConfigurationError,
    EnabledPlugin,
    ExtensionPoint,
    Mistake,
    load_configuration,
)
from scheduler_svc.shell.config.arguments import NodeResourcesFitArgs
from tests.unit.scheduler_svc.shell.config.recorded import HEAD, args_of, plugins_of, read_file


def refuse(text: str) -> Mistake:
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(text, path="f.yaml", known_plugins={})
    (mistake,) = caught.value.mistakes
    return mistake


def follow(meaning: str) -> Configuration:
    """Write the profile that a meaning tells to write."""
    _, _, example = meaning.partition("write in the profile\n")
    profile: dict[str, Any] = yaml.safe_load(example.partition("\none profile has")[0])
    text = yaml.safe_dump(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [profile],
        }
    )
    return load_configuration(text, path="example", known_plugins={})


def strategy_of(configuration: Configuration) -> str:
    arguments = configuration.profiles[0].args["NodeResourcesFit"]
    assert isinstance(arguments, NodeResourcesFitArgs)
    return arguments.scoring_strategy.type


def weights_of(configuration: Configuration) -> tuple[EnabledPlugin, ...]:
    score = configuration.profiles[0].points[ExtensionPoint.SCORE]
    return tuple(plugin for plugin in score if plugin.name.startswith("NodeResources"))


def test_a_list_of_scoring_strategies_as_tutorials_show_it() -> None:
    mistake = refuse(read_file("scoring-strategies-list.yaml"))

    assert mistake.path == "profiles[0].pluginConfig[0].args.scoringStrategies"
    assert mistake.line == 8
    assert mistake.body == 'Unknown field: "scoringStrategies"'
    assert mistake.meaning == (
        "NodeResourcesFit scores by one strategy, and BalancedAllocation is a plugin of its own, "
        "so the weights belong to the plugins; write in the profile\n"
        "plugins:\n"
        "  multiPoint:\n"
        "    enabled:\n"
        "    - name: NodeResourcesFit\n"
        "      weight: 1\n"
        "    - name: NodeResourcesBalancedAllocation\n"
        "      weight: 2\n"
        "pluginConfig:\n"
        "- name: NodeResourcesFit\n"
        "  args:\n"
        "    scoringStrategy:\n"
        "      type: LeastAllocated"
    )
    followed = follow(mistake.meaning)
    assert strategy_of(followed) == "LeastAllocated"
    assert weights_of(followed) == (
        EnabledPlugin("NodeResourcesFit", 1),
        EnabledPlugin("NodeResourcesBalancedAllocation", 2),
    )


STRATEGY = "is a strategy of NodeResourcesFit: set scoringStrategy.type in its args"

LEAST_1_BALANCED_2 = [
    "[{name: LeastAllocated, weight: 1}, {name: BalancedAllocation, weight: 2}]",
    "[{strategy: BalancedAllocation, weight: 2}, {strategy: LeastAllocated}]",
    "[LeastAllocated: 1, BalancedAllocation: 2]",
    "[{type: LeastAllocated}, {type: NodeResourcesBalancedAllocation, weight: 2}]",
]


@pytest.mark.parametrize("strategies", LEAST_1_BALANCED_2)
@pytest.mark.parametrize("field", ["scoringStrategies", "scoringStrategy"])
def test_other_ways_to_write_the_list(field: str, strategies: str) -> None:
    mistake = refuse(args_of("NodeResourcesFit", f"{{{field}: {strategies}}}"))
    followed = follow(mistake.meaning)

    assert strategy_of(followed) == "LeastAllocated"
    assert [plugin.weight for plugin in weights_of(followed)] == [1, 2]


@pytest.mark.parametrize(
    "text",
    [
        f"{HEAD}profiles:\n- scoringStrategies: [{{type: MostAllocated, weight: 3}}]\n",
        f"{HEAD}scoringStrategies: [{{type: MostAllocated, weight: 3}}]\n",
    ],
)
def test_the_list_at_another_place(text: str) -> None:
    followed = follow(refuse(text).meaning)

    assert strategy_of(followed) == "MostAllocated"
    assert [plugin.weight for plugin in weights_of(followed)] == [3, 1]


@pytest.mark.parametrize("strategies", ["[]", "5", "[[1]]", "[{a: 1, b: 2}]"])
def test_a_list_that_names_no_strategy(strategies: str) -> None:
    mistake = refuse(args_of("NodeResourcesFit", f"{{scoringStrategies: {strategies}}}"))

    assert strategy_of(follow(mistake.meaning)) == "LeastAllocated"


def test_two_strategies_cannot_be_had() -> None:
    meaning = refuse(
        args_of("NodeResourcesFit", "{scoringStrategies: [MostAllocated, LeastAllocated]}")
    ).meaning

    assert strategy_of(follow(meaning)) == "MostAllocated"
    assert meaning.endswith(
        "one profile has one strategy: LeastAllocated cannot be added to MostAllocated"
    )


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (f"{HEAD}leaderelection: {{}}\n", "did you mean leaderElection?"),
        (f"{HEAD}pod_initial_backoff_seconds: 1\n", "did you mean podInitialBackoffSeconds?"),
        (plugins_of("{prefilter: {}}"), "did you mean preFilter?"),
        (f"{HEAD}schedulerName: a\n", "schedulerName belongs in profiles[]"),
        (f"{HEAD}plugins: {{}}\n", "plugins belongs in profiles[]"),
        (
            f"{HEAD}profiles:\n- filter: {{enabled: []}}\n",
            "filter belongs in profiles[].plugins",
        ),
        (
            f"{HEAD}profiles:\n- hardPodAffinityWeight: 1\n",
            "hardPodAffinityWeight belongs in the args of InterPodAffinity",
        ),
        (
            f"{HEAD}requestedToCapacityRatio: {{}}\n",
            "requestedToCapacityRatio belongs in scoringStrategy in the args of NodeResourcesFit",
        ),
        (
            args_of("NodeResourcesFit", "{parallelism: 1}"),
            "parallelism belongs at the top of the file",
        ),
        (
            f"{HEAD}profiles:\n- NodeResourcesFit: {{}}\n",
            (
                "arguments of a plugin are written as {name: NodeResourcesFit, args: {...}} in "
                "profiles[].pluginConfig"
            ),
        ),
        (f"{HEAD}algorithmSource: {{provider: x}}\n", "plugins are named in profiles[].plugins"),
        (f"{HEAD}disablePreemption: true\n", "disable the plugin DefaultPreemption at postFilter"),
        (
            plugins_of("{unreserve: {}}"),
            "a plugin enabled at reserve also gives back what it reserved",
        ),
        (f"{HEAD}weight: 1\n", ""),
        (f"{HEAD}somethingElse: 1\n", ""),
    ],
)
def test_unknown_fields(text: str, meaning: str) -> None:
    mistake = refuse(text)

    assert mistake.meaning == meaning
    assert mistake.allowed


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("ImageLocalty", "did you mean ImageLocality?"),
        ("NodeVolumeLimit", "did you mean NodeVolumeLimits?"),
        ("NodeResourceFit", "did you mean NodeResourcesFit?"),
        ("node-affinity", "did you mean NodeAffinity?"),
        (
            "LeastAllocated",
            f"LeastAllocated {STRATEGY}",
        ),
        (
            "NodeResourcesMostAllocated",
            f"MostAllocated {STRATEGY}",
        ),
        ("BalancedAllocation", "the plugin is called NodeResourcesBalancedAllocation"),
        ("SelectorSpread", "PodTopologySpread does it, by its default constraints"),
        ("GCEPDLimits", "NodeVolumeLimits counts the volumes of every driver"),
        (
            "Coscheduling",
            (
                "a plugin that is not kube-scheduler's own is a Python class: load it with "
                "--plugin package.module:Class or by the entry point group berthmaster.plugins"
            ),
        ),
    ],
)
@pytest.mark.parametrize(
    "template",
    [
        plugins_of("{{multiPoint: {{enabled: [{{name: {0}}}]}}}}"),
        args_of("{0}", "{{}}"),
    ],
)
def test_unknown_plugins(name: str, meaning: str, template: str) -> None:
    mistake = refuse(template.format(name))

    assert mistake.value == f'"{name}"'
    assert mistake.meaning == meaning


def test_plugins_that_could_stand_there_are_listed() -> None:
    mistake = refuse(plugins_of("{bind: {enabled: [{name: Binder}]}}"))

    assert mistake.allowed == ("DefaultBinder",)


@pytest.mark.parametrize(
    ("text", "detail", "meaning"),
    [
        (f"{HEAD}parallelism: '8'\n", "must be an integer", "write it without quotes: 8"),
        (f"{HEAD}parallelism: many\n", "must be an integer", ""),
        (
            f"{HEAD}clientConnection: {{qps: '5'}}\n",
            "must be a number",
            "write it without quotes: 5",
        ),
        (
            f"{HEAD}enableProfiling: 'True'\n",
            "must be true or false",
            "write it without quotes: true",
        ),
        (f"{HEAD}enableProfiling: 1\n", "must be true or false", ""),
        (
            f"{HEAD}profiles: [{{schedulerName: no}}]\n",
            "must be text",
            'put it in quotes: "no" (YAML reads the bare word as true or false)',
        ),
        (f"{HEAD}profiles: [{{schedulerName: 12}}]\n", "must be text", 'put it in quotes: "12"'),
        (
            f"{HEAD}leaderElection: {{retryPeriod: 2}}\n",
            "must be a duration",
            "a duration is a number with a unit, as 15s, 1m30s or 500ms",
        ),
        (
            f"{HEAD}leaderElection: {{retryPeriod: 2sec}}\n",
            'time: unknown unit "sec" in duration "2sec"',
            "a duration is a number with a unit, as 15s, 1m30s or 500ms",
        ),
        (
            f"{HEAD}profiles: {{schedulerName: a}}\n",
            "must be a list",
            'each entry of a list starts with "- "',
        ),
        (f"{HEAD}profiles: a\n", "must be a list", ""),
        (
            f"{HEAD}leaderElection: [{{leaderElect: true}}]\n",
            "must be an object",
            'an object has no "- " before its fields',
        ),
        (
            plugins_of("{score: {disabled: [ImageLocality]}}"),
            "must be an object",
            "a plugin is named as {name: ImageLocality}",
        ),
        (f"{HEAD}leaderElection: on\n", "must be an object", ""),
        (
            args_of("NodeResourcesFit", "{scoringStrategy: [1]}"),
            "must be an object",
            'an object has no "- " before its fields',
        ),
    ],
)
def test_wrong_types(text: str, detail: str, meaning: str) -> None:
    mistake = refuse(text)

    assert (mistake.detail, mistake.meaning) == (detail, meaning)


@pytest.mark.parametrize(
    ("api_version", "kind", "meaning"),
    [
        (
            "v1",
            "ConfigMap",
            "this is the ConfigMap around a configuration: give the file under its data",
        ),
        ("v1", "Policy", "Policy files ended with kube-scheduler 1.23; profiles take their place"),
        (
            "kubescheduler.config.k8s.io/v1",
            "NodeResourcesFitArgs",
            "these are the arguments of a plugin: they stand in profiles[].pluginConfig[].args",
        ),
        (
            "kubescheduler.config.k8s.io/v1beta2",
            "KubeSchedulerConfiguration",
            "kube-scheduler 1.36 reads kubescheduler.config.k8s.io/v1 only",
        ),
        ("apps/v1", "Deployment", ""),
    ],
)
def test_other_documents(api_version: str, kind: str, meaning: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(
            f"apiVersion: {api_version}\nkind: {kind}\nspec: {{}}\n", path="f", known_plugins={}
        )

    assert [m.meaning for m in caught.value.mistakes if m.path in {"apiVersion", "kind"}].count(
        meaning
    ) >= 1
