"""The claims of a Pod, and whose they are."""

import pytest

from scheduler_svc.core.volume_objects import AWSElasticBlockStoreVolumeSource, Volume
from scheduler_svc.core.volumes.claims import (
    PodVolumeClaim,
    claims_of,
    names_claim,
    ownership_error,
)
from tests.storage import claiming, ephemeral, make_claim, pod_claiming, pod_with

DISK = Volume(name="d", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource("vol-1"))


def test_claims_in_the_order_of_the_volumes() -> None:
    pod = pod_with(*claiming("a"), DISK, ephemeral("tmp"), *claiming("a"), name="web")
    assert claims_of(pod) == [
        PodVolumeClaim("a", is_ephemeral=False),
        PodVolumeClaim("web-tmp", is_ephemeral=True),
        PodVolumeClaim("a", is_ephemeral=False),
    ]


def test_a_claim_made_for_the_pod_is_the_pods() -> None:
    pod = pod_with(ephemeral("tmp"), name="web")
    error = "PVC default/web-tmp was not created for pod default/web (pod is not owner)"
    assert ownership_error(pod, make_claim("web-tmp", owner="uid-web")) == ""
    assert ownership_error(pod, make_claim("web-tmp", owner="uid-other")) == error
    assert ownership_error(pod, make_claim("web-tmp")) == error
    elsewhere = make_claim("web-tmp", owner="uid-web", namespace="team")
    assert ownership_error(pod, elsewhere).startswith("PVC team/web-tmp was not created")


@pytest.mark.parametrize(
    ("name", "namespace", "with_ephemeral", "is_named"),
    [
        ("a", "default", True, True),
        ("a", "team", True, False),
        ("b", "default", True, False),
        ("p-scratch", "default", True, True),
        ("p-scratch", "default", False, False),
        ("a", "default", False, True),
    ],
)
def test_which_claims_a_pod_names(
    name: str, namespace: str, with_ephemeral: bool, is_named: bool
) -> None:
    pod = pod_with(*claiming("a"), ephemeral())
    claim = make_claim(name, namespace=namespace)
    assert names_claim(pod, claim, with_ephemeral=with_ephemeral) is is_named
    assert not names_claim(pod_claiming(), claim)
