import io

import pytest
from rich.console import Console

from scheduler_svc.shell.explain.answer import Answer, NodeAnswer, PostFilterAnswer
from scheduler_svc.shell.explain.tables import render


def text_of(answer: Answer, best_count: int = 5) -> str:
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(render(answer, best_count=best_count))
    return console.export_text()


def rejected(reason: str, plugin: str = "NodeResourcesFit") -> NodeAnswer:
    return NodeAnswer(code="Unschedulable", plugin=plugin, reasons=(reason,))


def feasible(**scores: int) -> NodeAnswer:
    return NodeAnswer(scores=scores, total=sum(scores.values()))


def test_the_best_nodes_are_told_with_their_shares_and_the_rest_by_reason() -> None:
    answer = Answer(
        pod="default/web",
        nodes={
            "a": feasible(Fit=10, Spread=200),
            "b": feasible(Fit=90, Spread=100),
            "c": rejected("Insufficient cpu"),
            "d": rejected("Insufficient cpu"),
            "e": feasible(Fit=60, Spread=150),
            "f": rejected("Too many pods"),
        },
        best=("a", "e"),
    )
    lines = [" ".join(line.split()) for line in text_of(answer, best_count=2).splitlines()]
    assert lines[:8] == [
        "default/web: fits on 3 of 6 Nodes; best: a, e (total 210)",
        "Nodes Rejected by Reasons Which",
        "2 NodeResourcesFit Insufficient cpu c, d",
        "1 NodeResourcesFit Too many pods f",
        "Best Nodes a e",
        "Fit 10 60",
        "Spread 200 150",
        "total 210 210",
    ]


def test_only_the_pod_of_a_verdict_is_bold() -> None:
    answer = Answer(pod="a/b", nodes={"a": feasible(Fit=10)}, best=("a",))
    console = Console(width=120, force_terminal=True, color_system="standard", file=io.StringIO())
    with console.capture() as capture:
        console.print(render(answer))
    told = capture.get().splitlines()[0]
    assert told == "\x1b[1ma/b\x1b[0m\x1b[32m: fits on 1 of 1 Nodes\x1b[0m; best: a (total 10)"


def test_other_pods_with_the_answer_are_named_below_the_verdict() -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(render(Answer(pod="a/g-0"), others=[f"a/g-{n}" for n in range(1, 200)]))
    assert "and 199 more Pods alike: g-1, g-2, g-3, g-4 and 195 more" in console.export_text()


def test_many_names_are_cut() -> None:
    nodes = {f"n{i}": rejected("Too many pods") for i in range(9)}
    assert "n0, n1, n2, n3 and 5 more" in text_of(Answer(pod="a/b", nodes=nodes))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            Answer(
                pod="a/b",
                nodes={"n": rejected("Too many pods")},
                fit_error="0/1 nodes …",
                post_filter=PostFilterAnswer(
                    code="Success", nominated_node_name="n", victims=("a/c", "a/d")
                ),
            ),
            ["a/b: fits on none of 1 Nodes", "0/1 nodes …", "Room can be made on n", "a/c, a/d"],
        ),
        (
            Answer(
                pod="a/b",
                pre_filter_code="Unschedulable",
                pre_filter_plugin="VolumeBinding",
                pre_filter_message="no claim",
                fit_error="0/3 …",
            ),
            ["turned away before any Node is looked at", "VolumeBinding: no claim"],
        ),
        (
            Answer(
                pod="a/b",
                pre_enqueue_plugin="SchedulingGates",
                pre_enqueue_message="waiting for scheduling gates: [g]",
                nodes={"n": NodeAnswer(total=0)},
                best=("n",),
            ),
            [
                "a/b: not tried: SchedulingGates: waiting for scheduling gates: [g]",
                "  Once it is: fits on 1 of 1 Nodes; best: n (total 0)",
            ],
        ),
        (
            Answer(
                pod="a/b",
                pre_enqueue_plugin="GangScheduling",
                pre_enqueue_message="pod group train: needs 8, has 7",
                nodes={"n": NodeAnswer(total=0)},
                best=("n",),
            ),
            [
                "a/b: waits for its group, which is not tried: pod group train: needs 8, has 7",
                "  On its own: fits on 1 of 1 Nodes; best: n (total 0)",
            ],
        ),
        (
            Answer(
                pod="a/b",
                pod_group_message="needs 8, 6 fit: 2 lack cpu",
                nodes={"n": NodeAnswer(total=0)},
                best=("n",),
            ),
            [
                "a/b: waits for its group, which did not start when it was tried last: needs 8",
                "  On its own: fits on 1 of 1 Nodes; best: n (total 0)",
            ],
        ),
        (
            Answer(
                pod="a/b",
                pod_group_message="needs 8, 6 fit: 2 lack cpu",
                nodes={"n": rejected("Too many pods")},
                fit_error="0/1 nodes …",
            ),
            [
                "a/b: waits for its group, which did not start when it was tried last: ",
                "  On its own: fits on none of 1 Nodes",
                "  0/1 nodes …",
            ],
        ),
        (
            Answer(pod="a/b", pod_group_message="needs 8, 6 fit", error="plugin X failed"),
            ["a/b: the attempt fails", "plugin X failed"],
        ),
        (
            Answer(
                pod="a/b",
                pod_group_message="PodGroup a/train does not exist",
                nodes={"n": NodeAnswer(total=0)},
                best=("n",),
            ),
            ["a/b: waits for its group, which is not tried: PodGroup a/train does not exist"],
        ),
        (
            Answer(
                pod="a/b",
                waits_for_scheduler="berthmaster",
                last_message="0/1 nodes are available: 1 not of the tier.",
                nodes={"n": NodeAnswer(total=0)},
                best=("n",),
            ),
            [
                "a/b: fits on 1 of 1 Nodes",
                "But when it was tried last: 0/1 nodes are available: 1 not of the tier.",
                "or its scheduler decides otherwise (--config, --plugin)",
            ],
        ),
        (
            Answer(pod="a/b", error="no profile", served_names=("batch", "gpu")),
            ["Served are: batch, gpu; say so", '{"spec":{"schedulerName":"batch"}}'],
        ),
        (Answer(pod="a/b", error="no profile"), ["a/b: the attempt fails", "no profile"]),
        (
            Answer(
                pod="a/b", pre_filter_nodes=("n",), nodes={"n": NodeAnswer(total=0)}, best=("n",)
            ),
            ["fits on 1 of 1 Nodes", "Only these were looked at: n"],
        ),
    ],
)
def test_verdicts(answer: Answer, expected: list[str]) -> None:
    text = text_of(answer)
    for words in expected:
        assert words in text
