from typing import Any

import pytest

from scheduler_svc.shell.explain.question import Flags, Question, QuestionError, Source, question_of


def ask(*words: str, **flags: Any) -> Question:
    given: dict[str, Any] = {
        "snapshot": (),
        "from_cluster": False,
        "pod_path": None,
        "all_pending": False,
        "all_namespaces": False,
        "namespace": None,
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


def test_pending_pods_of_one_namespace_or_of_all() -> None:
    for source in ({"from_cluster": True}, {"snapshot": ("a",)}, {"all_pending": True}):
        one = ask(namespace="shop", **source)
        assert one.pending_namespace == "shop"
        assert [one.is_about(key) for key in ("shop/a", "shopping/a")] == [True, False]
        for every in (ask(**source), ask(all_namespaces=True, **source)):
            assert every.is_about("shopping/a")
            assert every.namespace == "default"


@pytest.mark.parametrize("words", [("pod", "web"), ("pod/web",), ("pods", "web"), ("pods/web",)])
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
        (("pods",), {}, "pods: name the one to explain"),
        ((), {"from_cluster": True, "namespace": "a", "all_namespaces": True}, "exclude each"),
        ((), {"from_cluster": True, "namespace": ""}, "'' is no namespace's name"),
        (("pod", "web"), {"all_namespaces": True}, "only every pending Pod"),
        ((), {"pod_path": "p", "all_namespaces": True}, "only every pending Pod"),
        (("decision", "a"), {"namespace": "shop"}, "-n: a decision's id says"),
        (("decision", "a"), {"preempt": True}, "--preempt: a decision is told as it was made"),
        ((), {"snapshot": ("s",), "kubeconfig": "k"}, "--kubeconfig: is of a cluster"),
        ((), {"snapshot": ("s",), "context": "c"}, "not asked with --snapshot"),
        ((), {"from_cluster": True, "output": "json", "best": 3}, "--best: is of the table"),
    ],
)
def test_questions_that_cannot_be_asked(
    words: tuple[str, ...], flags: dict[str, Any], message: str
) -> None:
    with pytest.raises(QuestionError, match=message):
        ask(*words, **flags)


OF_THE_SCHEDULER = {
    "server": "https://a:1",
    "server_ca": "ca",
    "token_file": "t",
    "lease": "a/b",
    "port": 1,
}


@pytest.mark.parametrize("source", [{"from_cluster": True}, {"snapshot": ("a",)}])
@pytest.mark.parametrize("flag", OF_THE_SCHEDULER)
def test_where_the_scheduler_is_not_asked_none_of_its_flags_is_ignored(
    flag: str, source: dict[str, Any]
) -> None:
    with pytest.raises(QuestionError, match="is of the running scheduler, which is not asked"):
        ask(**source, **{flag: OF_THE_SCHEDULER[flag]})


@pytest.mark.parametrize("flag", OF_THE_SCHEDULER)
def test_how_a_scheduler_is_found_and_where_it_is_exclude_each_other(flag: str) -> None:
    given = {flag: OF_THE_SCHEDULER[flag]}
    if flag in ("server_ca", "token_file"):
        assert ask(all_pending=True, server="https://a:1", **given).server
        with pytest.raises(QuestionError, match="is for a scheduler at --server URL"):
            ask(all_pending=True, **given)
    elif flag in ("lease", "port"):
        assert ask(all_pending=True, **given).source is Source.SCHEDULER
        with pytest.raises(QuestionError, match="--server says where it is"):
            ask(all_pending=True, server="https://a:1", **given)
