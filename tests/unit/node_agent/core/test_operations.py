"""What a Pod's annotations say of it."""

import pytest

from node_agent.core.operations import (
    MIRROR_ANNOTATION,
    SOURCE_ANNOTATION,
    annotation,
    is_mirror,
    is_static,
)
from tests.unit.node_agent.core.pods import make_pod


def test_an_annotation_may_be_missing() -> None:
    assert annotation(make_pod(), "x") is None
    assert annotation(make_pod(annotations={"y": "1"}), "x") is None
    assert annotation(make_pod(annotations={"x": "1"}), "x") == "1"


@pytest.mark.parametrize(
    ("source", "expected"), [("file", True), ("http", True), ("api", False), (None, False)]
)
def test_static_pods_come_from_manifests(source: str | None, expected: bool) -> None:
    annotations = None if source is None else {SOURCE_ANNOTATION: source}
    assert is_static(make_pod(annotations=annotations)) is expected


def test_the_presence_of_its_annotation_makes_a_mirror() -> None:
    assert is_mirror(make_pod(annotations={MIRROR_ANNOTATION: ""}))
    assert not is_mirror(make_pod(annotations={"other": ""}))
