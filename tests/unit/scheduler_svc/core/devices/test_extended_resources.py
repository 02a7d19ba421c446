"""Extended resources as requests for devices, with kube-scheduler's names."""

from typing import Any

import msgspec
import pytest

from scheduler_svc.core.devices.extended_resources import (
    classes_by_resource,
    container_demand,
    may_be_devices,
)
from scheduler_svc.core.objects import PodSpec
from scheduler_svc.core.resources import extended_requests
from tests.device_builders import container, make_class

GPU = "example.com/gpu"


@pytest.mark.parametrize(
    ("name", "can_be"),
    [
        (GPU, True),
        ("deviceclass.resource.kubernetes.io/gpu", True),
        ("hugepages-2Mi", False),
        ("kubernetes.io/x", False),
    ],
)
def test_resources_that_a_class_can_stand_for(name: str, can_be: bool) -> None:
    assert may_be_devices(name) is can_be


def test_of_classes_with_one_name_the_newer_counts_then_the_lower() -> None:
    old = make_class("old", extendedResourceName=GPU, created="2026-01-01T00:00:00Z")
    new = make_class("new", extendedResourceName=GPU, created="2026-01-02T00:00:00Z")
    also = make_class("also", extendedResourceName=GPU, created="2026-01-02T00:00:00Z")
    plain = make_class("plain")
    found = classes_by_resource([old, new, also, plain])
    assert found[GPU] is also
    prefix = "deviceclass.resource.kubernetes.io/"
    assert {found[f"{prefix}{one.metadata.name}"] is one for one in (old, new, also, plain)} == {
        True
    }


def demand(
    containers: list[dict[str, Any]], init: list[dict[str, Any]] | None = None
) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Give the requests, name to count, and container and request of each mapping."""
    spec = msgspec.convert({"containers": containers, "initContainers": init or []}, PodSpec)
    found = container_demand(extended_requests(spec), {GPU: "gpu"})
    counts = {r.name: r.exactly.count for r in found.requests if r.exactly is not None}
    return counts, [(m.container_name, m.request_name) for m in found.mappings]


def test_a_request_is_named_by_container_and_place_among_its_requests() -> None:
    both = {"cpu": "1", GPU: "2", "memory": "1Gi"}
    assert demand([container("a", {"cpu": "1"}), container("b", both)]) == (
        {"container-1-request-1": 2},
        [("b", "container-1-request-1")],
    )
    assert demand([container("a", {GPU: "0"}), container("b", {GPU: "1"})])[0] == {
        "container-1-request-0": 1
    }


def test_of_a_part_of_a_device_nobody_makes_a_request() -> None:
    parts = [container("a", {GPU: "1500m"}), container("b", {GPU: "2000m"})]
    assert demand(parts) == ({"container-1-request-0": 2}, [("b", "container-1-request-0")])


def test_containers_that_end_use_what_later_ones_have() -> None:
    init = [container("i", {GPU: "2"})]
    assert demand([container("a", {GPU: "1"}), container("b", {GPU: "3"})], init) == (
        {"container-1-request-0": 1, "container-2-request-0": 3},
        [
            ("a", "container-1-request-0"),
            ("b", "container-2-request-0"),
            ("i", "container-1-request-0"),
            ("i", "container-2-request-0"),
        ],
    )


def test_of_what_they_need_beyond_only_the_most_is_requested() -> None:
    init = [
        container("i", {GPU: "3"}),
        container("j", {GPU: "5"}),
        container("k", {GPU: "2"}),
        container("none"),
    ]
    assert demand([container("a", {GPU: "1"})], init) == (
        {"container-1-request-0": 4, "container-4-request-0": 1},
        [
            ("a", "container-4-request-0"),
            ("i", "container-4-request-0"),
            ("i", "container-1-request-0"),
            ("j", "container-4-request-0"),
            ("j", "container-1-request-0"),
            ("k", "container-4-request-0"),
            ("k", "container-1-request-0"),
        ],
    )


def test_a_sidecar_lasts_and_serves_only_those_before_it() -> None:
    init = [
        container("i", {GPU: "1"}),
        container("s", {GPU: "1"}, is_sidecar=True),
        container("j", {GPU: "1"}),
    ]
    assert demand([container("a")], init) == (
        {"container-1-request-0": 1, "container-2-request-0": 1},
        [
            ("s", "container-1-request-0"),
            ("i", "container-1-request-0"),
            ("j", "container-2-request-0"),
        ],
    )
