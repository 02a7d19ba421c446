"""What a Pod demands of its Node: one by one and over columns alike."""

import numpy as np
import pytest

from scheduler_svc.core.columns import NodeView
from scheduler_svc.core.objects import NodeAffinity
from scheduler_svc.core.required_affinity import RequiredAffinity, required_affinity
from tests.builders import make_columns, make_node_info, make_pod_info, required, term, where

A1 = make_node_info("a1", labels={"zone": "a", "gen": "1"})
B5 = make_node_info("b5", labels={"zone": "b", "gen": "5"})
BARE = make_node_info("bare")
NODES = [A1, B5, BARE]
NAMED = required(term(fields=[where("metadata.name", "In", "a1")]))
NOT_NAMED = required(term(fields=[where("metadata.name", "NotIn", "unheard-of")]))


def demanded(
    selector: dict[str, str] | None = None, affinity: NodeAffinity | None = None
) -> RequiredAffinity:
    pod = make_pod_info(selector=selector or {}, affinity=affinity or NodeAffinity())
    return required_affinity(pod.shape)


@pytest.mark.parametrize(
    ("selector", "affinity", "expected"),
    [
        (None, None, ["a1", "b5", "bare"]),
        ({"zone": "a"}, None, ["a1"]),
        ({"zone": "c"}, None, []),
        (None, required(term(where("gen", "Gt", "1"))), ["b5"]),
        (
            None,
            required(term(where("gen", "Gt", "1")), term(where("zone", "In", "a"))),
            ["a1", "b5"],
        ),
        ({"zone": "a"}, required(term(where("gen", "Gt", "1"))), []),
        (None, NAMED, ["a1"]),
        (None, NOT_NAMED, ["a1", "b5", "bare"]),
        (None, required(term(fields=[where("metadata.name", "In", "")])), []),
        (None, required(term()), []),
        (None, required(), []),
        # Nothing can be made of a value that no label can have.
        (None, required(term(where("zone", "NotIn", "-a"))), []),
        (None, required(term(where("zone", "NotIn", "-a")), term(where("gen", "Gt", "1"))), ["b5"]),
    ],
)
def test_the_demands_are_met_by(
    selector: dict[str, str] | None, affinity: NodeAffinity | None, expected: list[str]
) -> None:
    demands, columns = demanded(selector, affinity), make_columns(NODES)
    assert [n.name for n in NODES if demands.matches(n.labels, n.name)] == expected
    mask = demands.mask(NodeView(columns, slice(0, len(NODES))))
    assert [columns.names[row] for row in np.flatnonzero(mask)] == expected


def test_whether_anything_is_demanded() -> None:
    assert not required_affinity(make_pod_info().shape).is_given
    assert not demanded().is_given
    assert demanded({"zone": "a"}).is_given
    assert demanded(affinity=required()).is_given
