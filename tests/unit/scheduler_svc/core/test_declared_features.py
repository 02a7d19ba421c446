"""Which features of the kubelet a Pod's specification asks for."""

import msgspec
import pytest

from scheduler_svc.core.declared_features import required_features
from scheduler_svc.core.objects import PodSpec

RULE = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}}


@pytest.mark.parametrize(
    ("spec", "features"),
    [
        ({}, ()),
        ({"hostNetwork": True}, ()),
        ({"hostNetwork": True, "hostUsers": True}, ()),
        ({"hostUsers": False}, ()),
        ({"hostNetwork": True, "hostUsers": False}, ("UserNamespacesHostNetworkSupport",)),
        (
            {"containers": [{"name": "c", "restartPolicyRules": [RULE]}]},
            ("RestartAllContainersOnContainerExits",),
        ),
        (
            {"initContainers": [{"name": "c", "restartPolicyRules": [RULE]}], "hostUsers": False},
            ("RestartAllContainersOnContainerExits",),
        ),
        ({"containers": [{"name": "c", "restartPolicyRules": [{"action": "Restart"}]}]}, ()),
        (
            {
                "containers": [{"name": "c", "restartPolicyRules": [RULE]}],
                "hostNetwork": True,
                "hostUsers": False,
            },
            ("RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"),
        ),
    ],
)
def test_features_follow_from_the_specification(
    spec: dict[str, object], features: tuple[str, ...]
) -> None:
    assert required_features(msgspec.convert(spec, PodSpec)) == features
