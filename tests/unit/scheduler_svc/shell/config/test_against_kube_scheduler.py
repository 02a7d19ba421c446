"""The same files, the same judgement: recorded answers of the real kube-scheduler."""

import re
from typing import Any

import pytest

from scheduler_svc.shell.config import (
    Configuration,
    ConfigurationError,
    ExtensionPoint,
    Mistake,
    load_configuration,
    to_document,
)
from scheduler_svc.shell.config.extension_points import WEIGHTED_POINTS
from tests.unit.scheduler_svc.shell.config.recorded import (
    ACCEPTED,
    CASES,
    REFUSED,
    text_of,
)

REFUSED_ON_PURPOSE = {
    "two-documents": "the file has a second document; one is read",
    "short-renew-deadline": "must be greater than retryPeriod*JitterFactor (2.4s)",
    "renew-deadline-near-retry": "must be greater than retryPeriod*JitterFactor (2.4s)",
    "args-of-unknown-plugin": "plugin does not exist",
    "negative-weight": "a weight is 1 or more; 0 counts as 1",
}
ACCEPTED_ON_PURPOSE = {"merge-key-overridden"}

OTHER_WORDS = {
    # The name where kube-scheduler has an unwritten path, a plugin where it has a count.
    "same-scheduler-name",
    "queue-sort-twice",
    "queue-sort-differs",
    # All mistakes where kube-scheduler stops before it builds the plugins.
    "random-9",
    # The name's own path where kube-scheduler has that of the list's entry.
    "removed-plugins",
    "args-twice",
}


def load(name: str) -> Configuration:
    return load_configuration(text_of(name), path=name, known_plugins={})


def cut(text: str) -> str:
    """Cut long values, which kube-scheduler shows whole."""
    return re.sub(r'"([^"\s]{119})[^"\s]*"', r'"\1…', text)


def mistakes_of(name: str) -> tuple[Mistake, ...]:
    with pytest.raises(ConfigurationError) as caught:
        load(name)
    return caught.value.mistakes


@pytest.mark.parametrize("name", [n for n in ACCEPTED if n not in REFUSED_ON_PURPOSE])
def test_what_runs_kube_scheduler_is_expanded_equally(name: str) -> None:
    points: dict[str, dict[str, list[Any]]] = {}
    for profile in load(name).profiles:
        ours = points.setdefault(profile.scheduler_name, {})
        for point, plugins in profile.points.items():
            if plugins:
                weighted = [[plugin.name, plugin.weight] for plugin in plugins]
                names = [plugin.name for plugin in plugins]
                ours[str(point)] = weighted if point in WEIGHTED_POINTS else names

    assert points == CASES[name]["points"]


@pytest.mark.parametrize("name", [n for n in ACCEPTED if "document" in CASES[n]])
def test_defaults_are_those_of_kube_scheduler(name: str) -> None:
    document, expected = to_document(load(name)), dict(CASES[name]["document"])
    if name != "every-field.yaml":
        assert document["leaderElection"]["resourceName"] == "berthmaster"
        assert document["clientConnection"]["qps"] == -1
        document["leaderElection"]["resourceName"] = "kube-scheduler"
        document["clientConnection"]["qps"] = 50
        expected |= {"extenders": [], "delayCacheUntilActive": False}
    else:
        shown = document["extenders"][0]["tlsConfig"].pop("keyData")
        assert shown == "--- REDACTED ---"
        assert expected["extenders"][0]["tlsConfig"].pop("keyData") == "cHJpdmF0ZSBrZXk="

    assert document == expected


@pytest.mark.parametrize("name", [n for n in REFUSED if n not in ACCEPTED_ON_PURPOSE])
def test_what_kube_scheduler_refuses_is_refused(name: str) -> None:
    assert mistakes_of(name)


@pytest.mark.parametrize(
    "name",
    [n for n in REFUSED if CASES[n]["stage"] == "validation" and n not in OTHER_WORDS],
)
def test_validation_has_the_same_errors_in_the_same_words(name: str) -> None:
    expected = {
        # kube-scheduler's paths name the label's key in brackets, and forget `preference`.
        re.sub(r"(values\[\d\])\[\w\]", r"\1", cut(error))
        .replace("Execution[0].matchExpressions", "Execution[0].preference.matchExpressions")
        .replace("values: Invalid value: null", "values: Invalid value: []")
        .replace('[{"Utilization":0,"Score":0}]', '[{"utilization":0,"score":0}]')
        for error in CASES[name]["errors"]
    }

    assert {f"{mistake.path}: {mistake.body}" for mistake in mistakes_of(name)} == expected


@pytest.mark.parametrize(
    "name",
    [
        "strategy-without-type",
        "fit-mistakes",
        "fit-names",
        "ratio-empty-shape",
        "ratio-shape-mistakes",
        "ratio-without-shape",
    ],
)
def test_fit_arguments_have_the_errors_that_building_the_plugin_has(name: str) -> None:
    (error,) = CASES[name]["errors"]
    args = "profiles[0].pluginConfig[0].args."
    found = [f"{m.path.removeprefix(args)}: {m.body}" for m in mistakes_of(name)]

    rest = cut(error.partition('"NodeResourcesFit": ')[2])
    for text in found:
        assert text in rest
        rest = rest.replace(text, "", 1)
    assert rest.strip("[], ") == ""


@pytest.mark.parametrize(("name", "detail"), REFUSED_ON_PURPOSE.items())
def test_deliberate_refusals(name: str, detail: str) -> None:
    assert "errors" not in CASES[name]
    assert [mistake.detail for mistake in mistakes_of(name)] == [detail]


def test_a_merged_key_may_be_overridden() -> None:
    assert [profile.scheduler_name for profile in load("merge-key-overridden").profiles] == [
        "b",
        "c",
    ]


def test_every_extension_point_is_recorded() -> None:
    recorded = {
        point for name in ACCEPTED for points in CASES[name]["points"].values() for point in points
    }

    # No in-tree plugin implements postBind.
    assert recorded == set(ExtensionPoint) - {ExtensionPoint.MULTI_POINT, ExtensionPoint.POST_BIND}
