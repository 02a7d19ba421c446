"""What is known of volumes, in one place."""

from tests.builders import make_node_info
from tests.storage import (
    ephemeral,
    make_claim,
    make_class,
    make_storage_cache,
    pod_claiming,
    pod_with,
)


def test_claims_and_classes_by_name() -> None:
    claim, slow = make_claim(), make_class()
    volumes = make_storage_cache(objects=[claim, slow]).cluster.volumes
    assert volumes.claim("default", "data") is claim
    assert volumes.claim("team", "data") is None
    assert volumes.storage_class("slow") is slow
    assert volumes.storage_class("fast") is None
    assumed = make_claim(selected_node="n1")
    volumes.claims.assume(assumed)
    assert volumes.claim("default", "data") is assumed


def test_uses_of_a_claim_by_pods_on_nodes() -> None:
    pods = [
        pod_claiming("data", "data", name="p1", node="a"),
        pod_claiming("data", name="p2", node="b"),
        pod_claiming("data", name="p3", node="b", namespace="team"),
        pod_with(ephemeral("data"), name="p4", node="b"),
    ]
    cache = make_storage_cache([make_node_info("a")], [], pods)
    volumes = cache.cluster.volumes
    assert volumes.claim_uses("default", "data") == 3
    assert volumes.claim_uses("team", "data") == 1
    assert volumes.claim_uses("default", "p4-data") == 0
    for name in ("p1", "p2"):
        cache.remove(f"uid-{name}")
    assert volumes.claim_uses("default", "data") == 0
