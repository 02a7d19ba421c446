"""Labels stay few, and the SLI leaves out what it must."""

import pytest

from node_agent.core.journey.pod_kinds import is_stateful, workload_kind
from tests.unit.node_agent.core.pods import make_pod


@pytest.mark.parametrize(
    ("owners", "expected"),
    [
        ([], "none"),
        ([{"kind": "ReplicaSet", "name": "r", "controller": True}], "ReplicaSet"),
        ([{"kind": "Node", "name": "n", "controller": True}], "Node"),
        ([{"kind": "Rollout", "name": "r", "controller": True}], "other"),
        ([{"kind": "Job", "name": "j"}], "none"),
        (
            [{"kind": "X", "name": "x"}, {"kind": "Job", "name": "j", "controller": True}],
            "Job",
        ),
    ],
)
def test_workload_kind(owners: list[dict[str, object]], expected: str) -> None:
    assert workload_kind(make_pod(ownerReferences=owners)) == expected


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        ({"name": "v", "emptyDir": {}}, False),
        ({"name": "v", "configMap": {"name": "m"}}, False),
        ({"name": "v", "secret": {"secretName": "s"}}, False),
        ({"name": "v", "downwardAPI": {}}, False),
        ({"name": "v", "projected": {}}, False),
        ({"name": "v", "hostPath": {"path": "/x"}}, True),
        ({"name": "v", "persistentVolumeClaim": {"claimName": "c"}}, True),
        ({"name": "v", "csi": {"driver": "d"}}, True),
        ({"name": "v", "image": {"reference": "i"}}, True),
    ],
)
def test_state_is_held_in_all_but_five_kinds_of_volumes(
    volume: dict[str, object], expected: bool
) -> None:
    spec = {"containers": [{"name": "c"}], "volumes": [volume]}
    assert is_stateful(make_pod(spec=spec)) is expected


def test_no_volume_no_state() -> None:
    assert not is_stateful(make_pod())
