from berthmaster.cli.diagnosis.finding import Severity
from tests.unit.berthmaster.diagnosis.clusters import NOW, judged, only, rejected

SHORT = "needs 8, 6 fit: 2 lack nvidia.com/gpu"
TEXT = f"pod group train: {SHORT}; 0/3 nodes are available: 3 Insufficient nvidia.com/gpu."


def test_the_pods_of_a_group_are_one_finding() -> None:
    pods = tuple(rejected(f"train-{n}", message=TEXT, since=NOW - 60 - n) for n in range(8))
    finding = only(judged(pending=pods), "pod-groups-waiting")
    assert finding.what == f"8 Pods wait for the group shop/train: {SHORT}."
    assert finding.detail == ("0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",)
    assert finding.next_command == "kubectl -n shop describe podgroup train"
    assert (finding.count, finding.since_seconds) == (8, 67)
    assert finding.objects[0] == "shop/train-7"
    assert finding.severity is Severity.PROBLEM
    assert "pods-unschedulable" not in judged(pending=pods)


def test_a_group_whose_members_were_told_at_different_times_is_one_finding() -> None:
    former = TEXT.replace("6 fit: 2", "5 fit: 3")
    texts = [former, TEXT, former, TEXT, TEXT]
    pods = tuple(rejected(f"train-{n}", message=text) for n, text in enumerate(texts))
    finding = only(judged(pending=pods), "pod-groups-waiting")
    assert finding.what == f"5 Pods wait for the group shop/train: {SHORT}."
    assert finding.detail == (
        "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
        "Of 2 of them it is said: needs 8, 5 fit: 3 lack nvidia.com/gpu.",
    )
    assert finding.count == 5


def test_a_group_that_does_not_exist_is_not_to_be_described() -> None:
    pod = rejected("a", message="pod group train: PodGroup shop/train does not exist")
    finding = only(judged(pending=(pod,)), "pod-groups-waiting")
    assert finding.next_command == "kubectl -n shop get podgroups"
    assert "create it, or correct its name" in finding.why


def test_groups_are_told_apart_and_the_largest_comes_first() -> None:
    pods = (
        rejected("a", message="pod group a: needs 2 Pods, has 1", since=NOW - 1),
        rejected("b", message="pod group b: needs 9, 2 fit", since=NOW - 2),
        rejected("c", message="pod group b: needs 9, 2 fit", since=NOW - 1),
    )
    large, small = judged(pending=pods)["pod-groups-waiting"]
    assert large.what == "2 Pods wait for the group shop/b: needs 9, 2 fit."
    assert small.what == "1 Pod waits for the group shop/a: needs 2 Pods, has 1."
    assert (large.severity, small.detail) == (Severity.WARNING, ())
