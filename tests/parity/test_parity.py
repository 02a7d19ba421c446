"""Every Pod and Node of the recorded cases: the decision is kube-scheduler's."""

from collections import Counter

import pytest

from scheduler_svc.core.registry import IN_TREE
from tests.parity.comparison import LEFT_OUT, compare
from tests.parity.recorded import cases, families, profile_of

PODS_OF_A_CASE = 6
# Who is nominated takes room only once there is somebody who nominates.
NOMINATING = "DefaultPreemption"


@pytest.mark.parametrize("family", families())
def test_every_pod_and_node_is_decided_as_recorded(family: str) -> None:
    (profile, missing), compared = profile_of(family), Counter[str]()
    case_count = 0
    for case in cases(family):
        case_count += 1
        waits = NOMINATING in missing and any(pod.nominated_node_name for pod, _ in case.pending)
        for pod, answer in case.pending:
            if waits:
                compared += Counter({"Pods": 1, LEFT_OUT + NOMINATING: 1})
                continue
            try:
                compared += compare(pod, answer, profile, missing, case.cluster)
            except AssertionError as error:
                error.add_note(f"{case.name}, Pod {pod.key}")
                raise
    assert compared["Pods"] == case_count * PODS_OF_A_CASE
    # What is left out is so because the plugin is not there.
    left_out = {name.removeprefix(LEFT_OUT) for name in compared if name.startswith(LEFT_OUT)}
    assert left_out <= missing
    assert not missing & IN_TREE.keys()


def test_all_recordings_are_compared() -> None:
    names = [case.name for family in families() for case in cases(family)]
    assert len(names) == len(set(names)) == 155
