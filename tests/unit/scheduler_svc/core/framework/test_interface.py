"""What the contracts give to plugins that say nothing themselves."""

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.framework.interface import Plugin, PreFilterResult
from scheduler_svc.core.status import Code
from tests.builders import make_columns, make_node_info, make_pod_info
from tests.scripted_plugins import Reserving, Scoring, named


def test_a_plugin_reads_nothing_but_the_shape_unless_it_says_so() -> None:
    assert Plugin.pod_fields == frozenset()


def test_pre_filter_succeeds_unless_told_otherwise() -> None:
    result = PreFilterResult()
    assert result.status.code is Code.SUCCESS
    assert result.state is None
    assert result.node_names is None


def test_a_score_depends_on_nothing_outside_of_its_scope() -> None:
    plugin, columns = named("S", Scoring)({}), make_columns()
    before = plugin.score_version(None, columns)
    columns.set_node(make_node_info())
    assert plugin.score_version(None, columns) == before


def test_a_state_weighs_nothing_and_nothing_has_failed_unless_the_plugin_says_so() -> None:
    plugin = named("S", Scoring)({})
    assert plugin.state_size_bytes(object()) == 0
    assert plugin.failure(object()) is None
    assert plugin.projection(make_pod_info(), Cluster()) is None


def test_there_is_nothing_to_undo_unless_the_plugin_says_so() -> None:
    assert named("R", Reserving)([]).undo(make_pod_info(), "n") is None
