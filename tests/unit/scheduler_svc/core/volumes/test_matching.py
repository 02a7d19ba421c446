"""Which existing volumes claims would get."""

from typing import Any

import numpy as np
import pytest

from scheduler_svc.core.affinity_objects import LabelSelector
from scheduler_svc.core.storage_objects import (
    ClaimReference,
    PersistentVolume,
    PersistentVolumeClaim,
)
from scheduler_svc.core.volumes.matching import NO_VOLUME, VolumeMatching
from tests.builders import make_node_info, term, where
from tests.storage import HOSTNAME, make_claim, make_storage_cluster, make_volume

NAMES = ("a", "b")
NODES = [make_node_info(name, labels={HOSTNAME: name}) for name in NAMES]


def matched(
    claims: list[PersistentVolumeClaim], *volumes: PersistentVolume, nodes: str = "ab"
) -> dict[str, list[str]]:
    """Give by claim, in the order in which they are served, the volume on each Node."""
    cluster = make_storage_cluster(NODES, volumes)
    wanted = np.zeros(cluster.columns.capacity, dtype=np.bool_)
    wanted[[NAMES.index(name) for name in nodes]] = True
    matching = VolumeMatching(cluster.volumes, claims, wanted)
    return {
        match.claim.metadata.name: [
            "" if number == NO_VOLUME else matching.volume(int(number)).name
            for number in match.numbers[: len(NAMES)]
        ]
        for match in matching.matches
    }


def test_the_smallest_that_will_do() -> None:
    claims = [make_claim("x", size="2Gi")]
    volumes = [
        make_volume("large", size="9Gi"),
        make_volume("medium", size="3Gi", on="a"),
        make_volume("small", size="1Gi"),
    ]
    assert matched(claims, *volumes) == {"x": ["medium", "large"]}
    assert matched(claims, *volumes, nodes="b") == {"x": ["", "large"]}
    assert matched(claims) == {"x": ["", ""]}


def test_of_one_size_by_name_those_of_few_nodes_first() -> None:
    volumes = [make_volume("2"), make_volume("1")]
    assert matched([make_claim("x")], *volumes) == {"x": ["1", "1"]}
    on_b = make_volume("4", on="b")
    assert matched([make_claim("x")], *volumes, make_volume("3", on="b"), on_b) == {"x": ["1", "3"]}


def test_claims_of_one_kind_share_its_volumes() -> None:
    volumes = [make_volume("1", on="a"), make_volume("2", on="a"), make_volume("3")]
    claims = [make_claim(name) for name in ("x", "y", "z")]
    assert matched(claims, *volumes) == {"x": ["1", "3"], "y": ["2", ""], "z": ["3", ""]}


def test_selected_labels_among_many() -> None:
    volumes = [make_volume("1"), make_volume("2", labels={"tier": "x"})]
    claim = make_claim("x", selector=LabelSelector({"tier": "x"}))
    assert matched([claim], *volumes) == {"x": ["2", "2"]}


@pytest.mark.parametrize(
    ("volume", "claim", "fits"),
    [
        ({}, {}, True),
        ({"size": "1023Mi"}, {}, False),
        ({"size": None}, {}, False),
        ({}, {"size": None}, True),
        ({"storage_class": "fast"}, {}, False),
        ({"volume_mode": "Block"}, {}, False),
        ({"volume_mode": "Block"}, {"volume_mode": "Block"}, True),
        ({"volume_mode": "Filesystem"}, {}, True),
        ({"volume_attributes_class_name": "gold"}, {}, False),
        ({}, {"volume_attributes_class_name": "gold"}, False),
        (
            {"volume_attributes_class_name": "gold"},
            {"volume_attributes_class_name": "gold"},
            True,
        ),
        ({}, {"volume_attributes_class_name": ""}, True),
        ({"phase": "Released"}, {}, False),
        ({"is_terminating": True}, {}, False),
        ({"access_modes": ("ReadWriteMany",)}, {}, False),
        ({"access_modes": ("ReadWriteMany", "ReadWriteOnce")}, {}, True),
        ({}, {"access_modes": ("ReadWriteOnce", "ReadOnlyMany")}, False),
        ({"labels": {"tier": "x"}}, {"selector": LabelSelector({"tier": "x"})}, True),
        ({"labels": {"tier": "y"}}, {"selector": LabelSelector({"tier": "x"})}, False),
        ({}, {"selector": LabelSelector({"tier": "x"})}, False),
        ({"claim": "other"}, {}, False),
    ],
)
def test_what_an_open_volume_must_be_like(
    volume: dict[str, Any], claim: dict[str, Any], fits: bool
) -> None:
    found = matched([make_claim("x", **claim)], make_volume("v", **volume))
    assert found == {"x": ["v", "v"] if fits else ["", ""]}


def test_a_volume_kept_for_the_claim_comes_first() -> None:
    small, kept = make_volume("small"), make_volume("kept", size="9Gi", claim="x", phase="Bound")
    assert matched([make_claim("x")], small, kept) == {"x": ["kept", "kept"]}


def test_where_the_kept_volume_is_not_reached_no_other_will_do() -> None:
    kept = make_volume("kept", claim="x", on="a")
    assert matched([make_claim("x")], make_volume("small"), kept) == {"x": ["kept", ""]}


@pytest.mark.parametrize(
    "kept",
    [
        {"size": "1Mi"},
        {"volume_mode": "Block"},
        {"is_terminating": True},
        {"claim_ref": ClaimReference("default", "x", "uid-of-another")},
        {"claim_ref": ClaimReference("team", "x")},
    ],
)
def test_a_kept_volume_that_does_not_suit_is_none(kept: dict[str, Any]) -> None:
    fields = {"claim": "x", **kept}
    volumes = [make_volume("small"), make_volume("kept", **fields)]
    assert matched([make_claim("x")], *volumes) == {"x": ["small", "small"]}


def test_a_kept_volume_need_not_be_open_or_have_the_modes() -> None:
    kept = make_volume("kept", claim="x", phase="Released", access_modes=())
    selecting = make_claim("x", selector=LabelSelector({"tier": "x"}))
    assert matched([selecting], kept) == {"x": ["kept", "kept"]}


def test_small_claims_are_served_first_and_no_volume_twice() -> None:
    claims = [make_claim("large", size="2Gi"), make_claim("small", size="1Gi")]
    everywhere, on_a = make_volume("1", size="3Gi"), make_volume("2", size="5Gi", on="a")
    assert matched(claims, everywhere, on_a) == {"small": ["1", "1"], "large": ["2", ""]}


def test_a_claim_named_twice_gets_two_volumes_as_upstream() -> None:
    claim = make_claim("x")
    cluster = make_storage_cluster(NODES, [make_volume("1"), make_volume("kept", claim="x")])
    everywhere = np.ones(cluster.columns.capacity, dtype=np.bool_)
    first, second = VolumeMatching(cluster.volumes, [claim, claim], everywhere).matches
    assert first.numbers[0] != second.numbers[0]


def test_node_affinity_of_any_kind() -> None:
    either = make_volume("v", on=term(where(HOSTNAME, "NotIn", "a")))
    assert matched([make_claim("x")], either) == {"x": ["", "v"]}
