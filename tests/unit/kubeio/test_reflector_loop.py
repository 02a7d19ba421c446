"""The reflector's loop with scripted answers: what it asks, tells and waits for."""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from kubeio.changes import Deleted, Listed, ReflectorEvent, Upserted
from kubeio.decoding import ObjectMetadata, Query
from kubeio.errors import (
    ConnectionFailedError,
    ConnectionLostError,
    ForbiddenError,
    GoneError,
    InvalidError,
    KubeError,
    NotFoundError,
    RequestTimeoutError,
    ServerError,
    TooManyRequestsError,
)
from kubeio.logs import V2
from kubeio.reflector import Reflector
from kubeio.resources import ResourcePath
from kubeio.response import Response
from tests.unit.kubeio.log_lines import lines_of

UNSERVED = NotFoundError(404, message="404 page not found")
EXPIRED = GoneError(410, reason="Expired", message="too old")


class Thing(msgspec.Struct, frozen=True):
    metadata: ObjectMetadata
    size: int = 0


def thing(name: str, version: int, *, uid: str = "", size: Any = 0) -> dict[str, Any]:
    metadata = {
        "namespace": "ns",
        "name": name,
        "uid": uid or f"uid-{name}",
        "resourceVersion": str(version),
    }
    return {"kind": "Thing", "metadata": metadata, "size": size}


def page(version: int, *things: dict[str, Any], more: str = "") -> dict[str, Any]:
    return {"metadata": {"resourceVersion": str(version), "continue": more}, "items": list(things)}


def event(kind: str, value: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"type": kind, "object": value})


def bookmark(version: int) -> bytes:
    return event("BOOKMARK", {"metadata": {"resourceVersion": str(version)}})


@dataclass
class Script:
    """Plays the API server: one step for each call, in order."""

    steps: list[Any]
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    watch_seconds: float = 0.0
    now: float = 1000.0

    async def call(
        self, method: str, path: str, /, *, params: Mapping[str, str], timeout_seconds: float
    ) -> Response:
        assert method == "GET"
        assert path in ("/apis/t.io/v1/things", "/api/v1/things")
        self.asked.append(("list", dict(params)))
        step = self.steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return Response(200, [], step if isinstance(step, bytes) else msgspec.json.encode(step))

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        /,
        *,
        params: Mapping[str, str],
        headers_timeout_seconds: float,
        idle_timeout_seconds: float,
    ) -> AsyncIterator["Script"]:
        assert 95 <= idle_timeout_seconds <= 105
        assert 300 <= int(params["timeoutSeconds"]) <= 600
        self.asked.append(("watch", dict(params)))
        if isinstance(self.steps[0], Exception):
            raise self.steps.pop(0)
        assert isinstance(self.steps[0], list), "a watch was opened, the script has a page"
        try:
            yield self
        finally:
            self.steps.pop(0)

    async def read_lines(self) -> list[bytes]:
        lines: list[Any] = self.steps[0]
        if lines and isinstance(lines[0], Exception):
            raise lines[0]
        if lines:
            return [lines.pop(0)]
        self.now += self.watch_seconds
        return []

    def versions(self) -> list[str]:
        return [params["resourceVersion"] for kind, params in self.asked if kind == "watch"]


class Rig:
    """A reflector on a script, with a clock and sleeps of its own."""

    def __init__(
        self, *steps: Any, watch_seconds: float = 0.0, seed: int = 7, group: str = "t.io"
    ) -> None:
        self.script = Script(list(steps), watch_seconds=watch_seconds)
        self.told: list[ReflectorEvent[Thing]] = []
        self.delays: list[float] = []
        self.reflector: Reflector[Thing] = Reflector(
            self.script,
            Query(resource=ResourcePath(group, "v1", "things"), object_type=Thing),
            self.told.append,
            seed=seed,
            clock=lambda: self.script.now,
        )

    async def play(self) -> "Rig":
        """Run until the script is at its end."""
        while self.script.steps:
            self.delays.append(await self.reflector.run_once())
        return self

    def names(self) -> list[str]:
        told = []
        for each in self.told:
            match each:
                case Upserted(object=upserted):
                    told.append(f"+{upserted.metadata.name}")
                case Deleted(name=name, uid=uid):
                    told.append(f"-{name}/{uid}")
                case Listed(resource_version=version):
                    told.append(f"={version}")
        return told


async def test_list_then_watch_from_its_version() -> None:
    rig = await Rig(
        page(10, thing("a", 3), thing("b", 4)),
        [event("ADDED", thing("c", 11)), event("DELETED", thing("a", 12))],
    ).play()
    assert rig.names() == ["+a", "+b", "=10", "+c", "-a/uid-a"]
    assert rig.script.asked[0] == ("list", {"limit": "500"})
    kind, params = rig.script.asked[1]
    assert kind == "watch"
    assert (
        params.items()
        >= {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": "10",
        }.items()
    )


async def test_selectors_go_with_list_and_watch() -> None:
    rig = Rig(page(1), [])
    rig.reflector = Reflector(
        rig.script,
        Query(
            resource=ResourcePath("t.io", "v1", "things"),
            object_type=Thing,
            field_selector="status.phase!=Failed",
            label_selector="a=b",
        ),
        rig.told.append,
    )
    await rig.play()
    for _, params in rig.script.asked:
        assert params["fieldSelector"] == "status.phase!=Failed"
        assert params["labelSelector"] == "a=b"


async def test_version_is_kept_of_every_event_and_bookmark() -> None:
    rig = await Rig(
        page(10),
        [event("ADDED", thing("a", 11))],
        [event("DELETED", thing("a", 14))],
        [bookmark(20)],
        [ConnectionLostError("gone")],
        page(20),
        [],
    ).play()
    assert rig.script.versions() == ["10", "11", "14", "20", "20"]
    assert rig.reflector.statistics.lists == {"start": 1}


async def test_first_page_names_the_version_and_pages_follow_the_token() -> None:
    rig = await Rig(
        page(10, thing("a", 1), more="t1"),
        page(11, thing("b", 2), more="t2"),
        page(12, thing("c", 3)),
        [],
    ).play()
    assert rig.names() == ["+a", "+b", "+c", "=10"]
    assert [params.get("continue") for _, params in rig.script.asked[:3]] == [None, "t1", "t2"]
    assert rig.script.versions() == ["10"]


async def test_relist_tells_the_difference_only() -> None:
    rig = await Rig(
        page(10, thing("same", 1), thing("changed", 2), thing("gone", 3), thing("anew", 4)),
        EXPIRED,
        page(
            30,
            thing("same", 1),
            thing("changed", 22),
            thing("anew", 24, uid="uid-2"),
            thing("new", 25),
        ),
        [],
    ).play()
    assert rig.names()[5:] == [
        "+changed",
        "-anew/uid-anew",
        "+anew",
        "+new",
        "-gone/uid-gone",
        "=30",
    ]
    assert rig.reflector.statistics.lists == {"start": 1, "expired": 1}
    assert rig.reflector.statistics.object_count == 4


async def test_expired_error_event_is_not_delivered_and_lists_again() -> None:
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    rig = await Rig(
        page(10, thing("a", 1)), [event("ERROR", status)], page(20, thing("a", 1)), []
    ).play()
    assert rig.names() == ["+a", "=10", "=20"]
    assert rig.delays[0] > 0


async def test_other_error_event_resumes_from_the_same_version() -> None:
    status = {"kind": "Status", "code": 500, "message": "etcd is away"}
    rig = await Rig(page(10), [bookmark(15), event("ERROR", status)], []).play()
    assert rig.script.versions() == ["10", "15"]
    assert rig.reflector.statistics.endings == {"server_error": 1, "ended": 1}


async def test_objects_of_an_aborted_list_are_deleted_by_the_next() -> None:
    rig = await Rig(
        page(10, thing("a", 1), thing("b", 2), more="t"),
        ConnectionLostError("cut"),
        page(20, thing("b", 2), more="t"),
        EXPIRED,
        page(30, thing("b", 2), thing("c", 21)),
        [],
    ).play()
    assert rig.names() == ["+a", "+b", "+c", "-a/uid-a", "=30"]


async def test_list_whose_pages_always_expire_is_asked_for_whole() -> None:
    rig = await Rig(
        page(10, thing("a", 1), more="t"),
        EXPIRED,
        page(20, thing("a", 1), more="t"),
        EXPIRED,
        page(30, thing("a", 1)),
        [],
    ).play()
    assert rig.names() == ["+a", "=30"]
    assert rig.script.asked[4] == ("list", {})


@pytest.mark.parametrize(
    "refusal",
    [InvalidError(400, message="resourceVersion"), GoneError(410, message="x")],
)
async def test_refused_version_is_forgotten(refusal: KubeError) -> None:
    rig = await Rig(page(10), refusal, page(20), []).play()
    assert rig.script.versions() == ["10", "20"]


@pytest.mark.parametrize("error", [ServerError(504, message="x"), RequestTimeoutError("silent")])
async def test_watches_that_lead_nowhere_end_in_a_list(error: KubeError) -> None:
    rig = Rig(page(10), [bookmark(11)], [error], [error], [error], page(5), [])
    for _ in range(4):
        await rig.reflector.run_once()
        rig.script.now += 70  # a watch that was silent until we gave up
    await rig.play()
    assert rig.script.versions() == ["10", "11", "11", "11", "5"]
    assert rig.reflector.statistics.lists == {"start": 1, "fruitless": 1}


async def test_server_errors_of_a_restart_are_not_listed_anew() -> None:
    rig = await Rig(page(10), *[ServerError(503, message="x")] * 9, []).play()
    assert rig.reflector.statistics.lists == {"start": 1}


async def test_server_that_is_away_is_not_listed_anew() -> None:
    away = ConnectionFailedError("refused")
    rig = await Rig(page(10), *[away] * 20, page(12, thing("a", 12)), []).play()
    assert rig.reflector.statistics.lists == {"start": 1}
    assert rig.script.versions() == ["10", "10"]
    assert rig.names() == ["=10"]


@pytest.mark.parametrize("ending", [ConnectionFailedError("refused"), [ConnectionLostError("cut")]])
async def test_server_that_comes_back_with_an_older_past_is_listed_anew(ending: Any) -> None:
    restored = page(9, thing("b", 3))
    rig = await Rig(page(10, thing("a", 1)), ending, restored, restored, []).play()
    assert rig.script.asked[2] == ("list", {"limit": "1"})
    assert rig.script.versions() == ["10", "9"]
    assert rig.names() == ["+a", "=10", "+b", "-a/uid-a", "=9"]
    assert rig.reflector.statistics.lists == {"start": 1, "rewound": 1}


@pytest.mark.parametrize(
    "failure",
    [
        ConnectionFailedError("refused"),
        ForbiddenError(403, message="no"),
        b"",
        b"<html>bad gateway</html>",
        b'{"items": []}',
        b"[1]",
    ],
)
async def test_failing_list_is_tried_again_ever_slower_up_to_30_seconds(failure: Any) -> None:
    rig = await Rig(*[failure] * 12, page(10), []).play()
    delays = rig.delays[:12]
    for i, delay in enumerate(delays):
        step = min(0.2 * 2**i, 30.0)
        assert step / 2 <= delay <= step
    assert rig.names() == ["=10"]


async def test_watch_that_ends_at_once_is_no_hot_loop() -> None:
    rig = await Rig(page(10), *[[] for _ in range(12)]).play()
    assert sum(rig.delays) > 60
    assert rig.delays[-1] >= 15


async def test_watch_that_moves_on_but_ends_at_once_waits_too() -> None:
    rig = await Rig(page(10), *[[bookmark(11 + i)] for i in range(5)]).play()
    assert all(delay >= 0.1 for delay in rig.delays)
    assert rig.delays[-1] <= 0.2  # it works, so the wait does not grow


async def test_asked_for_ending_of_a_working_watch_goes_on_at_once() -> None:
    rig = await Rig(page(10), [bookmark(11)], [], watch_seconds=400.0).play()
    assert rig.delays == [0.0, 0.0]


async def test_retry_after_is_waited_for_and_spread() -> None:
    busy = TooManyRequestsError(429, retry_after_seconds=20.0)
    delays = [(await Rig(busy, page(1), [], seed=seed).play()).delays[0] for seed in range(5)]
    assert all(20.0 <= delay <= 24.0 for delay in delays)
    assert len(set(delays)) == 5


async def test_equal_seeds_wait_equally() -> None:
    first = await Rig(*[EXPIRED] * 5, page(1), [], seed=3).play()
    second = await Rig(*[EXPIRED] * 5, page(1), [], seed=3).play()
    assert first.delays == second.delays


@pytest.mark.parametrize("line", [b"not json", b'"text"', b"{}", b'{"type":"ADDED","object":{}}'])
async def test_line_that_is_no_event_ends_the_watch(line: bytes) -> None:
    rig = await Rig(page(10), [bookmark(11), line], []).play()
    assert rig.reflector.statistics.endings == {"malformed": 1, "ended": 1}
    assert rig.script.versions() == ["10", "11"]
    assert rig.names() == ["=10"]


async def test_failure_that_goes_on_is_not_told_at_each_try(
    caplog: pytest.LogCaptureFixture,
) -> None:
    busy = TooManyRequestsError(429, retry_after_seconds=4.0)
    rig = await Rig(*[busy] * 20, ServerError(500), page(1), []).play()
    told = [r for r in caplog.records if r.levelno == logging.WARNING]
    # The clock stands still here; a failure of another kind is told at once.
    reasons = [line.partition("reason=")[2].split()[0] for line in lines_of(told)]
    assert reasons == ["throttled", "server_error"]
    assert rig.names() == ["=1"]


async def test_unknown_event_type_is_logged_and_skipped(caplog: pytest.LogCaptureFixture) -> None:
    rig = await Rig(page(10), [event("RENAMED", thing("a", 11)), bookmark(12)]).play()
    assert rig.names() == ["=10"]
    assert any("type=RENAMED" in line for line in lines_of(caplog.records))


async def test_undecodable_object_is_told_when_it_can_be_decoded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rig = await Rig(
        page(10, thing("a", 1, size="big"), thing("b", 2)),
        [
            event("MODIFIED", thing("b", 11, size="big")),
            event("MODIFIED", thing("b", 12, size="big")),
        ],
        EXPIRED,
        page(20, thing("a", 1, size="big"), thing("b", 12, size="big")),
        [event("MODIFIED", thing("b", 21, size=5)), event("DELETED", thing("a", 22, size="big"))],
    ).play()
    assert rig.names() == ["+b", "=10", "=20", "+b"]
    assert rig.reflector.statistics.decode_failure_count == 5
    assert rig.reflector.statistics.undecodable_count == 0
    errors = lines_of([r for r in caplog.records if r.levelno == logging.ERROR])
    assert len(errors) == 2
    assert "namespace=ns name=a uid=uid-a" in errors[0]
    assert "kept=nothing" in errors[0]
    assert 'kept="its older state"' in errors[1]


async def test_failing_watch_is_a_problem_sooner_than_a_silent_one() -> None:
    rig = Rig(page(10), ConnectionFailedError("cannot connect"), page(10), [])
    await rig.reflector.run_once()
    rig.script.now += 15
    assert rig.reflector.problem() is None
    rig.script.now += 1
    assert rig.reflector.problem() == "nothing heard of things.t.io for 16 s: cannot connect"
    await rig.play()
    assert rig.reflector.problem() is None


async def test_problem_says_what_is_wrong() -> None:
    rig = Rig(ConnectionFailedError("cannot connect"), page(10), [])
    assert rig.reflector.problem() == "things.t.io not listed yet"
    await rig.reflector.run_once()
    assert rig.reflector.problem() == "things.t.io not listed yet: cannot connect"
    await rig.play()
    assert rig.reflector.problem() is None
    rig.script.now += 121
    assert rig.reflector.problem() == "nothing heard of things.t.io for 121 s"
    assert rig.reflector.last_byte_age_seconds() == 121
    assert rig.reflector.last_event_age_seconds() is None


async def test_what_is_not_served_counts_as_empty_until_it_is(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(V2)
    rig = Rig(UNSERVED, UNSERVED, page(10, thing("a", 1)), [])
    for _ in range(2):
        assert 15 <= await rig.reflector.run_once() <= 20
        assert rig.names() == ["="]
        assert rig.reflector.problem() is None
        assert rig.reflector.statistics.listed
        assert rig.reflector.statistics.is_unserved
        rig.script.now += 60
    lines = [line for line in lines_of(caplog.records) if "Not served" in line]
    assert lines == ["Not served by the API server, counts as empty  resource=things.t.io"]
    await rig.play()
    assert rig.names() == ["=", "+a", "=10"]
    assert not rig.reflector.statistics.is_unserved
    assert rig.reflector.statistics.lists == {"start": 1, "unserved": 2}
    assert rig.reflector.statistics.endings == {"not_found": 2, "ended": 1}


async def test_lists_after_a_gap_are_told_of_and_first_ones_in_detail_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(V2)
    await Rig(page(10), [GoneError(410)], page(20), []).play()
    told = {
        record.levelno: line.partition(" seconds=")[0]
        for record, line in zip(caplog.records, lines_of(caplog.records), strict=True)
        if "Listed" in line
    }
    assert told == {
        V2: "Listed a resource  resource=things.t.io count=0 resource_version=10",
        logging.INFO: "Listed a resource  resource=things.t.io count=0 resource_version=20",
    }


async def test_core_group_is_always_served() -> None:
    rig = await Rig(*[UNSERVED] * 3, page(10), [], group="").play()
    assert rig.names() == ["=10"]
    assert rig.delays[0] <= 0.2
    assert rig.reflector.statistics.lists == {"start": 4}


async def test_what_was_served_is_kept_when_it_is_not_found() -> None:
    rig = Rig(page(10, thing("a", 1)), EXPIRED, UNSERVED, page(20, thing("a", 1)), [])
    await rig.reflector.run_once()
    await rig.reflector.run_once()
    rig.script.now += 16
    problem = rig.reflector.problem()
    assert problem is not None
    assert "404 page not found" in problem
    await rig.play()
    assert rig.names() == ["+a", "=10", "=20"]


async def test_half_a_list_that_is_not_found_is_a_failure() -> None:
    rig = await Rig(page(10, thing("a", 1), more="t"), UNSERVED, page(20), []).play()
    assert rig.names() == ["+a", "-a/uid-a", "=20"]
    assert rig.delays[0] <= 0.2


async def test_right_that_is_missing_is_a_problem_at_once() -> None:
    refusal = ForbiddenError(403, message="cannot watch")
    rig = Rig(page(10), refusal, ConnectionFailedError("cannot connect"), page(10), [])
    await rig.reflector.run_once()
    assert rig.reflector.problem() == ("things.t.io may not be watched: HTTP 403: cannot watch")
    await rig.reflector.run_once()
    assert rig.reflector.problem() is None  # as of now: the API server may be back in a moment
    await rig.play()
    assert rig.reflector.problem() is None
