"""The log of changed rows: every reader gets what is new to it, or is told that it is too late."""

from scheduler_svc.core.changes import ChangeLog


def since(log: ChangeLog, position: int) -> list[int] | None:
    rows = log.since(position)
    return None if rows is None else rows.tolist()


def test_readers_get_what_came_after_their_position() -> None:
    log = ChangeLog()
    assert log.position == 0
    assert since(log, 0) == []
    for row in (3, 1, 3):
        log.append(row)
    assert log.position == 3
    assert since(log, 0) == [3, 1, 3]
    assert since(log, 2) == [3]
    assert since(log, 3) == []


def test_a_reader_that_has_never_read_is_too_late() -> None:
    assert since(ChangeLog(), -1) is None


def test_a_full_log_forgets_its_older_half() -> None:
    log = ChangeLog(capacity=4)
    for row in range(4):
        log.append(row)
    assert since(log, 0) == [0, 1, 2, 3]
    log.append(4)
    assert log.position == 5
    assert since(log, 1) is None
    assert since(log, 2) == [2, 3, 4]
    assert since(log, 4) == [4]


def test_nothing_is_lost_or_repeated_over_many_changes() -> None:
    log, seen, position = ChangeLog(capacity=5), [], 0
    for row in range(100):
        log.append(row)
        if row % 2 == 0:
            rows = since(log, position)
            assert rows is not None
            seen += rows
            position = log.position
    assert seen == list(range(99))


def test_changes_that_were_undone_are_forgotten() -> None:
    log = ChangeLog(capacity=4)
    for row in range(3):
        log.append(row)
    log.rewind(2)
    assert (log.position, since(log, 0)) == (2, [0, 1])
    log.append(7)
    assert since(log, 2) == [7]


def test_rewinding_behind_what_is_remembered_loses_no_reader() -> None:
    log = ChangeLog(capacity=4)
    for row in range(7):
        log.append(row)
    log.rewind(1)
    assert since(log, 1) is None
    assert since(log, log.position) == []
