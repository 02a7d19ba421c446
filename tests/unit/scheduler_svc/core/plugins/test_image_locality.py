"""ImageLocality: the size of the images that a Node has, and how many Nodes have them."""

from typing import Any

import pytest

from scheduler_svc.core.framework.evaluation import Evaluation
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import ContainerImage
from scheduler_svc.core.plugins.image_locality import ImageLocality
from tests.builders import (
    MIB,
    PodFields,
    make_cache,
    make_container,
    make_node_info,
    make_pod_info,
    make_profile,
)
from tests.unit.scheduler_svc.core.plugins.asking import scored


def node(name: str, **sizes_mib: int) -> NodeInfo:
    """Build a Node with images, named with the tag 1."""
    images = [ContainerImage((f"{image}:1",), size * MIB) for image, size in sizes_mib.items()]
    return make_node_info(name, images=images)


def of_one(mib: float) -> int:
    """Give the score for so many MiB in a Pod of one container: from 23 to 1000 MiB."""
    return int(100 * (min(max(mib, 23), 1000) - 23) / 977)


@pytest.mark.parametrize(
    ("fields", "nodes", "expected"),
    [
        pytest.param(
            {"images": ["app:1"]}, [node("a", app=500)], {"a": of_one(500)}, id="one node has it"
        ),
        pytest.param(
            {"images": ["app:1"]},
            [node("a", app=500), node("b")],
            {"a": of_one(250), "b": 0},
            id="one of two nodes has it",
        ),
        pytest.param(
            {"images": ["app:1"]},
            [node("a", app=500), node("b", app=900)],
            {"a": of_one(500), "b": of_one(900)},
            id="each node has its own size",
        ),
        pytest.param({"images": ["app:1"]}, [node("a", app=22)], {"a": 0}, id="too small to count"),
        pytest.param(
            {"images": ["app:1"]}, [node("a", app=1001)], {"a": 100}, id="no more than all points"
        ),
        pytest.param(
            {"images": ["app:2"]}, [node("a", app=500)], {"a": 0}, id="another tag is another image"
        ),
        pytest.param(
            # (300 + 500 - 23) / (2000 - 23)
            {"images": ["app:1", "web:1"]},
            [node("a", app=300, web=500)],
            {"a": 39},
            id="two containers",
        ),
        pytest.param(
            {"images": ["app:1", "app:1"]},
            [node("a", app=400)],
            {"a": 39},
            id="an image counts for each container that has it",
        ),
        pytest.param(
            {
                "images": ["none"],
                "init_containers": [make_container("i", image="app:1")],
                "image_volumes": ["web:1"],
            },
            [node("a", app=300, web=500)],
            {"a": 39},
            id="init containers and image volumes; a volume is no container",
        ),
        pytest.param({}, [node("a", app=500)], {"a": 0}, id="no image"),
    ],
)
def test_scores(fields: PodFields, nodes: list[NodeInfo], expected: dict[str, int]) -> None:
    assert scored(ImageLocality(), make_pod_info(**fields), nodes) == expected


def test_the_tag_latest_is_understood() -> None:
    image = ContainerImage(("registry:5000/app:latest",), 500 * MIB)
    pod = make_pod_info(images=["registry:5000/app"])
    assert scored(ImageLocality(), pod, [make_node_info("a", images=[image])]) == {"a": of_one(500)}


def test_the_share_of_an_image_is_cut_to_whole_bytes() -> None:
    # The first point is had with 23 MiB and 10244587.52 bytes; a third of this is 0.15 more.
    image = ContainerImage(("app:1",), 3 * (23 * MIB + 10244587) + 2)
    nodes = [make_node_info("a", images=[image]), make_node_info("b"), make_node_info("c")]
    scores = scored(ImageLocality(), make_pod_info(images=["app:1"]), nodes)
    assert scores == {"a": 0, "b": 0, "c": 0}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(node("new"), of_one(600 / 3), id="one node more"),
        pytest.param(node("b", app=700), of_one(600), id="one node more has it"),
        pytest.param(None, of_one(600), id="one node less"),
    ],
)
def test_scores_follow_what_other_nodes_have(change: Any, expected: int) -> None:
    plugin = ImageLocality()
    cache = make_cache([node("a", app=600), node("b")])
    profile = make_profile({"preScore": [plugin], "score": [plugin]})
    evaluation = Evaluation(prepare(profile, make_pod_info(images=["app:1"]), cache.cluster))
    row = cache.columns.rows["a"]
    evaluation.refresh(cache.columns)
    assert evaluation.totals[row] == of_one(300)
    if change is None:
        cache.remove_node("b")
    else:
        cache.set_node(change)
    evaluation.refresh(cache.columns)
    assert evaluation.totals[row] == expected
