"""A manifest's text is read as the kubelet reads it, or refused in one line and little memory."""

import tracemalloc
from typing import Any

import pytest
import yaml

from node_agent.core.static_pods import Refusal, RefusalReason
from node_agent.shell.manifest_text import MAX_BYTES, MAX_VALUES, Parsed, parse_manifest


def document(text: str | bytes) -> Any:
    """Give what a text holds."""
    parsed = parse_manifest(text.encode() if isinstance(text, str) else text)
    assert isinstance(parsed, Parsed), parsed
    assert not parsed.notice
    return parsed.document


def refused(text: str | bytes) -> str:
    """Give what a text is refused with."""
    refusal = parse_manifest(text.encode() if isinstance(text, str) else text)
    assert isinstance(refusal, Refusal), refusal
    assert refusal.reason is RefusalReason.UNPARSABLE
    assert "\n" not in refusal.message
    return refusal.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kind: Pod\nspec:\n  a: [1, yes, x]\n", {"kind": "Pod", "spec": {"a": [1, True, "x"]}}),
        ('{"kind": "Pod", "n": null}', {"kind": "Pod", "n": None}),
        (' \n{"a": "\\u00e9"}', {"a": "é"}),
        ("\ufeffa: 1", {"a": 1}),
        ("# only\n---\na: 1\n...\n", {"a": 1}),
        ("a: '1'\nb: \"x\\ty\"\nc: !!str 2\n", {"a": "1", "b": "x\ty", "c": "2"}),
        ("a: |\n  text\n", {"a": "text\n"}),
        ("a: 010\nb: 2024-01-01\nc: ~\nd:\n", {"a": 8, "b": "2024-01-01", "c": None, "d": None}),
        ("1: a\ntrue: b\n", {"1": "a", "true": "b"}),
        ("a: 1\na: 2\n", {"a": 2}),
        ("a: &x {b: 1}\nc: *x\nd: [*x]\n", {"a": {"b": 1}, "c": {"b": 1}, "d": [{"b": 1}]}),
        ("a: &x 1\nc: *x\n", {"a": 1, "c": 1}),
        ("- &x {b: 1, c: 2}\n- <<: *x\n  c: 3\n", [{"b": 1, "c": 2}, {"b": 1, "c": 3}]),
        ("- &x {b: 1}\n- {<<: [*x, {e: 5}], f: 6}\n", [{"b": 1}, {"b": 1, "e": 5, "f": 6}]),
        ("[]", []),
        ("text", "text"),
    ],
)
def test_texts_are_read(text: str, expected: Any) -> None:
    assert document(text) == expected


@pytest.mark.parametrize("text", ["a: 1\n---\nb: 2\n", "a: 1\n---\n- !!binary ÿ\n"])
def test_of_several_documents_the_first_is_read_with_a_notice(text: str) -> None:
    parsed = parse_manifest(text.encode())
    assert isinstance(parsed, Parsed)
    assert parsed.document == {"a": 1}
    assert parsed.notice == (
        "there is more than one document: the first is read, as the kubelet does"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the text is empty"),
        ("# nothing\n", "the text is empty"),
        ("---\n---\na: 1\n", "the first document is empty"),
        ("null", "the text is empty"),
        ("{", "not JSON: Input data was truncated"),
        ("{a: 1}", "not JSON: JSON is malformed: object keys must be strings (byte 1)"),
        ("*x", "line 1: no anchor 'x' so far"),
        ("a: &x [*x]", "line 1: no anchor 'x' so far"),
        ("[a]: 1", "a key must be a plain word"),
        ("~: 1", "line 1: a key must be a plain word"),
        ("a: {<<: 1}", "<< needs an object, or a list of them"),
        (b"a: b\nc: \xff", "line 2: not UTF-8: byte 0xff"),
        ("a: b".encode("utf-16"), "line 1: not UTF-8: byte 0xff"),
        (100 * "[", "line 1: nested more than 64 deep"),
        ('{"a":' + 50_000 * "[" + 50_000 * "]" + "}", "nested more than 64 deep"),
        ('{"a":' + 100 * "[" + 100 * "]" + "}", "nested more than 64 deep"),
        ("[" + 200_000 * "1," + "1]", f"more than {MAX_VALUES} values"),
        ('{"a":[' + 200_000 * "1," + "1]}", f"more than {MAX_VALUES} values"),
        ('{"a":[' + 2_000_000 * "[]," + "1]}", f"more than {MAX_VALUES} values"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_line(text: str | bytes, message: str) -> None:
    assert refused(text) == message


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        ("a: b: c\n", "line 1: not YAML: "),
        ("a:\n\t- b\n", "line 2: not YAML: "),
        ("a: 'b\n", "line 2: not YAML: "),
        ("a: \x01\n", "not YAML: "),
        ('"\\ud800"', "line 1: not YAML: "),
        (50_000 * "[", "line 1: not YAML: "),
        ("{} {}", "not JSON: "),
        ('{"a": "\\ud800"}', "not JSON: "),
    ],
)
def test_what_is_no_yaml_is_told_with_its_line(text: str, beginning: str) -> None:
    assert refused(text).startswith(beginning)


def test_half_a_character_is_refused_without_libyaml_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("node_agent.shell.manifest_text._LOADER", yaml.SafeLoader)
    assert refused('"\\ud800"') == "a text with half a character (a lone surrogate)"


def laughs(levels: int) -> str:
    """Give a text whose aliases stand for 10 to the power of `levels` values."""
    lines = ["a0: &a0 x"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels + 1)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        laughs(4) + "\nb: [*a4, *a4, *a4, *a4, *a4, *a4, *a4, *a4, *a4, *a4]",
        laughs(12),
        # Wide rather than deep: every alias stands for all the others' content.
        "a: &a [" + 40_000 * "1," + "1]\nb: &b [" + 40_000 * "*a," + "1]\n",
        # What it holds is small, since all merges say the same.
        "a: &a {" + "".join(f"k{n}: 1," for n in range(400)) + "}\nb:\n" + 400 * "  <<: *a\n",
        "a: &a {" + "".join(f"k{n}: 1," for n in range(400)) + "}\nb: {<<: [" + 400 * "*a," + "]}",
    ],
)
def test_bombs_are_refused_in_bounded_memory(text: str) -> None:
    tracemalloc.start()
    try:
        assert refused(text) == f"more than {MAX_VALUES} values"
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 60 * 2**20


def test_aliases_below_the_limit_are_read() -> None:
    assert len(document(laughs(3))["a3"]) == 10


@pytest.mark.parametrize("size", [MAX_BYTES, 11 * 2**20])
def test_a_manifest_that_is_too_big_is_refused_unread(size: int) -> None:
    assert parse_manifest(size * b"[") == Refusal(
        RefusalReason.TOO_BIG, "a manifest has less than 10485760 bytes"
    )


def test_a_manifest_may_be_nearly_as_large_as_the_limit() -> None:
    text = b"a: " + (MAX_BYTES - 4) * b"x"
    assert len(document(text)["a"]) == MAX_BYTES - 4
