"""Images by name: who has them, how large they are there, and when that changed."""

from collections.abc import Sequence

from scheduler_svc.core.images import ImageIndex
from scheduler_svc.core.objects import ContainerImage


def image(*names: str, size: int = 1) -> ContainerImage:
    return ContainerImage(names, size)


def holders(index: ImageIndex, name: str) -> dict[int, float]:
    rows, sizes = index.holders(name)
    assert len(set(rows)) == len(rows)
    return dict(zip(rows.tolist(), sizes.tolist(), strict=True))


def index_of(*nodes: Sequence[ContainerImage]) -> ImageIndex:
    index = ImageIndex()
    for row, images in enumerate(nodes):
        index.replace(row, (), images)
    return index


def test_an_image_is_found_under_all_its_names() -> None:
    index = index_of([image("a:1", "a@sha256:0", size=7)])
    assert holders(index, "a:1") == holders(index, "a@sha256:0") == {0: 7.0}
    assert holders(index, "b:1") == {}


def test_each_node_has_its_own_size() -> None:
    index = index_of([image("a", size=7)], [image("a", size=9)], [image("b", size=5)])
    assert holders(index, "a") == {0: 7.0, 1: 9.0}


def test_a_name_that_a_node_lists_twice_counts_once_by_the_first_entry() -> None:
    first, second = image("a", size=1), image("a", "b", size=2)
    index = index_of([first, second], [second, first], [image("a", "a", size=3)])
    assert holders(index, "a") == {0: 1.0, 1: 2.0, 2: 3.0}
    assert holders(index, "b") == {0: 2.0, 1: 2.0}
    assert index.held(2) == {image("a", size=3)}


def test_an_entry_whose_names_are_all_taken_is_left_out() -> None:
    index = index_of([image("a", size=1), image("a", size=2)])
    assert index.held(0) == {image("a", size=1)}


def test_images_that_are_replaced_are_gone() -> None:
    old, new = [image("a"), image("b")], [image("b"), image("c")]
    index = index_of(old)
    index.replace(0, old, new)
    assert holders(index, "a") == {}
    assert holders(index, "b") == holders(index, "c") == {0: 1.0}
    index.replace(0, new, ())
    assert index.held(0) == frozenset()
    assert holders(index, "c") == {}


def test_an_image_stays_while_another_node_has_it() -> None:
    index = index_of([image("a")], [image("a")])
    index.replace(0, [image("a")], ())
    assert holders(index, "a") == {1: 1.0}


def test_one_of_two_images_of_a_name_goes() -> None:
    small, large = image("a", size=1), image("a", size=2)
    index = index_of([small], [large])
    index.replace(1, [large], ())
    assert holders(index, "a") == {0: 1.0}


def test_the_version_tells_of_changes_to_the_images_named() -> None:
    index = index_of([image("a")])
    before = index.version(["a", "z"])
    index.replace(1, (), [image("b")])
    assert index.version(["a", "z"]) == before
    index.replace(1, [image("b")], [image("a")])
    gained = index.version(["a", "z"])
    assert gained != before
    index.replace(1, [image("a")], ())
    assert index.version(["a", "z"]) not in (before, gained)
    assert index.version([]) == ()


def test_held_lists_the_images_of_one_node() -> None:
    index = index_of([image("a"), image("b")], [image("b")])
    assert index.held(0) == {image("a"), image("b")}
    assert index.held(1) == {image("b")}
