"""Kubernetes manifests from files, folders and standard input: YAML or JSON, one or many.

What `kubectl get … -o yaml` prints works as it is, and so do hand-written documents: plain
scalars mean what they mean to Kubernetes (`kubeio.yaml_scalars`), not what they mean to PyYAML.
"""

import codecs
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import yaml

from scheduler_svc.shell.explain.yaml_values import FIRST_TAG, value_of

STANDARD_INPUT: Final = "-"
SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
_LIST_SUFFIX: Final = "List"
# At the start, or where files with one have been put together.
_BYTE_ORDER_MARK: Final = re.compile("^\ufeff", re.MULTILINE)
# What PowerShell writes.
_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SPACE: Final = re.compile(r"\s*")


class DocumentError(ValueError):
    """Text that is broken, or a file that cannot be read; says where."""


class Document(NamedTuple):
    """One object, not decoded yet; `where` is FILE:LINE, or FILE: items[N] in JSON."""

    where: str
    content: Any


def read_documents(paths: Sequence[str]) -> Iterator[Document]:
    """Read files, the files of folders, and standard input (`-`); Lists are opened.

    Raises
    ------
    DocumentError
        At the first text that is neither YAML nor JSON, or file that cannot be read.
    """
    for path in paths:
        for name, data in _texts(path):
            for document in parse(name, data):
                yield from _open_lists(document)


def _texts(path: str) -> Iterator[tuple[str, bytes]]:
    if path == STANDARD_INPUT:
        yield "standard input", sys.stdin.buffer.read()
        return
    folder = Path(path)
    files = [folder]
    if folder.is_dir():
        files = sorted(f for f in folder.rglob("*") if f.suffix in SUFFIXES and f.is_file())
        if not files:
            raise DocumentError(f"{path}: the folder has no file *.yaml, *.yml or *.json")
    for file in files:
        try:
            yield str(file), file.read_bytes()
        except OSError as error:
            raise DocumentError(f"{file}: {error.strerror or error}") from error


def parse(name: str, data: bytes) -> Iterator[Document]:
    """Read the documents of one text. Raises `DocumentError`."""
    encoding = "UTF-16" if data.startswith(_UTF_16) else "UTF-8"
    try:
        text = _BYTE_ORDER_MARK.sub("", data.decode(encoding))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"not {encoding}: byte 0x{data[error.start]:02x}"
        raise DocumentError(f"{name}:{line}: {message}") from error
    if text.lstrip()[:1] in ("{", "["):
        yield from _parse_json(name, text)
    else:
        yield from _parse_yaml(name, text)


def _parse_json(name: str, text: str) -> Iterator[Document]:
    """Read JSON values, one after another; a text that is not JSON may still be YAML."""
    try:
        yield Document(name, msgspec.json.decode(text))
        return
    except msgspec.DecodeError:
        pass  # several values, or none: read on with positions
    decoder, found = json.JSONDecoder(), []
    position = _end_of_space(text, 0)
    try:
        while position < len(text):
            value, position = decoder.raw_decode(text, position)
            found.append(value)
            position = _end_of_space(text, position)
    except json.JSONDecodeError as error:
        try:
            yield from list(_parse_yaml(name, text))
        except DocumentError:
            message = f"neither JSON nor YAML: {error.msg} (column {error.colno})"
            raise DocumentError(f"{name}:{error.lineno}: {message}") from error
        return
    for number, value in enumerate(found, 1):
        yield Document(f"{name}: value {number}" if len(found) > 1 else name, value)


def _end_of_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Composes nodes; what their scalars mean is decided here."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - as in the base class
    DEFAULT_SCALAR_TAG = FIRST_TAG


def _parse_yaml(name: str, text: str) -> Iterator[Document]:
    loader = None
    try:
        loader = _Loader(text)
        while loader.check_node():
            node = loader.get_node()
            yield from _documents_of(name, node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None else 1
        problem = ", ".join(part for part in (error.context, error.problem) if part)
        raise DocumentError(f"{name}:{line}: not YAML: {problem}") from error
    except yaml.YAMLError as error:
        raise DocumentError(f"{name}: not YAML: {error}") from error
    except RecursionError as error:
        raise DocumentError(f"{name}: lists and objects are nested too deeply") from error
    finally:
        if loader is not None:
            loader.dispose()


def _documents_of(name: str, node: yaml.Node) -> Iterator[Document]:
    """Give the document, or the items of a List with the line of each."""
    content = value_of(node)
    items = _items_node(node)
    if items is None or not isinstance(content, dict):
        yield Document(f"{name}:{node.start_mark.line + 1}", content)
        return
    for item, manifest in zip(items.value, content["items"], strict=True):
        where = f"{name}:{item.start_mark.line + 1}"
        yield Document(where, _item(content, manifest))


def _items_node(node: yaml.Node) -> yaml.SequenceNode | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    fields = {key.value: value for key, value in node.value}
    kind, items = fields.get("kind"), fields.get("items")
    if kind is None or not str(kind.value).endswith(_LIST_SUFFIX):
        return None
    return items if isinstance(items, yaml.SequenceNode) else None


def _open_lists(document: Document) -> Iterator[Document]:
    content = document.content
    if isinstance(content, list):
        for number, item in enumerate(content):
            yield from _open_lists(Document(f"{document.where}: [{number}]", item))
        return
    items = content.get("items") if isinstance(content, dict) else None
    if not isinstance(items, list) or not str(content.get("kind", "")).endswith(_LIST_SUFFIX):
        if not _is_empty_list(content):
            yield document
        return
    for number, item in enumerate(items):
        where = f"{document.where}: items[{number}]"
        yield from _open_lists(Document(where, _item(content, item)))


def _is_empty_list(content: Any) -> bool:
    """Whether it is a List that says nothing: null items, or none."""
    if not isinstance(content, dict) or content.get("items") is not None:
        return content is None
    return str(content.get("kind", "")).endswith(_LIST_SUFFIX)


def _item(of_list: dict[str, Any], item: Any) -> Any:
    """Give an item its type: those of typed lists (`PodList`) leave it to the list."""
    kind = str(of_list["kind"]).removesuffix(_LIST_SUFFIX)
    if not isinstance(item, dict) or not kind or "kind" in item:
        return item
    return {"apiVersion": of_list.get("apiVersion"), "kind": kind, **item}
