from typing import Any

import pytest

from scheduler_svc.shell.explain.question import Flags, Question, QuestionError, Source, question_of


def ask(*words: str, **flags: Any) -> Question:
    given: dict[str, Any] = {
        "snapshot": (),
        "from_cluster": False,
        "pod_path": None,
        "all_pending": False,
        "namespace": "default",
        "config_path": "",
        "plugins": (),
        "preempt": False,
        "output": "table",
        "best": 5,
        "kubeconfig": None,
        "context": None,
        "server": "",
        "server_ca": "",
        "token_file": "",
        "lease": "kube-system/berthmaster",
        "port": 10259,
    }
    return question_of(Flags(words=words, **(given | flags)))


def test_every_pending_pod_of_a_snapshot_or_cluster() -> None:
    assert ask(snapshot=("a", "b")) == Question(source=Source.SNAPSHOT, snapshot=("a", "b"))
    assert ask(from_cluster=True).source is Source.CLUSTER
    assert ask(from_cluster=True, all_pending=True).source is Source.CLUSTER


def test_plugins_of_ones_own() -> None:
    assert ask(snapshot=("a",), plugins=("m:C", "n:D")).plugins == ("m:C", "n:D")


def test_more_files_may_follow_the_first() -> None:
    assert ask("b", "c", snapshot=("a",)).snapshot == ("a", "b", "c")


@pytest.mark.parametrize("words", [("pod", "web"), ("pod/web",)])
def test_a_pod(words: tuple[str, ...]) -> None:
    question = ask(*words, namespace="team-a")
    assert (question.source, question.namespace) == (Source.SCHEDULER, "team-a")
    assert question.pod_name == "web"
    assert ask(*words, "b", snapshot=("a",)).snapshot == ("a", "b")


def test_a_decision() -> None:
    assert ask("decision", "f00-1").decision_id == "f00-1"
    assert ask("decision/f00-1").decision_id == "f00-1"


@pytest.mark.parametrize(
    ("words", "flags", "message"),
    [
        ((), {}, "name what to explain"),
        (("pod",), {}, "pod: name the one to explain"),
        (("web",), {}, "web: what is asked about is `pod NAME`"),
        (("pod", "web"), {"all_pending": True}, "ask one thing"),
        (("pod", "web"), {"config_path": "c"}, "--config: the running scheduler has its own"),
        (("pod", "web"), {"plugins": ("m:C",)}, "--plugin: the running scheduler has its own"),
        (("decision", "a"), {"snapshot": ("s",)}, "only the running scheduler remembers any"),
        ((), {"snapshot": ("s",), "from_cluster": True}, "exclude each other"),
    ],
)
def test_questions_that_cannot_be_asked(
    words: tuple[str, ...], flags: dict[str, Any], message: str
) -> None:
    with pytest.raises(QuestionError, match=message):
        ask(*words, **flags)
