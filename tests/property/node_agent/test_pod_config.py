"""Any sequence of lists: operations rebuild the last list, workers and Pods stay in step."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from node_agent.core.agent import NodeAgent
from node_agent.core.effects import UpdateReceived
from node_agent.core.events import PodsListed
from node_agent.core.objects import Pod
from node_agent.core.operations import SEEN_ANNOTATION, Operation, Source, annotation, is_mirror
from node_agent.core.pod_config import PodConfig
from node_agent.core.pod_workers import WorkerState
from tests.unit.node_agent.core.pods import at, ended, make_mirror, make_pod, running, status

ORDER = [
    Operation.REMOVE,
    Operation.ADD,
    Operation.UPDATE,
    Operation.DELETE,
    Operation.RECONCILE,
]
SOURCES = (Source.FILE, Source.API)

STATUSES = st.sampled_from(
    [
        status("Pending"),
        status("Running", running()),
        status("Running", ended()),
        status("Succeeded", ended()),
    ]
)


def _pods(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Pod]:
    return st.builds(make_pod, st.sampled_from("abc"), **fields)


API_PODS = _pods(
    uid=st.sampled_from(["u1", "u2", "u3", "u4"]),
    labels=st.sampled_from([None, {"x": "1"}]),
    deletionTimestamp=st.sampled_from([None, None, "2026-06-01T12:00:05Z"]),
    status=STATUSES,
)
MIRRORS = st.builds(
    make_mirror,
    st.sampled_from("ab"),
    hash_=st.sampled_from(["h1", "h2"]),
    uid=st.sampled_from(["m1", "m2"]),
    status=STATUSES,
)
STATIC_PODS = _pods(
    uid=st.sampled_from(["s1", "s2", "s3"]), labels=st.sampled_from([None, {"x": "1"}])
)


def _lists(pods: st.SearchStrategy[Pod]) -> st.SearchStrategy[list[Pod]]:
    return st.lists(pods, max_size=4, unique_by=lambda pod: pod.metadata.uid)


LISTS = st.lists(
    st.one_of(
        st.tuples(st.just(Source.API), _lists(API_PODS | MIRRORS)),
        st.tuples(st.just(Source.FILE), _lists(STATIC_PODS)),
    ),
    max_size=12,
)


def _taken(listed: list[Pod]) -> dict[str, Pod]:
    """Give what a list says by uid: the first Pod of each name."""
    by_name: dict[str, Pod] = {}
    for pod in listed:
        by_name.setdefault(pod.full_name, pod)
    return {pod.metadata.uid: pod for pod in by_name.values()}


def _said(pod: Pod) -> tuple[Any, ...]:
    """Give what a source says of a Pod that operations must carry over."""
    meta = pod.metadata
    return (pod.spec, pod.status, meta.labels or None, meta.deletion_timestamp)


@given(LISTS)
def test_operations_rebuild_the_last_list_of_each_source(
    lists: list[tuple[Source, list[Pod]]],
) -> None:
    config = PodConfig(SOURCES)
    rebuilt: dict[Source, dict[str, Pod]] = {source: {} for source in SOURCES}
    for number, (source, listed) in enumerate(lists):
        merged = config.merge(source, listed, at(number))
        operations = [update.operation for update in merged.updates if update.pods]
        assert operations == [one for one in ORDER if one in operations]
        pods = rebuilt[source]
        for update in merged.updates:
            assert update.source is source
            for pod in update.pods:
                uid = pod.metadata.uid
                assert (uid in pods) is (update.operation is not Operation.ADD)
                if update.operation is Operation.REMOVE:
                    del pods[uid]
                else:
                    pods[uid] = pod
        last = _taken(listed)
        assert {uid: _said(pod) for uid, pod in pods.items()} == {
            uid: _said(pod) for uid, pod in last.items()
        }
        assert {pod.metadata.uid for pod in config.pods(source)} == last.keys()


@given(LISTS)
def test_a_pod_keeps_its_first_sight_while_it_is_listed(
    lists: list[tuple[Source, list[Pod]]],
) -> None:
    config = PodConfig(SOURCES)
    seen: dict[tuple[Source, str], str | None] = {}
    for number, (source, listed) in enumerate(lists):
        config.merge(source, listed, at(number))
        now = {
            (source, p.metadata.uid): annotation(p, SEEN_ANNOTATION) for p in config.pods(source)
        }
        for key, value in now.items():
            assert value is not None
            assert value == seen.get(key, value)
        seen = {key: value for key, value in seen.items() if key[0] is not source} | now


@given(LISTS)
def test_the_same_list_again_says_nothing(lists: list[tuple[Source, list[Pod]]]) -> None:
    config = PodConfig(SOURCES)
    for source, listed in lists:
        config.merge(source, listed, at(0))
        copies = [msgspec.structs.replace(pod) for pod in listed]
        assert config.merge(source, copies, at(1)).updates == ()


@given(LISTS)
def test_workers_follow_the_pods(lists: list[tuple[Source, list[Pod]]]) -> None:
    agent = NodeAgent(SOURCES)
    seen_operations = 0
    for number, (source, listed) in enumerate(lists):
        effects = agent.handle(PodsListed(source, tuple(listed), at(number)), at(number))
        seen_operations += sum(isinstance(effect, UpdateReceived) for effect in effects)
        pods = [pod for each in SOURCES for pod in agent.config.pods(each)]
        wanted = {pod.metadata.uid for pod in pods if not is_mirror(pod)}
        workers = agent.workers.workers
        assert wanted == {pod.metadata.uid for pod in agent.known.pods()}
        assert wanted <= workers.keys()
        for uid in workers.keys() - wanted:
            # What is left is ending, or waits for a source that has yet to be heard of.
            is_ending = workers[uid].state in (WorkerState.TERMINATING, WorkerState.TERMINATED)
            assert is_ending or not agent.config.has_seen_all_sources
    last = len(lists) + 1000
    agent.handle(PodsListed(Source.FILE, (), at(last)), at(last))
    agent.handle(PodsListed(Source.API, (), at(last)), at(last))
    while (deadline := agent.next_deadline()) is not None:
        agent.expire(at(deadline - 1000))
    assert dict(agent.workers.workers) == {}
    assert list(agent.known.mirrors()) == []


@given(LISTS)
def test_the_same_lists_give_the_same_effects(lists: list[tuple[Source, list[Pod]]]) -> None:
    def run() -> list[Any]:
        agent = NodeAgent(SOURCES)
        return [
            agent.handle(PodsListed(source, tuple(listed), at(n)), at(n))
            for n, (source, listed) in enumerate(lists)
        ]

    assert run() == run()
