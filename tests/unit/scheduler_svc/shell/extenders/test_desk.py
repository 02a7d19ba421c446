"""Questions and their answers: in which order extenders are asked, and whose errors count."""

import asyncio
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import msgspec
import pytest

from scheduler_svc.core.effects import AskAboutVictims, AskExtenders, BindPod, NodeVictims
from scheduler_svc.core.events import (
    BindFailed,
    BindFailure,
    BindSucceeded,
    VictimsAnswered,
    VictimUids,
)
from scheduler_svc.shell.extenders import binding as binding_module
from scheduler_svc.shell.extenders.binding import ExtenderBinding
from scheduler_svc.shell.extenders.client import ExtenderClient
from scheduler_svc.shell.extenders.desk import ExtenderDesk
from scheduler_svc.shell.extenders.full_objects import FullObjects
from scheduler_svc.shell.writes.binder import BindGuards
from scheduler_svc.shell.writes.binding_activity import BindingActivity
from tests.extender_server import Answering, ExtenderServer, RawAnswer
from tests.faultproxy import wait_until
from tests.unit.scheduler_svc.shell.extenders.rig import (
    BINDING,
    POD,
    extender,
    pass_all,
    pod_json,
)
from tests.unit.scheduler_svc.shell.scripted_api import Answer, ScriptedApi, ScriptedClient, status

NAMES = ("a", "b", "c")
BROKEN = RawAnswer(status=500)


class Desk:
    """A desk with extenders that do as they are told, and the outcomes."""

    def __init__(self, *answers: Answer, is_dry_run: bool = False, may_bind: bool = True) -> None:
        self.outcomes: list[Any] = []
        self.ours: list[BindPod] = []
        self.servers: list[ExtenderServer] = []
        self.clients: list[ExtenderClient] = []
        self.stack = ExitStack()
        self.api = ScriptedApi(*answers, otherwise=pod_json())
        client = ScriptedClient(self.api)
        self.activity = BindingActivity()
        guards = BindGuards(may_bind=lambda: may_bind, node_exists=lambda name: name != "gone")
        self.binding = ExtenderBinding(
            client, guards, self.activity, bind_ourselves=self.ours.append, dry_run=is_dry_run
        )
        self.desk = ExtenderDesk(
            self.clients, FullObjects(client), self.binding, report=self.outcomes.append
        )

    def add(self, verbs: Mapping[str, Answering], **fields: Any) -> ExtenderServer:
        server, client = self.stack.enter_context(extender(verbs, **fields))
        self.servers.append(server)
        self.clients.append(client)
        return server

    async def outcome_of(self, effect: AskExtenders | AskAboutVictims | BindPod) -> Any:
        with self.stack:
            async with self.desk:
                self.desk.submit(effect)
                await wait_until(lambda: not len(self.desk), what="an outcome")
        assert self.activity.count == 0
        return self.outcomes[0] if self.outcomes else None


def nodes(filters: tuple[int, ...] = (), prioritizes: tuple[int, ...] = ()) -> AskExtenders:
    return AskExtenders(POD, "berthmaster", 7, NAMES, filters, prioritizes)


def keep(*names: str, **failed: str) -> Answering:
    return lambda _: {"NodeNames": names, "FailedNodes": failed}


def score(**scores: int) -> Answering:
    return lambda _: [{"Host": name, "Score": score} for name, score in scores.items()]


async def test_each_filter_sees_what_the_one_before_left_over() -> None:
    desk = Desk()
    desk.add({"filter": keep("a", "c", b="busy")})
    last = desk.add({"filter": keep("c", a="full")})
    answer = await desk.outcome_of(nodes((0, 1)))
    assert last.questions("filter")[0]["NodeNames"] == ["a", "c"]
    assert (answer.uid, answer.ticket, answer.error) == ("uid-p", 7, "")
    assert answer.passing == ("c",)
    assert answer.failed == {"a": "full", "b": "busy"}
    assert answer.waited_seconds > 0


async def test_the_pod_is_read_in_no_older_version_than_it_is_known_in() -> None:
    desk = Desk()
    server = desk.add({"filter": keep("a")})
    await desk.outcome_of(msgspec.structs.replace(nodes((0,)), pod_version="7"))
    assert desk.api.queries == [{"resourceVersion": "7"}]
    assert server.questions("filter")[0]["Pod"] == msgspec.json.decode(pod_json().body)


async def test_nobody_is_asked_about_no_nodes() -> None:
    desk = Desk()
    desk.add({"filter": keep()})
    last = desk.add({})
    assert (await desk.outcome_of(nodes((0, 1), (0, 1)))).passing == ()
    assert last.asked == []


async def test_scores_are_weighted_scaled_and_added_up() -> None:
    desk = Desk()
    desk.add({"prioritize": score(a=3, b=1)}, weight=2)
    desk.add({"prioritize": score(a=1, z=9)})
    answer = await desk.outcome_of(nodes(prioritizes=(0, 1)))
    assert answer.passing == NAMES
    assert answer.scores == {"a": 70, "b": 20, "z": 90}


async def test_one_node_left_needs_no_scores() -> None:
    desk = Desk()
    server = desk.add({"filter": keep("b")})
    assert (await desk.outcome_of(nodes((0,), (0,)))).passing == ("b",)
    assert server.questions("prioritize") == []


async def test_scores_of_an_extender_that_fails_are_none() -> None:
    desk = Desk()
    desk.add({"prioritize": lambda _: BROKEN})
    desk.add({"prioritize": score(a=1)})
    answer = await desk.outcome_of(nodes(prioritizes=(0, 1)))
    assert (answer.error, answer.scores) == ("", {"a": 10})


async def test_errors_count_unless_they_may_be_ignored() -> None:
    desk = Desk()
    desk.add({"filter": keep("a", "b")})
    desk.add({"filter": lambda _: BROKEN}, ignorable=True)
    assert (await desk.outcome_of(nodes((0, 1)))).passing == ("a", "b")
    desk = Desk()
    desk.add({"filter": lambda _: BROKEN})
    answer = await desk.outcome_of(nodes((0,)))
    assert answer.error.startswith("failed filter with extender at URL")
    assert answer.passing == ()


async def test_a_pod_that_cannot_be_read_is_an_error() -> None:
    desk = Desk(status(403, "pods is forbidden"))
    desk.add({})
    assert (await desk.outcome_of(nodes((0,)))).error == "pods is forbidden"


async def test_victims_are_asked_about() -> None:
    desk = Desk()
    meta = {"a": {"Pods": [{"UID": "v"}], "NumPDBViolations": 1}}
    server = desk.add({"preempt": lambda _: {"NodeNameToMetaVictims": meta}})
    question = AskAboutVictims(POD, "berthmaster", 8, 0, {"a": NodeVictims((POD,), 0)})
    answer = await desk.outcome_of(question)
    assert answer.victims == {"a": VictimUids(("v",), 1)}
    assert (answer.ticket, answer.url) == (8, server.url)


@pytest.mark.parametrize("ignorable", [False, True])
async def test_errors_about_victims_are_for_the_core_to_weigh(ignorable: bool) -> None:
    desk = Desk()
    desk.add({"preempt": lambda _: BROKEN}, ignorable=ignorable)
    answer = await desk.outcome_of(AskAboutVictims(POD, "berthmaster", 8, 0, {}))
    assert isinstance(answer, VictimsAnswered)
    assert answer.error.startswith("failed preempt")


async def test_a_hanging_extender_holds_up_nobody_else_and_nothing_at_the_end() -> None:
    release = threading.Event()

    def hang(question: Any) -> Any:
        release.wait(30)
        return pass_all(question)

    desk = Desk()
    hanging = desk.add({"filter": hang})
    desk.add({"filter": keep("a")})
    with desk.stack:
        async with desk.desk:
            for _ in range(50):
                desk.desk.submit(nodes((0,)))
            await wait_until(lambda: hanging.asked, what="a question")
            desk.desk.submit(nodes((1,)))
            await wait_until(lambda: desk.outcomes, what="an answer")
            [answer] = desk.outcomes
            assert answer.passing == ("a",)
            # Nobody acts on an answer any more, so there is none.
            await desk.desk.drain(30)
            desk.desk.submit(nodes((1,)))
            assert desk.outcomes == [answer]
        release.set()


async def test_a_binding_counts_once_the_api_server_shows_it() -> None:
    desk = Desk(pod_json(), pod_json("a"))
    server = desk.add({"bind": lambda _: {}})
    assert await desk.outcome_of(BINDING) == BindSucceeded("uid-p")
    assert len(server.questions("bind")) == 1


async def test_a_binding_that_never_shows_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding_module, "CONFIRM_SECONDS", 0.0)
    desk = Desk()
    desk.add({"bind": lambda _: {}})
    outcome = await desk.outcome_of(BINDING)
    assert (outcome.failure, outcome.by_extender) == (BindFailure.REFUSED, True)
    assert "which does not show" in outcome.message


async def test_an_extender_that_fails_may_have_bound_the_pod_all_the_same() -> None:
    desk = Desk(pod_json("a"))
    desk.add({"bind": lambda _: BROKEN})
    assert await desk.outcome_of(BINDING) == BindSucceeded("uid-p")


@pytest.mark.parametrize(
    ("found", "failure"),
    [
        (pod_json(), BindFailure.REFUSED),
        (pod_json("elsewhere"), BindFailure.BOUND_ELSEWHERE),
        (pod_json(uid="another"), BindFailure.GONE),
        (status(404, "gone"), BindFailure.GONE),
        (status(403, "forbidden"), BindFailure.REFUSED),
    ],
)
async def test_what_became_of_a_pod_whose_extender_fails(
    found: Answer, failure: BindFailure
) -> None:
    desk = Desk(found)
    desk.add({"bind": lambda _: {"Error": "no"}})
    outcome = await desk.outcome_of(BINDING)
    assert (outcome.failure, outcome.by_extender) == (failure, True)
    assert desk.ours == []


async def test_we_bind_ourselves_where_the_extender_may_be_ignored() -> None:
    desk = Desk()
    desk.add({"bind": lambda _: BROKEN}, ignorable=True)
    assert await desk.outcome_of(BINDING) is None
    assert desk.ours == [BINDING]


async def test_in_a_dry_run_no_extender_binds() -> None:
    desk = Desk(is_dry_run=True)
    server = desk.add({})
    assert await desk.outcome_of(BINDING) == BindSucceeded("uid-p")
    assert server.asked == []


@pytest.mark.parametrize(
    ("node", "may_bind", "failure"),
    [("a", False, BindFailure.NOT_LEADER), ("gone", True, BindFailure.NODE_GONE)],
)
async def test_an_extender_is_not_asked_to_bind_what_we_would_not(
    node: str, may_bind: bool, failure: BindFailure
) -> None:
    desk = Desk(may_bind=may_bind)
    server = desk.add({})
    effect = BindPod(POD, "berthmaster", node, "id", 1, 0.0, 0.0, extender=0)
    outcome = await desk.outcome_of(effect)
    assert (outcome.failure, outcome.by_extender) == (failure, True)
    assert server.asked == []


async def test_every_binding_has_an_outcome_at_the_end() -> None:
    release = threading.Event()

    def hang(_: Any) -> Any:
        release.wait(30)
        return {}

    desk = Desk()
    server = desk.add({"bind": hang})
    with desk.stack:
        async with desk.desk:
            desk.desk.submit(BINDING)
            await wait_until(lambda: server.asked, what="a question")
            async with asyncio.timeout(10):
                await desk.desk.drain(0)
            desk.desk.submit(BINDING)
        release.set()
    assert [type(outcome) for outcome in desk.outcomes] == [BindFailed, BindFailed]
    assert {outcome.failure for outcome in desk.outcomes} == {BindFailure.NOT_LEADER}
    assert desk.activity.count == 0
