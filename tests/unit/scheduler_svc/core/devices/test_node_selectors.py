"""Which Nodes a slice or an allocation is for."""

import msgspec
import pytest

from scheduler_svc.core.devices.node_selectors import row_mask, selected_rows
from scheduler_svc.core.objects import NodeSelector
from tests.builders import make_node_info
from tests.device_builders import device_cluster

NODES = [make_node_info(name, labels={"zone": zone}) for name, zone in (("n1", "a"), ("n2", "b"))]


def zone(*values: str) -> dict[str, object]:
    return {"matchExpressions": [{"key": "zone", "operator": "In", "values": list(values)}]}


def field(name: str) -> dict[str, object]:
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}


@pytest.mark.parametrize(
    ("terms", "names"),
    [
        ([zone("a")], ["n1"]),
        ([zone("c")], []),
        ([zone("a"), zone("b")], ["n1", "n2"]),
        ([field("n2")], ["n2"]),
        ([zone("a") | field("n2")], []),
        ([{}], []),
        ([], []),
    ],
)
def test_nodes_that_match_one_of_the_terms(
    terms: list[dict[str, object]], names: list[str]
) -> None:
    columns = device_cluster(NODES).columns
    selector = msgspec.convert({"nodeSelectorTerms": terms}, NodeSelector)
    mask = selected_rows(selector, columns)
    assert [columns.names[row] for row in mask.nonzero()[0]] == names


def test_a_node_by_name() -> None:
    cluster = device_cluster(NODES)
    assert row_mask("n2", cluster.columns).nonzero()[0].tolist() == [1]
    assert not row_mask("n3", cluster.columns).any()
    cluster.columns.row_for("unseen")
    assert not row_mask("unseen", cluster.columns).any()
