"""The Binding as it is sent."""

import msgspec

from scheduler_svc.core.effects import BindPod, PodReference
from scheduler_svc.shell.writes.binding_request import encode_binding, pod_path


def test_body() -> None:
    effect = BindPod(
        pod=PodReference("shop", "web-1", "6f2c"),
        scheduler_name="berthmaster",
        node_name="node-7",
        decision_id="b-1-9",
        attempt=2,
        decided_at_seconds=1_796_000_000.25,
        queue_wait_seconds=0.0015,
    )
    assert msgspec.json.decode(encode_binding(effect)) == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {
            "name": "web-1",
            "namespace": "shop",
            "uid": "6f2c",
            "annotations": {
                "berthmaster.dev/decision-id": "b-1-9",
                "berthmaster.dev/attempt": "2",
                "berthmaster.dev/decided-at": "1796000000250000000",
                "berthmaster.dev/queue-wait": "1500000",
            },
        },
        "target": {"apiVersion": "v1", "kind": "Node", "name": "node-7"},
    }


def test_path() -> None:
    pod = PodReference("shop", "web-1.a", "6f2c")
    assert pod_path(pod) == "/api/v1/namespaces/shop/pods/web-1.a"
