"""Which volumes may keep a Pod from a Node."""

from typing import Any

import msgspec
import pytest

from scheduler_svc.core.volume_objects import Volume


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"persistentVolumeClaim": {"claimName": "data"}}, True),
        ({"ephemeral": {"volumeClaimTemplate": {"spec": {}}}}, True),
        ({"gcePersistentDisk": {"pdName": "disk"}}, True),
        ({"awsElasticBlockStore": {"volumeID": "vol-1"}}, True),
        ({"iscsi": {"iqn": "iqn.2001-04.com.example", "targetPortal": "10.0.0.1", "lun": 0}}, True),
        ({"rbd": {"monitors": ["10.0.0.1"], "image": "foo"}}, True),
        ({"csi": {"driver": "csi.example.com"}}, True),
        ({"image": {"reference": "models:1"}}, False),
        ({"configMap": {"name": "settings"}}, False),
        ({"emptyDir": {}}, False),
    ],
)
def test_volumes_that_may_keep_a_pod_from_a_node(source: dict[str, Any], expected: bool) -> None:
    assert msgspec.convert({"name": "v", **source}, Volume).is_tied is expected
