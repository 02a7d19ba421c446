"""A stock file, served beside kube-scheduler."""

import pytest
from msgspec import structs

from scheduler_svc.shell.config import (
    Configuration,
    default_configuration,
    fields_without_effect,
    load_configuration,
    rename_for_live,
    to_document,
)
from scheduler_svc.shell.config.effects import FIELDS_WITHOUT_EFFECT
from tests.unit.scheduler_svc.shell.config.recorded import HEAD, read_file


def load(profiles: str, rest: str = "") -> Configuration:
    return load_configuration(
        f"{HEAD}{rest}profiles: {profiles}\n", path="f.yaml", known_plugins={}
    )


def names(configuration: Configuration) -> list[str]:
    return [profile.scheduler_name for profile in configuration.profiles]


@pytest.mark.parametrize(
    ("profiles", "scheduler_name", "expected", "notices"),
    [
        (
            "[{schedulerName: default-scheduler}]",
            "berthmaster",
            ["berthmaster"],
            ("the profile default-scheduler is served as berthmaster",),
        ),
        (
            "[]",
            "berthmaster",
            ["berthmaster"],
            ("the profile default-scheduler is served as berthmaster",),
        ),
        ("[{schedulerName: default-scheduler}]", "default-scheduler", ["default-scheduler"], ()),
        (
            "[{schedulerName: other}, {schedulerName: default-scheduler}]",
            "berthmaster",
            ["other", "berthmaster"],
            ("the profile default-scheduler is served as berthmaster",),
        ),
        (
            "[{schedulerName: default-scheduler}, {schedulerName: berthmaster}]",
            "berthmaster",
            ["berthmaster"],
            ("the profile default-scheduler is not served",),
        ),
        (
            "[{schedulerName: other}]",
            "berthmaster",
            ["other"],
            ("no profile is called berthmaster; served are other",),
        ),
        ("[{schedulerName: berthmaster}]", "berthmaster", ["berthmaster"], ()),
    ],
)
def test_names(
    profiles: str, scheduler_name: str, expected: list[str], notices: tuple[str, ...]
) -> None:
    given = load(profiles)
    live = rename_for_live(given, scheduler_name)

    assert names(live) == expected
    assert live.notices == notices


def test_the_given_configuration_stays_as_it_was() -> None:
    given = load("[{schedulerName: default-scheduler}]")
    live = rename_for_live(given, "berthmaster")

    assert names(given) == ["default-scheduler"]
    assert live.profiles[0].points is given.profiles[0].points
    assert live.profiles[0].args is given.profiles[0].args


def test_without_a_file_there_is_nothing_to_notice() -> None:
    live = rename_for_live(default_configuration(), "berthmaster")

    assert names(live) == ["berthmaster"]
    assert live.notices == ()


@pytest.mark.parametrize(
    ("election", "is_noticed"),
    [
        ("{resourceName: kube-scheduler}", True),
        ("{resourceName: kube-scheduler, leaderElect: false}", False),
        ("{resourceName: mine}", False),
        ("{}", False),
    ],
)
def test_the_lease_of_kube_scheduler_is_noticed(election: str, is_noticed: bool) -> None:
    given = load("[{schedulerName: a}]", f"leaderElection: {election}\n")
    notices = rename_for_live(given, "a").notices

    assert (
        any("while kube-scheduler holds that Lease" in notice for notice in notices) == is_noticed
    )


def test_fields_without_effect_are_named() -> None:
    configuration = load_configuration(
        read_file("every-field.yaml"), path="f.yaml", known_plugins={}
    )

    assert fields_without_effect(configuration) == (
        "clientConnection.acceptContentTypes (requests and answers are JSON)",
        "clientConnection.contentType (requests and answers are JSON)",
        "enableContentionProfiling (there is no Go profiler)",
        "enableProfiling (there is no Go profiler)",
        "parallelism (one thread decides)",
    )


def test_the_percentage_of_nodes_has_no_effect_unless_there_are_extenders() -> None:
    configuration = structs.replace(
        load_configuration(read_file("every-field.yaml"), path="f.yaml", known_plugins={}),
        extenders=(),
    )
    assert fields_without_effect(configuration)[-2:] == (
        "percentageOfNodesToScore (every Node is judged)",
        "profiles[0].percentageOfNodesToScore (every Node is judged)",
    )
    assert len(FIELDS_WITHOUT_EFFECT) == 7


def test_only_what_the_file_sets_is_named() -> None:
    assert fields_without_effect(default_configuration()) == ()
    assert fields_without_effect(load("[]", "parallelism: null\n")) == ()


def test_the_document_can_be_loaded_again() -> None:
    files = ("most-allocated.yaml", "spread-defaults.yaml", "several-profiles.yaml")
    for name in files:
        given = load_configuration(read_file(name), path=name, known_plugins={})
        document = to_document(given)
        again = load_configuration(str(document), path=name, known_plugins={})

        assert to_document(again) == document
        assert again.profiles == given.profiles


def test_raw_arguments_are_in_the_document() -> None:
    text = f"{HEAD}profiles: [{{pluginConfig: [{{name: Energy, args: {{a: [1]}}}}]}}]\n"
    configuration = load_configuration(text, path="f", known_plugins={"Energy": frozenset()})

    assert {"name": "Energy", "args": {"a": [1]}} in to_document(configuration)["profiles"][0][
        "pluginConfig"
    ]
