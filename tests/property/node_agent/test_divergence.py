"""Whatever Pods there are: equal views do not differ, and every Pod has one cause or none."""

from hypothesis import given, settings
from hypothesis import strategies as st

from node_agent.core.divergence.causes import KubeletEvidence, diagnose
from node_agent.core.divergence.comparison import DivergenceKind, compare
from node_agent.core.divergence.divergences import Divergences
from node_agent.core.journey.journey import FileTimes
from node_agent.core.objects import Pod
from node_agent.core.operations import Operation, Source
from tests.property.node_agent.test_journey import pods
from tests.unit.node_agent.core.divergence.views import known_of, seen, view_of
from tests.unit.node_agent.core.pods import at, make_pod

NAMES = "abcde"
evidence = st.builds(
    KubeletEvidence,
    is_reachable=st.none() | st.booleans(),
    has_seen=st.none() | st.booleans(),
    files=st.none() | st.builds(FileTimes, st.none() | st.just(1), st.none() | st.just(2)),
    event_reasons=st.frozensets(st.sampled_from(["FailedMount", "FailedCreatePodSandBox"])),
)


@settings(max_examples=60)
@given(pods(), evidence)
def test_a_pod_that_is_ready_or_over_waits_for_nothing(pod: Pod, told: KubeletEvidence) -> None:
    diagnosis = diagnose(pod, told)
    is_ready = any(c.type == "Ready" and c.status == "True" for c in pod.status.conditions)
    is_over = pod.status.phase == "Succeeded" or pod.metadata.deletion_timestamp is not None
    if is_over or (is_ready and pod.status.phase != "Failed"):
        assert diagnosis is None
    elif pod.status.phase in ("Pending", "Running"):
        assert diagnosis is not None
        assert diagnosis.detail


@given(st.sets(st.sampled_from(NAMES)), st.sets(st.sampled_from(NAMES)))
def test_what_differs_is_what_only_one_has(ours: set[str], theirs: set[str]) -> None:
    known = known_of(*(make_pod(name) for name in ours))
    view = view_of(*(seen(name) for name in theirs))
    found = {(finding.kind, finding.name) for finding in compare(known, view)}
    assert found == {
        *((DivergenceKind.MISSING_IN_KUBELET, name) for name in ours - theirs),
        *((DivergenceKind.UNKNOWN_TO_AGENT, name) for name in theirs - ours),
    }


@given(st.lists(st.sets(st.sampled_from(NAMES)), min_size=1, max_size=8))
def test_only_what_two_looks_in_a_row_have_found_counts(shown: list[set[str]]) -> None:
    divergences = Divergences(Source)
    divergences.source_listed(Source.API, at(0))
    for name in NAMES:
        divergences.pod_operation(Operation.ADD, Source.API, make_pod(name), at(0))
    for number, names in enumerate(shown):
        moment = at(100 + 10 * number)
        divergences.kubelet_read(view_of(*(seen(n) for n in names), asked=moment), moment)
    missing_since: dict[str, int] = {}
    for number, names in enumerate(shown):
        for name in NAMES:
            if name in names:
                missing_since.pop(name, None)
            else:
                missing_since.setdefault(name, number)
    expected = {
        name: at(100 + 10 * since).monotonic_seconds
        for name, since in missing_since.items()
        if since < len(shown) - 1
    }
    assert {d.finding.name: d.since_seconds for d in divergences.confirmed()} == expected
