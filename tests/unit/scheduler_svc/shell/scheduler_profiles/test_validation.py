from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from berthmaster.plugin import Args, NodePlugin
from scheduler_svc.shell.config import Configuration, Mistake
from scheduler_svc.shell.custom_plugins import CustomPlugins
from scheduler_svc.shell.scheduler_profiles.objects import SchedulerProfile
from scheduler_svc.shell.scheduler_profiles.validation import (
    PluginRegistry,
    compile_profile,
    plugin_registry,
    validate,
)
from tests.unit.scheduler_svc.shell.scheduler_profiles.building import (
    IN_TREE_ONLY,
    configured,
    make_profile,
)

STATIC = configured()


def mistakes_of(
    spec: Mapping[str, Any],
    *,
    others: Sequence[SchedulerProfile] = (),
    configuration: Configuration = STATIC,
    registry: PluginRegistry = IN_TREE_ONLY,
    serves_default: bool = False,
) -> tuple[Mistake, ...]:
    profile = make_profile("batch", spec, created="2026-06-01T00:00:00Z")
    return validate(profile, others, configuration, registry, serves_default=serves_default)


def told(mistakes: Sequence[Mistake]) -> list[tuple[str, str]]:
    return [(mistake.path, mistake.body) for mistake in mistakes]


def fit(args: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "schedulerName": "batch",
        "pluginConfig": [{"name": "NodeResourcesFit", "args": args}],
    }


def test_a_profile_with_plugins_weights_and_arguments_is_valid() -> None:
    spec = {
        "schedulerName": "batch",
        "percentageOfNodesToScore": 50,
        "plugins": {
            "multiPoint": {"disabled": [{"name": "ImageLocality"}]},
            "score": {"enabled": [{"name": "NodeResourcesFit", "weight": 5}]},
        },
        "pluginConfig": [
            {
                "name": "NodeResourcesFit",
                "args": {"scoringStrategy": {"type": "MostAllocated"}},
            },
            {"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 60}},
        ],
    }
    assert mistakes_of(spec) == ()
    compiled = compile_profile(make_profile("batch", spec), (), STATIC, IN_TREE_ONLY)
    assert compiled.core.scheduler_name == "batch"
    assert compiled.core.weights["NodeResourcesFit"] == 5
    assert "ImageLocality" not in compiled.core.plugin_names
    assert compiled.configured.percentage_of_nodes_to_score == 50


def test_an_argument_of_the_wrong_value_is_named_by_its_path() -> None:
    [mistake] = mistakes_of(fit({"scoringStrategy": {"type": "Most"}}))
    assert mistake.path == "spec.pluginConfig[0].args.scoringStrategy.type"
    assert mistake.body == (
        'Unsupported value: "Most": supported values: "LeastAllocated", "MostAllocated", '
        '"RequestedToCapacityRatio"'
    )
    assert str(mistake).startswith(f"SchedulerProfile batch: {mistake.path}: ")


def test_every_mistake_is_told_at_once() -> None:
    spec = {
        "percentageOfNodesToScore": 101,
        "plugins": {"filter": {"enabled": [{"name": "NodePort"}]}},
        "pluginConfig": [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": "5"}}],
        "extenders": [],
    }
    mistakes = mistakes_of(spec)
    assert sorted(path for path, _ in told(mistakes)) == [
        "spec.extenders",
        "spec.percentageOfNodesToScore",
        "spec.pluginConfig[0].args.hardPodAffinityWeight",
        "spec.plugins.filter.enabled[0].name",
        "spec.schedulerName",
    ]
    [unknown] = [mistake for mistake in mistakes if "plugins.filter" in mistake.path]
    assert unknown.body == 'Invalid value: "NodePort": plugin does not exist'
    assert unknown.meaning == "did you mean NodePorts?"


def test_hints_name_fields_of_the_object() -> None:
    [mistake] = mistakes_of({"schedulerName": "batch", "plugins": {"algorithmSource": {}}})
    assert mistake.meaning == "plugins are named in spec.plugins"


def test_queue_sort_must_be_that_of_the_configuration() -> None:
    spec = {
        "schedulerName": "batch",
        "plugins": {"queueSort": {"enabled": [{"name": "PrioritySort"}]}},
    }
    assert told(mistakes_of(spec)) == [
        (
            "spec.plugins.queueSort",
            'Invalid value: ["PrioritySort"]: must be the same for all profiles',
        )
    ]
    same = "profiles: [{plugins: {queueSort: {enabled: [{name: PrioritySort}]}}}]"
    assert mistakes_of(spec, configuration=configured(same)) == ()


def test_a_plugin_that_prepares_cannot_be_left_out_where_it_judges() -> None:
    spec = {
        "schedulerName": "batch",
        "plugins": {"preFilter": {"disabled": [{"name": "NodeAffinity"}]}},
    }
    [(path, body)] = told(mistakes_of(spec))
    assert path == "spec.plugins"
    assert "NodeAffinity is enabled at filter but disabled at preFilter" in body


@pytest.mark.parametrize("name", ["berthmaster", "gpu"])
def test_names_of_the_configuration_are_taken(name: str) -> None:
    configuration = configured("profiles: [{schedulerName: berthmaster}, {schedulerName: gpu}]")
    assert told(mistakes_of({"schedulerName": name}, configuration=configuration)) == [
        (
            "spec.schedulerName",
            f'Duplicate value: "{name}": the schedulers\' configuration has a profile of this name',
        )
    ]


def test_the_default_scheduler_is_served_only_with_permission() -> None:
    spec = {"schedulerName": "default-scheduler"}
    [(path, body)] = told(mistakes_of(spec))
    assert path == "spec.schedulerName"
    assert body.startswith("Forbidden: default-scheduler is kube-scheduler's")
    permitted = configured("profiles: [{schedulerName: x}]", scheduler_name="default-scheduler")
    assert mistakes_of(spec, configuration=permitted, serves_default=True) == ()


def test_the_oldest_profile_has_a_name_that_several_ask_for() -> None:
    older = make_profile("zeta", {"schedulerName": "batch"}, created="2026-05-01T00:00:00Z")
    younger = make_profile("alpha", {"schedulerName": "batch"}, created="2026-07-01T00:00:00Z")
    itself = make_profile("batch", created="2026-06-01T00:00:00Z")
    spec = {"schedulerName": "batch"}
    assert told(mistakes_of(spec, others=[younger, itself])) == []
    assert told(mistakes_of(spec, others=[younger, older, itself])) == [
        ("spec.schedulerName", 'Duplicate value: "batch": the older SchedulerProfile zeta has it')
    ]


def test_of_two_as_old_the_first_by_name_has_it() -> None:
    spec = {"schedulerName": "batch"}
    created = "2026-06-01T00:00:00Z"
    assert mistakes_of(spec, others=[make_profile("c", spec, created=created)]) == ()
    assert len(mistakes_of(spec, others=[make_profile("a", spec, created=created)])) == 1


def test_an_older_profile_keeps_the_name_that_it_is_still_run_under() -> None:
    invalid = {"schedulerName": "other", "plugins": {"score": {"enabled": [{"name": "No"}]}}}
    older = make_profile("a", invalid, generation=2, active={"schedulerName": "batch"})
    assert told(mistakes_of({"schedulerName": "batch"}, others=[older])) == [
        ("spec.schedulerName", 'Duplicate value: "batch": the older SchedulerProfile a has it')
    ]


def test_nesting_without_end_is_refused_before_it_is_walked() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"a": deep}
    assert [path for path, _ in told(mistakes_of(fit(deep)))] == ["spec"]


class Limits(Args, frozen=True):
    """Arguments of `OneATeam`."""

    count: int


class OneATeam(NodePlugin[Limits]):
    """A user's plugin that takes arguments."""

    name = "OneATeam"
    args_type = Limits

    def __init__(self, args: Limits) -> None:
        if args.count < 0:
            raise ValueError("count is negative")

    def score(self, pod: Any, node: Any) -> int:
        """Give nothing."""
        return 0


USERS = plugin_registry(CustomPlugins({"OneATeam": OneATeam}))


def of_user(args: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return {
        "schedulerName": "batch",
        "plugins": {"score": {"enabled": [{"name": "OneATeam", "weight": 2}]}},
        "pluginConfig": [] if args is None else [{"name": "OneATeam", "args": args}],
    }


def test_a_users_plugin_is_known_and_its_arguments_are_decoded() -> None:
    assert mistakes_of(of_user({"count": 1}), registry=USERS) == ()
    assert told(mistakes_of(of_user({"count": "1"}), registry=USERS)) == [
        ("spec.pluginConfig[0].args.count", 'Invalid value: "1": must be an integer')
    ]
    assert [path for path, _ in told(mistakes_of(of_user({"count": 1})))] == [
        "spec.plugins.score.enabled[0].name",
        "spec.pluginConfig[0].name",
    ]


def test_a_users_plugin_that_cannot_be_made_is_a_mistake() -> None:
    [(path, body)] = told(mistakes_of(of_user({"count": -1}), registry=USERS))
    assert (path, body) == (
        "spec.pluginConfig",
        "Invalid value: plugin OneATeam cannot be made: ValueError: count is negative",
    )
    [(path, body)] = told(mistakes_of(of_user(None), registry=USERS))
    assert path == "spec.pluginConfig"
    assert "plugin OneATeam needs arguments in pluginConfig" in body


def test_plugins_of_a_flag_run_in_profiles_that_do_not_name_them() -> None:
    users = USERS._replace(enabled=("OneATeam",))
    spec = {
        "schedulerName": "batch",
        "pluginConfig": [{"name": "OneATeam", "args": {"count": 1}}],
    }
    compiled = compile_profile(make_profile("batch", spec), (), STATIC, users)
    assert "OneATeam" in compiled.core.plugin_names


class Raising(NodePlugin[Any]):
    """Cannot say what it waits for."""

    def filter(self, pod: Any, node: Any) -> str | None:
        """Pass everything."""
        return None

    def events_to_register(self) -> Any:
        """Fail."""
        raise OSError("on purpose")


def test_a_users_plugin_that_cannot_say_what_it_waits_for_is_a_mistake() -> None:
    registry = plugin_registry(CustomPlugins({"Raising": Raising}))
    spec = {
        "schedulerName": "batch",
        "plugins": {"multiPoint": {"enabled": [{"name": "Raising"}]}},
    }
    assert told(mistakes_of(spec, registry=registry)) == [
        (
            "spec.pluginConfig",
            (
                'Invalid value: plugin Raising cannot be made: plugin "Raising" failed in '
                "events_to_register: OSError: on purpose"
            ),
        )
    ]


def test_whatever_is_in_an_object_it_ends_nobody() -> None:
    [(path, body)] = told(mistakes_of({"schedulerName": "batch", "plugins": object()}))
    assert path == "spec"
    assert "cannot be judged: TypeError" in body
