"""The text of a file: what is refused before a field is looked at."""

import pytest

from scheduler_svc.shell.config.document import (
    MappingNode,
    Mark,
    find,
    iterate_given,
    locate,
    render_path,
    to_plain,
)
from scheduler_svc.shell.config.mistakes import ConfigurationError, Mistake, Problem
from scheduler_svc.shell.config.reading import (
    MAX_DEPTH,
    MAX_FILE_BYTES,
    MAX_VALUES,
    read_document,
)


def read(text: str | bytes) -> object:
    root, log = read_document(text, file="f.yaml")
    assert log.mistakes == ()
    return to_plain(root)


def refuse(text: str | bytes) -> Mistake:
    """The one mistake of a text, fatal or not."""
    try:
        _, log = read_document(text, file="f.yaml")
    except ConfigurationError as error:
        (mistake,) = error.mistakes
        return mistake
    (mistake,) = log.mistakes
    return mistake


def test_json_is_yaml() -> None:
    assert read('{"a": [1, true, null, "x", 1.5]}') == {"a": [1, True, None, "x", 1.5]}


@pytest.mark.parametrize(
    "text", ["---\na: 1\n", "%YAML 1.1\n---\na: 1\n...\n", "a: 1\n---\n", "\ufeffa: 1"]
)
def test_one_document_however_it_is_marked(text: str) -> None:
    assert read(text) == {"a": 1}
    assert read(text.encode()) == {"a": 1}


def test_quotes_make_text() -> None:
    assert read("[yes, 'yes', 010, \"010\", !!str 5, ! 5]") == [True, "yes", 8, "010", "5", "5"]


def test_keys_are_text_as_in_json() -> None:
    assert read("{1: a, on: b, 1.5: c, d: e}") == {"1": "a", "true": "b", "1.5": "c", "d": "e"}


def test_block_text() -> None:
    assert read("a: |\n  one\n  two\n") == {"a": "one\ntwo\n"}


def test_aliases_and_merges() -> None:
    text = "base: &b {c: 1, d: 2}\nuse: *b\nmerged: {<<: *b, d: 3}\nboth: {<<: [{e: 4}, *b]}\n"

    assert read(text) == {
        "base": {"c": 1, "d": 2},
        "use": {"c": 1, "d": 2},
        "merged": {"c": 1, "d": 3},
        "both": {"c": 1, "d": 2, "e": 4},
    }


def test_an_alias_shares_its_node() -> None:
    root, _ = read_document("a: &x [1]\nb: *x\n", file="f.yaml")

    assert find(root, ("a",)) is find(root, ("b",))


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "null\n", "---\n---\n"])
def test_an_empty_file(text: str) -> None:
    mistake = refuse(text)

    assert mistake.problem is Problem.REQUIRED
    assert mistake.detail == "the file is empty"
    assert "kind: KubeSchedulerConfiguration" in mistake.meaning


def test_two_documents() -> None:
    mistake = refuse("a: 1\n---\nb: 2\n")

    assert mistake.detail == "the file has a second document; one is read"
    assert mistake.line == 3


@pytest.mark.parametrize(
    ("text", "line", "column", "byte"),
    [(b"a: 1\nb: caf\xe9\n", 2, 7, "0xe9"), ("a: 1\n".encode("utf-16"), 1, 1, "0xff")],
)
def test_not_utf_8(text: bytes, line: int, column: int, byte: str) -> None:
    mistake = refuse(text)

    assert (mistake.line, mistake.column) == (line, column)
    assert mistake.detail == f"the file is not UTF-8: byte {byte}"
    assert ("UTF-16" in mistake.meaning) == (byte == "0xff")


@pytest.mark.parametrize("character", ["\x00", "\x07", "\ud800", "\uffff"])
def test_characters_that_yaml_has_not(character: str) -> None:
    mistake = refuse(f"a: 1\nb: x{character}")

    assert (mistake.line, mistake.column) == (2, 5)
    assert mistake.detail == f"the character U+{ord(character):04X} cannot stand in YAML"


@pytest.mark.parametrize(
    ("text", "line"), [("a: [\n", 2), ("a: 1\n  b: 2\n", 2), ("a: 'x\n", 2), ("a: 1\n}\n", 2)]
)
def test_broken_yaml(text: str, line: int) -> None:
    mistake = refuse(text)

    assert mistake.problem is Problem.UNREADABLE
    assert mistake.detail.startswith("not YAML: ")
    assert mistake.line == line


def test_tabs_are_explained() -> None:
    mistake = refuse("a:\n\tb: 1\n")

    assert (mistake.line, mistake.column) == (2, 1)
    assert mistake.meaning == "YAML is indented with spaces, never with tabs"


def test_a_key_given_twice() -> None:
    mistake = refuse("a:\n  x: 1\n  y: 2\n  x: 3\n")

    assert (mistake.path, mistake.line, mistake.column) == ("a.x", 4, 3)
    assert mistake.body == 'Duplicate value: "x": key "x" already set in map (line 2)'


@pytest.mark.parametrize("text", ["{[a]: b}", "{{a: b}: c}", "{~: b}", "? \n: b\n"])
def test_keys_that_json_has_not(text: str) -> None:
    assert refuse(text).detail == "a key must be a single word"


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("a: &x [*x]", "anchor 'x' contains itself"),
        ("a: *x", "anchor 'x' is not defined"),
        ("<<: 5", "only objects can be merged with <<"),
        ("<<: [5]", "only objects can be merged with <<"),
        ("a: !!python/name:os.system x", "cannot be read with the tag"),
        ("a: !!int x", "cannot be read with the tag 'tag:yaml.org,2002:int'"),
        ("a: !!binary eA==", "cannot be read with the tag"),
        ("a: !custom {b: 1}", "the tag '!custom' cannot be used in a configuration"),
        ("a: !!set {b}", "the tag 'tag:yaml.org,2002:set' cannot be used"),
    ],
)
def test_tags_and_anchors(text: str, detail: str) -> None:
    assert refuse(text).detail.startswith(detail)


def test_standard_tags() -> None:
    text = "!!map {a: !!seq [!!int 1, !!float 2, !!bool on, !!null ~]}"

    assert read(text) == {"a": [1, 2, True, None]}


def test_too_large_a_file() -> None:
    mistake = refuse(b"#" * (MAX_FILE_BYTES + 1))

    assert mistake.problem is Problem.TOO_LARGE
    assert str(MAX_FILE_BYTES) in mistake.detail
    assert str(mistake).startswith("f.yaml: Too large: ")


def test_a_bomb_of_aliases() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    mistake = refuse("\n".join(lines))

    assert mistake.detail == (
        f"the file stands for more than {MAX_VALUES} values, its aliases written out"
    )


def test_depth() -> None:
    deepest = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    read(deepest)

    mistake = refuse(f"[{deepest}]")
    assert mistake.detail == f"lists and objects are nested more than {MAX_DEPTH} deep"


def test_depth_by_aliases() -> None:
    lines = ["a0: &a0 [x]", *(f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 100))]
    mistake = refuse("\n".join(lines))

    assert mistake.detail == f"lists and objects are nested more than {MAX_DEPTH} deep"


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 100_000, "- " * 100_000])
def test_endless_nesting_ends(text: str) -> None:
    assert refuse(text).problem in {Problem.TOO_LARGE, Problem.UNREADABLE}


TREE = "a:\n  b:\n  - c: 1\n  - d:\n      e: 2\n"


@pytest.mark.parametrize(
    ("path", "mark"),
    [
        ((), Mark(1, 1)),
        (("a", "b"), Mark(2, 3)),
        (("a", "b", 0), Mark(3, 5)),
        (("a", "b", 1, "d", "e"), Mark(5, 7)),
        (("a", "b", 1, "d", "missing", 3), Mark(4, 5)),
        (("a", "b", 9), Mark(2, 3)),
        (("a", 0), Mark(1, 1)),
    ],
)
def test_where_a_path_stands(path: tuple[str | int, ...], mark: Mark) -> None:
    root, _ = read_document(TREE, file="f.yaml")

    assert locate(root, path) == mark


def test_all_paths_that_are_given() -> None:
    root, _ = read_document(f"{TREE}f: ~\n", file="f.yaml")

    assert isinstance(root, MappingNode)
    assert [render_path(path) for path in iterate_given(root)] == [
        "a",
        "a.b",
        "a.b[0]",
        "a.b[0].c",
        "a.b[1]",
        "a.b[1].d",
        "a.b[1].d.e",
    ]
