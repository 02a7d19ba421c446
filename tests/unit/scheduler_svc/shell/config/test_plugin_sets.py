"""Merging and expansion, case by case.

The cases with P1 to P4 are those of upstream's TestMergePlugins and
TestNewFrameworkMultiPointExpansion; random ones are in test_against_kube_scheduler.
"""

import pytest

from scheduler_svc.shell.config.extension_points import ExtensionPoint
from scheduler_svc.shell.config.plugin_sets import (
    DEFAULT_PLUGINS,
    EnabledPlugin,
    expand_plugins,
    merge_plugins,
)
from scheduler_svc.shell.config.schema import Plugin, Plugins, PluginSet

AT = ExtensionPoint
SCORING = frozenset({AT.FILTER, AT.SCORE})
KNOWN = dict.fromkeys(("P1", "P2", "P3", "P4"), SCORING)
DEFAULT_NAMES = [plugin.name for plugin in DEFAULT_PLUGINS.multi_point.enabled]


def named(*names: str) -> tuple[Plugin, ...]:
    return tuple(Plugin(name=name) for name in names)


def score(plugins: Plugins) -> list[tuple[str, int]]:
    return [(plugin.name, plugin.weight) for plugin in expand_plugins(plugins, KNOWN)[AT.SCORE]]


def merged_names(custom: PluginSet) -> list[str]:
    merged = merge_plugins(Plugins(multi_point=custom)).multi_point
    return [plugin.name for plugin in merged.enabled]


def test_no_change_is_the_default_set() -> None:
    assert merge_plugins(Plugins()) == DEFAULT_PLUGINS


def test_others_are_appended() -> None:
    assert merged_names(PluginSet(enabled=named("P2", "P1"))) == [*DEFAULT_NAMES, "P2", "P1"]


def test_what_is_disabled_goes() -> None:
    custom = PluginSet(disabled=named("NodeName", "Unheard"))

    assert merged_names(custom) == [name for name in DEFAULT_NAMES if name != "NodeName"]


def test_all_disabled_leaves_what_is_named() -> None:
    custom = PluginSet(enabled=named("P1", "NodeName"), disabled=named("*"))

    assert merged_names(custom) == ["P1", "NodeName"]


def test_disabled_and_enabled_moves_to_the_end() -> None:
    custom = PluginSet(enabled=named("NodeName"), disabled=named("NodeName"))

    rest = [name for name in DEFAULT_NAMES if name != "NodeName"]
    assert merged_names(custom) == [*rest, "NodeName"]


def test_a_default_plugin_is_replaced_in_its_place() -> None:
    custom = PluginSet(enabled=(Plugin(name="NodeAffinity", weight=7), Plugin(name="P1")))
    merged = merge_plugins(Plugins(multi_point=custom)).multi_point.enabled

    assert [plugin.name for plugin in merged] == [*DEFAULT_NAMES, "P1"]
    assert merged[DEFAULT_NAMES.index("NodeAffinity")].weight == 7


def test_a_default_weight_is_lost_with_its_entry() -> None:
    # kube-scheduler takes the entry as a whole: no weight is 1, not the default 2.
    merged = merge_plugins(Plugins(multi_point=PluginSet(enabled=named("NodeAffinity"))))
    points = expand_plugins(merged, {"NodeAffinity": SCORING})

    assert points[AT.SCORE] == (EnabledPlugin("NodeAffinity", 1),)


def test_disabled_sets_are_kept() -> None:
    merged = merge_plugins(Plugins(score=PluginSet(disabled=named("*", "P1"))))

    assert merged.score == PluginSet(disabled=named("*", "P1"))


def test_multi_point_runs_wherever_it_can() -> None:
    points = expand_plugins(Plugins(multi_point=PluginSet(enabled=named("P1"))), KNOWN)

    assert {point for point, plugins in points.items() if plugins} == SCORING
    assert set(points) == set(AT) - {AT.MULTI_POINT}


def test_weight_counts_only_where_scores_are_added() -> None:
    plugins = Plugins(multi_point=PluginSet(enabled=(Plugin(name="P1", weight=5),)))
    points = expand_plugins(plugins, KNOWN)

    assert points[AT.FILTER] == (EnabledPlugin("P1", 0),)
    assert points[AT.SCORE] == (EnabledPlugin("P1", 5),)


@pytest.mark.parametrize(
    ("at_score", "disabled", "multi_point", "expected"),
    [
        # Named at the point and in multiPoint: first, in the order of the point.
        ("P3 P2", "", "P1 P2 P3 P4", "P3 P2 P1 P4"),
        # Named only at the point: last.
        ("P3 P1", "", "P2 P1", "P1 P2 P3"),
        ("P3", "", "", "P3"),
        ("", "", "P2 P1", "P2 P1"),
        # Disabled at the point: multiPoint does not bring it there.
        ("", "P2", "P1 P2 P3", "P1 P3"),
        ("", "*", "P1 P2", ""),
        ("P4 P1", "*", "P1 P2", "P4 P1"),
        # Enabled and disabled at the point: no longer multiPoint's, so last.
        ("P1", "P1", "P1 P2", "P2 P1"),
    ],
)
def test_order(at_score: str, disabled: str, multi_point: str, expected: str) -> None:
    plugins = Plugins(
        score=PluginSet(enabled=named(*at_score.split()), disabled=named(*disabled.split())),
        multi_point=PluginSet(enabled=named(*multi_point.split())),
    )

    assert score(plugins) == [(name, 1) for name in expected.split()]


def test_weight_at_score_overrules_that_of_multi_point() -> None:
    plugins = Plugins(
        score=PluginSet(enabled=(Plugin(name="P1", weight=3), Plugin(name="P2"))),
        multi_point=PluginSet(enabled=(Plugin(name="P1", weight=8), Plugin(name="P2", weight=9))),
    )

    assert score(plugins) == [("P1", 3), ("P2", 1)]


def test_unknown_plugins_run_nowhere() -> None:
    plugins = Plugins(
        score=PluginSet(enabled=named("X")), multi_point=PluginSet(enabled=named("Y"))
    )

    assert score(plugins) == []
