"""The JSON of questions and answers, as Go's extender types have it."""

import json
from typing import Any

import msgspec
import pytest

from scheduler_svc.core.effects import BindPod, NodeVictims, PodReference
from scheduler_svc.core.events import VictimUids
from scheduler_svc.shell.extenders.wire import (
    ExtenderError,
    FilterResult,
    decode_binding_result,
    decode_filter_result,
    decode_scores,
    decode_victims,
    encode_arguments,
    encode_binding,
    encode_victims,
)

POD = msgspec.Raw(b'{"metadata":{"name":"p"},"unknown":1.50}')
POD_JSON = {"metadata": {"name": "p"}, "unknown": 1.5}
NODE = msgspec.Raw(b'{"metadata":{"name":"a"}}')


def read(body: Any, names: tuple[str, ...] = ("a", "b"), *, by_name: bool = True) -> FilterResult:
    return decode_filter_result(json.dumps(body).encode(), names, by_name=by_name, url="http://x")


def test_nodes_are_asked_about_by_name_or_whole() -> None:
    assert json.loads(encode_arguments(POD, None, ("a", "b"))) == {
        "Pod": POD_JSON,
        "Nodes": None,
        "NodeNames": ["a", "b"],
    }
    whole = json.loads(encode_arguments(POD, [NODE], ()))
    assert whole["NodeNames"] is None
    assert whole["Nodes"]["items"] == [{"metadata": {"name": "a"}}]


def test_victims_are_asked_about_by_uid_or_whole() -> None:
    victims = {"a": NodeVictims((PodReference("d", "v", "u"),), 1)}
    assert json.loads(encode_victims(POD, victims, None)) == {
        "Pod": POD_JSON,
        "NodeNameToVictims": None,
        "NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "u"}], "NumPDBViolations": 1}},
    }
    assert json.loads(encode_victims(POD, victims, {"u": POD})) == {
        "Pod": POD_JSON,
        "NodeNameToVictims": {"a": {"Pods": [POD_JSON], "NumPDBViolations": 1}},
        "NodeNameToMetaVictims": None,
    }


def test_a_binding_names_the_pod_and_the_node() -> None:
    effect = BindPod(PodReference("d", "p", "u"), "berthmaster", "a", "id", 1, 0.0, 0.0, 0)
    assert json.loads(encode_binding(effect)) == {
        "PodName": "p",
        "PodNamespace": "d",
        "PodUID": "u",
        "Node": "a",
    }


def test_names_are_read_with_their_reasons() -> None:
    body = {
        "NodeNames": ["b", "b"],
        "FailedNodes": {"a": "busy"},
        "FailedAndUnresolvableNodes": {"c": "never"},
        "Error": "",
    }
    assert read(body) == FilterResult(("b",), {"a": "busy"}, {"c": "never"})


@pytest.mark.parametrize("by_name", [True, False])
def test_nodes_count_where_no_names_are_given(by_name: bool) -> None:
    body = {"Nodes": {"items": [{"metadata": {"name": "a"}}]}, "NodeNames": None}
    assert read(body, by_name=by_name).passing == ("a",)


def test_names_do_not_count_for_an_extender_that_gets_whole_nodes() -> None:
    assert read({"NodeNames": ["a"]}, by_name=False).passing == ()


@pytest.mark.parametrize(
    "body", [None, {}, {"Nodes": None}, {"NodeNames": [], "FailedNodes": None}]
)
def test_what_is_absent_is_empty(body: Any) -> None:
    assert read(body) == FilterResult((), {}, {})


def test_keys_may_be_written_in_any_case_as_go_reads_them() -> None:
    body = {"nodenames": ["a"], "failedNodes": {"b": "busy"}, "error": ""}
    assert read(body) == FilterResult(("a",), {"b": "busy"}, {})
    assert decode_scores(b'[{"host": "a", "score": 3}]') == {"a": 3}


@pytest.mark.parametrize(
    "entries",
    [
        [{"Host": "a", "Score": 3}, {"Host": "b", "Score": 4}],
        [{"host": "a", "score": 3}, {"host": "b", "score": 4}],
        [{"Host": "a", "Score": 3}, {"host": "b", "SCORE": 4}],
        [{"Host": "a", "Score": 3, "Why": "near"}, {"Host": "b", "Score": 4, "Why": None}],
        [{"Host": "a", "Score": 3}, {"Host": "b", "Score": 4}, {"Host": None, "Score": None}],
        [{"Host": "a", "Score": 3}, {"Host": "b", "Score": 4}, None],
    ],
)
def test_scores_are_the_same_however_they_are_written(entries: Any) -> None:
    scores = decode_scores(json.dumps(entries).encode())
    assert scores.pop("", 0) == 0
    assert scores == {"a": 3, "b": 4}


@pytest.mark.parametrize("entry", [{"Score": 1.5}, {"Score": "1"}, {"Host": 1}, "a"])
def test_a_score_is_a_whole_number_of_a_name(entry: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        decode_scores(json.dumps([entry]).encode())


@pytest.mark.parametrize(
    "node",
    [
        {"metadata": {"name": "a", "labels": None}, "spec": {}},
        {"Metadata": {"Name": "a"}},
        {"metadata": {"NAME": "a", "uid": "u"}},
    ],
)
def test_a_whole_nodes_name_may_be_written_in_any_case(node: Any) -> None:
    others = [{"metadata": {"name": "b"}}]
    assert read({"nodes": {"Items": [node, *others]}}, by_name=False).passing == ("a", "b")


@pytest.mark.parametrize("node", [None, {}, {"metadata": None}, {"metadata": {"name": None}}])
def test_a_node_without_a_name_was_not_asked_about(node: Any) -> None:
    with pytest.raises(ExtenderError, match='claims a filtered node ""'):
        read({"Nodes": {"items": [node]}}, by_name=False)


@pytest.mark.parametrize("by_name", [True, False])
def test_a_node_that_was_not_asked_about_is_an_error(by_name: bool) -> None:
    body = {"NodeNames": ["z"]} if by_name else {"Nodes": {"items": [{"metadata": {"name": "z"}}]}}
    text = (
        'extender "http://x" claims a filtered node "z" which is not found in the input node list'
    )
    with pytest.raises(ExtenderError, match=text):
        read(body, by_name=by_name)


def test_an_error_is_raised() -> None:
    with pytest.raises(ExtenderError, match="out of order"):
        read({"Error": "out of order", "NodeNames": ["a"]})
    with pytest.raises(ExtenderError, match="not today"):
        decode_binding_result(b'{"Error": "not today"}')
    decode_binding_result(b"{}")


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"NodeNames": "a"}', b'{"NodeNames": ['])
def test_what_is_no_answer_cannot_be_read(body: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_filter_result(body, ("a",), by_name=True, url="http://x")


def test_scores_of_a_node_add_up() -> None:
    assert decode_scores(b"null") == {}
    body = b'[{"Host":"a","Score":3},{"Host":"b"},{"Host":"a","Score":-1}]'
    assert decode_scores(body) == {"a": 2, "b": 0}


def test_victims_are_read_by_uid() -> None:
    body = (
        b'{"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"u"},{"UID":"v"}],"NumPDBViolations":2},'
        b'"b":{"Pods":null},"c":null}}'
    )
    assert decode_victims(body) == {
        "a": VictimUids(("u", "v"), 2),
        "b": VictimUids((), 0),
        "c": VictimUids((), 0),
    }
    assert decode_victims(b"{}") == {}
