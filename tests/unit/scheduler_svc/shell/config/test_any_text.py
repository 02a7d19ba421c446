"""Whatever the text is, the answer is a configuration or a list of mistakes."""

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from kubeio.durations import format_duration, parse_duration
from scheduler_svc.shell.config import (
    ConfigurationError,
    fields_without_effect,
    load_configuration,
    to_document,
)
from scheduler_svc.shell.config.arguments import ARGUMENT_TYPES
from scheduler_svc.shell.config.extension_points import ExtensionPoint
from scheduler_svc.shell.config.in_tree import IN_TREE_POINTS
from scheduler_svc.shell.config.schema import API_VERSION, KIND, KubeSchedulerConfiguration

FIELDS = sorted(
    {
        field.encode_name
        for fields in map(msgspec.structs.fields, ARGUMENT_TYPES.values())
        for field in fields
    }
    | {field.encode_name for field in msgspec.structs.fields(KubeSchedulerConfiguration)}
    | {"name", "args", "weight", "enabled", "disabled", "plugins", "pluginConfig", "type"}
    | {point.value for point in ExtensionPoint}
)
WORDS = st.sampled_from([*FIELDS, *IN_TREE_POINTS, "*", "15s", "", "x"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=15,
)
PLUGIN_LISTS = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from(sorted(IN_TREE_POINTS))} | {}) | TREES,
    max_size=3,
)
PLUGINS = st.dictionaries(
    st.sampled_from([point.value for point in ExtensionPoint]),
    st.fixed_dictionaries({}, optional={"enabled": PLUGIN_LISTS, "disabled": PLUGIN_LISTS}),
    max_size=4,
)
PROFILES = st.fixed_dictionaries(
    {},
    optional={
        "schedulerName": WORDS,
        "plugins": PLUGINS,
        "pluginConfig": st.lists(
            st.fixed_dictionaries({"name": st.sampled_from(sorted(ARGUMENT_TYPES)), "args": TREES}),
            max_size=3,
        ),
    },
)
FILES = st.fixed_dictionaries(
    {"apiVersion": st.just(API_VERSION), "kind": st.just(KIND)},
    optional={
        "profiles": st.lists(PROFILES | TREES, max_size=3),
        "leaderElection": TREES,
        "clientConnection": TREES,
        "extenders": st.lists(TREES, max_size=3),
        "percentageOfNodesToScore": SCALARS,
    },
)


def check(text: str | bytes) -> None:
    try:
        configuration = load_configuration(text, path="f", known_plugins={})
    except ConfigurationError as error:
        mistakes = error.mistakes
    else:
        assert msgspec.json.encode(to_document(configuration))
        fields_without_effect(configuration)
        return
    assert mistakes
    assert all(str(mistake).startswith("f:") for mistake in mistakes)


@settings(deadline=None, max_examples=150)
@given(st.text() | st.binary())
def test_any_text(text: str | bytes) -> None:
    check(text)


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet="ab:-[]{},&*!'\"|>#? \n\t%@`<~0"))
def test_text_of_yaml_characters(text: str) -> None:
    check(text)


@settings(deadline=None, max_examples=100)
@given(FILES)
def test_any_tree_of_known_words(file: dict[str, Any]) -> None:
    check(msgspec.json.encode(file))


@given(st.integers(min_value=-(2**50), max_value=2**50))
def test_a_duration_is_read_as_it_was_written(nanoseconds: int) -> None:
    text = format_duration(nanoseconds / 1e9)

    assert round(parse_duration(text) * 1e9) == nanoseconds
