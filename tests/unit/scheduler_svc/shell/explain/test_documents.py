import io
from pathlib import Path
from types import SimpleNamespace

import pytest

from scheduler_svc.shell.explain.documents import Document, DocumentError, parse, read_documents

POD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n"


def read(tmp_path: Path, text: str, name: str = "a.yaml") -> list[Document]:
    path = tmp_path / name
    path.write_text(text)
    return [
        Document(d.where.removeprefix(str(tmp_path)), d.content)
        for d in read_documents([str(path)])
    ]


def names(documents: list[Document]) -> list[str]:
    return [document.content["metadata"]["name"] for document in documents]


def test_documents_of_a_stream_have_their_lines(tmp_path: Path) -> None:
    documents = read(tmp_path, f"---\n{POD}---\n---\n{POD.replace('web', 'db')}")
    assert names(documents) == ["web", "db"]
    assert [document.where for document in documents] == ["/a.yaml:2", "/a.yaml:8"]


def test_lists_are_opened_and_items_have_their_lines(tmp_path: Path) -> None:
    text = (
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n"
        "- apiVersion: v1\n  kind: Pod\n  metadata: {name: b}\n"
    )
    documents = read(tmp_path, text)
    assert names(documents) == ["a", "b"]
    assert [document.where for document in documents] == ["/a.yaml:4", "/a.yaml:7"]


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_items_of_a_typed_list_are_of_its_type(tmp_path: Path, suffix: str) -> None:
    text = '{"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "a"}}]}'
    [document] = read(tmp_path, text if suffix == "json" else f"# kubectl\n{text}", f"a.{suffix}")
    assert document.content == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}


@pytest.mark.parametrize("items", ["", '"items": null', '"items": []'])
def test_empty_lists_say_nothing(tmp_path: Path, items: str) -> None:
    comma = "," if items else ""
    assert read(tmp_path, f'{{"apiVersion": "v1", "kind": "List"{comma} {items}}}', "a.json") == []


def test_json_values_may_follow_one_another(tmp_path: Path) -> None:
    text = (
        '\n{"metadata": {"name": "a"}}\n\n{"metadata": {"name": "b"}} {"metadata": {"name": "c"}}\n'
    )
    documents = read(tmp_path, text, "a.json")
    assert names(documents) == ["a", "b", "c"]
    assert documents[1].where == "/a.json: value 2"


def test_a_json_array_is_a_list_of_objects(tmp_path: Path) -> None:
    documents = read(tmp_path, '[{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]')
    assert [document.where for document in documents] == ["/a.yaml: [0]", "/a.yaml: [1]"]


def test_flow_style_is_yaml(tmp_path: Path) -> None:
    [document] = read(tmp_path, "{kind: Pod, metadata: {name: a}}")
    assert document.content["kind"] == "Pod"


def test_scalars_mean_what_they_mean_to_kubernetes(tmp_path: Path) -> None:
    text = (
        "date: 2026-01-01T00:00:00Z\noctal: 010\nyes: on\ntime: 12:30\nquoted: '5'\n1: one\nnone:\n"
    )
    [document] = read(tmp_path, text)
    assert document.content == {
        "date": "2026-01-01T00:00:00Z",
        "octal": 8,
        "true": True,
        "time": "12:30",
        "quoted": "5",
        "1": "one",
        "none": None,
    }


def test_numbers_without_a_fraction_are_integers_as_in_json(tmp_path: Path) -> None:
    [document] = read(tmp_path, "a: 5.0\nb: 1e3\nc: 0.5\nd: 1e21\ne: -2.\n")
    assert document.content == {"a": 5, "b": 1000, "c": 0.5, "d": 1e21, "e": -2}
    assert [type(value) for value in document.content.values()] == [int, int, float, float, int]


def test_tags_say_what_a_scalar_is(tmp_path: Path) -> None:
    text = (
        "a: !!str 5\nb: !!int '5'\nc: !!bool \"yes\"\nd: !!binary c3Nk\ne: !own on\nf: !!str yes\n"
    )
    [document] = read(tmp_path, text)
    expected = {"a": "5", "b": 5, "c": True, "d": "ssd", "e": "on", "f": "yes"}
    assert document.content == expected


def test_keys_are_texts_of_what_they_mean(tmp_path: Path) -> None:
    [document] = read(tmp_path, "010: a\n0x1F: b\n1.50: c\nno: d\n'010': e\n2026-01-01: f\n")
    assert list(document.content) == ["8", "31", "1.5", "false", "010", "2026-01-01"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-8-sig"])
def test_byte_order_marks(encoding: str) -> None:
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    documents = list(parse("s", f"{mark}{POD}---\n{POD}".encode(encoding)))
    assert names(documents) == ["web", "web"]


def test_files_with_marks_may_have_been_put_together() -> None:
    text = f"---\n{POD}".encode("utf-8-sig")
    assert names(list(parse("s", text + text))) == ["web", "web"]


def test_aliases_and_merges(tmp_path: Path) -> None:
    text = "a: &a {x: 1, z: 2}\nb: *a\nc:\n  z: 3\n  <<: *a\n"
    [document] = read(tmp_path, text)
    assert document.content["b"] == {"x": 1, "z": 2}
    assert document.content["c"] == {"x": 1, "z": 3}


def test_folders_are_read_in_order_and_through(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("b.yml", "a.json", "deep/c.yaml", "notes.txt"):
        (tmp_path / name).write_text(f'{{"metadata": {{"name": "{name}"}}}}')
    documents = list(read_documents([str(tmp_path)]))
    assert names(documents) == ["a.json", "b.yml", "deep/c.yaml"]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = SimpleNamespace(buffer=io.BytesIO(POD.encode()))
    monkeypatch.setattr("sys.stdin", stream)
    [document] = read_documents(["-"])
    assert document.where == "standard input:1"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a: b: c", "s:1: not YAML: mapping values are not allowed in this context"),
        (b"a: 1\nb: [1, 2\nc: 3", "s:3: not YAML"),
        (b"a: \xff\n", "s:1: not UTF-8: byte 0xff"),
        (b'{"a": 1,\n "b" 2}', "s:2: neither JSON nor YAML: Expecting ':' delimiter (column 6)"),
        (b"? [a, b]\n: c\n", "s:1: not YAML: a key must be a plain word"),
        (b"~: b\n", "s:1: not YAML: a key must be a plain word"),
        (b"a:\n- !!binary '*'\n", "s:2: not YAML: a text in base64 was expected"),
        (b"\xff\xfea", "s:1: not UTF-16: byte 0x61"),
        (b"a: *b", "s:1: not YAML"),
        (b"a: \x01", "s: not YAML"),
        (b"- " * 900 + b"a", "s: lists and objects are nested too deeply"),
    ],
)
def test_what_is_broken_is_told_with_its_place(data: bytes, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        list(parse("s", data))
    assert str(caught.value).startswith(message)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"missing\.yaml: No such file or directory"):
        list(read_documents([str(tmp_path / "missing.yaml")]))
    with pytest.raises(DocumentError, match=r"the folder has no file \*\.yaml"):
        list(read_documents([str(tmp_path)]))
