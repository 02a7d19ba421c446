from scheduler_svc.core.queue.heap import KeyedHeap


class Item:
    def __init__(self, uid: str, rank: int) -> None:
        self.uid, self.rank = uid, rank


def heap_of(*ranks: int) -> KeyedHeap[Item]:
    heap: KeyedHeap[Item] = KeyedHeap(lambda item: (item.rank,))
    for number, rank in enumerate(ranks):
        heap.push(str(number), Item(str(number), rank))
    return heap


def popped_uids(heap: KeyedHeap[Item]) -> list[str]:
    uids = []
    while (item := heap.pop()) is not None:
        uids.append(item.uid)
    return uids


def test_smallest_key_comes_first_and_equals_in_the_order_of_their_pushes() -> None:
    assert popped_uids(heap_of(5, 3, 5, 1, 3)) == ["3", "1", "4", "0", "2"]


def test_an_empty_heap_gives_nothing() -> None:
    heap = heap_of()
    assert (heap.peek(), heap.pop(), heap.get("0"), heap.remove("0")) == (None, None, None, None)


def test_items_are_found_by_identifier() -> None:
    heap = heap_of(2, 1)
    item = heap.get("0")
    assert item is not None
    assert item.rank == 2
    assert len(heap) == 2
    assert "0" in heap
    assert "7" not in heap
    assert [item.uid for item in heap] == ["0", "1"]


def test_a_removed_item_is_gone_from_everywhere() -> None:
    heap = heap_of(1, 2, 3)
    removed = heap.remove("0")
    assert removed is not None
    assert removed.uid == "0"
    head = heap.peek()
    assert head is not None
    assert head.uid == "1"
    assert popped_uids(heap) == ["1", "2"]


def test_a_removed_last_item_leaves_an_empty_heap() -> None:
    heap = heap_of(1)
    heap.remove("0")
    assert heap.peek() is None
    assert len(heap) == 0


def test_a_second_push_moves_the_item_to_its_present_key() -> None:
    heap = heap_of(1, 2, 3)
    item = heap.get("0")
    assert item is not None
    for rank in (9, 1, 9):  # there and back: equal keys of one item must not be compared further
        item.rank = rank
        heap.push("0", item)
    assert len(heap) == 3
    assert popped_uids(heap) == ["1", "2", "0"]


def test_dead_entries_do_not_pile_up() -> None:
    heap = heap_of(*range(10))
    item = heap.get("0")
    assert item is not None
    for _ in range(1000):
        heap.push("0", item)
    assert len(heap._heap) <= 2 * 10 + 65
    for number in range(1, 10):
        heap.remove(str(number))
    assert popped_uids(heap) == ["0"]
