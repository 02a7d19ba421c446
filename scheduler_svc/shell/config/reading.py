"""Reads the text of a configuration file into a tree of nodes, or says why it cannot.

Refused before anything is decoded: text that is not UTF-8, an empty file, more than
one document, keys given twice, tags, aliases that contain themselves or stand for too
many values, too deep a nesting, too large a file. kube-scheduler reads only the first
of several documents and is silent about it; here that is a mistake.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

import yaml

from kubeio.yaml_scalars import Scalar, resolve_plain
from scheduler_svc.shell.config.document import (
    START,
    MappingNode,
    Mark,
    Node,
    Path,
    ScalarNode,
    SequenceNode,
    is_null,
)
from scheduler_svc.shell.config.mistakes import (
    ConfigurationError,
    MistakeLog,
    Problem,
    render_value,
)

MAX_FILE_BYTES: Final = 1024 * 1024
"""As much as a ConfigMap can hold."""
MAX_DEPTH: Final = 50
"""Lists and objects within each other; a full configuration has 14."""
MAX_VALUES: Final = 50_000
"""Values of the file with every alias written out; the default configuration has 150."""

# libyaml where PyYAML was built with it: the same events, several times faster.
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MERGE_KEY: Final = "<<"
_TAG_PREFIX: Final = "tag:yaml.org,2002:"
_TYPES_OF_TAGS: Final[dict[str, tuple[type, ...]]] = {
    "bool": (bool,),
    "int": (int,),
    "float": (float, int),
    "null": (type(None),),
}


def read_document(data: str | bytes, *, file: str) -> tuple[Node, MistakeLog]:
    """Return the root of the file's one document, and a log with the mistakes found so far.

    Raises
    ------
    ConfigurationError
        There is no document that could be looked at further.
    """
    log = MistakeLog(file)
    text = _decode_text(data, log)
    if text is not None:
        builder = _TreeBuilder(log)
        try:
            builder.build(yaml.parse(text, Loader=_LOADER))
        except yaml.MarkedYAMLError as error:
            _note_syntax_error(log, error)
        except _GiveUpError:
            pass
        else:
            if builder.root is None or is_null(builder.root):
                log.add(Problem.REQUIRED, (), detail="the file is empty", meaning=_SHORTEST)
            else:
                log.root = builder.root
                return builder.root, log
    raise ConfigurationError(log.mistakes)


_SHORTEST: Final = """the shortest configuration is
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration"""


class _GiveUpError(Exception):
    """Reading on would be of no use; the log says why."""


def _decode_text(data: str | bytes, log: MistakeLog) -> str | None:
    size_bytes = len(data) if isinstance(data, bytes) else len(data.encode(errors="surrogatepass"))
    if size_bytes > MAX_FILE_BYTES:
        detail = f"the file has more than {MAX_FILE_BYTES} bytes, which is the most that is read"
        log.add(Problem.TOO_LARGE, (), detail=detail)
        return None
    if isinstance(data, bytes):
        try:
            data = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            is_utf_16 = error.object.startswith((b"\xff\xfe", b"\xfe\xff"))
            log.add(
                Problem.UNREADABLE,
                (),
                detail=f"the file is not UTF-8: byte 0x{error.object[error.start]:02x}",
                meaning="it looks like UTF-16: save it as UTF-8" if is_utf_16 else "",
                mark=_mark_after(error.object[: error.start].decode("utf-8", "replace")),
            )
            return None
    unprintable = _UNPRINTABLE.search(data)
    if unprintable is not None:
        code = ord(unprintable.group())
        detail = f"the character U+{code:04X} cannot stand in YAML"
        mark = _mark_after(data[: unprintable.start()])
        log.add(Problem.UNREADABLE, (), detail=detail, mark=mark)
        return None
    return data.removeprefix("\ufeff")


def _mark_after(text: str) -> Mark:
    return Mark(text.count("\n") + 1, len(text) - (text.rfind("\n") + 1) + 1)


def _note_syntax_error(log: MistakeLog, error: yaml.MarkedYAMLError) -> None:
    problem = error.problem or ""
    is_tab = "found character" in problem and "start any token" in problem
    mark = error.problem_mark if error.problem_mark is not None else error.context_mark
    log.add(
        Problem.UNREADABLE,
        (),
        detail=f"not YAML: {', '.join(part for part in (error.context, problem) if part)}",
        meaning="YAML is indented with spaces, never with tabs" if is_tab else "",
        mark=_position(mark),
    )


class _YamlMark(Protocol):
    line: int
    column: int


def _position(mark: _YamlMark | None) -> Mark:
    return START if mark is None else Mark(mark.line + 1, mark.column + 1)


@dataclass(slots=True)
class _Extent:
    """How much a node stands for with its aliases written out.

    `height`: lists and objects within each other, the node's own included.
    """

    value_count: int = 1
    height: int = 0


@dataclass(slots=True)
class _OpenCollection:
    """A list or an object whose end has not been read yet."""

    mark: Mark
    path: Path
    anchor: str | None
    is_mapping: bool
    items: list[Node] = field(default_factory=list)
    fields: dict[str, Node] = field(default_factory=dict)
    key_marks: dict[str, Mark] = field(default_factory=dict)
    merged: list[MappingNode] = field(default_factory=list)
    key: ScalarNode | None = None
    extent: _Extent = field(default_factory=lambda: _Extent(height=1))


class _TreeBuilder:
    """Turns a stream of YAML events into nodes."""

    def __init__(self, log: MistakeLog) -> None:
        self.root: Node | None = None
        self._log = log
        self._open: list[_OpenCollection] = []
        self._anchors: dict[str, tuple[Node, _Extent]] = {}

    def build(self, events: Iterator[yaml.Event]) -> None:
        """Read the first document; a second one that is not empty is a mistake."""
        document_count = 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                document_count += 1
            elif document_count < 2:
                self._take(event)
            elif isinstance(event, yaml.NodeEvent) and not _is_empty(event):
                self._log.add(
                    Problem.FORBIDDEN,
                    (),
                    detail="the file has a second document; one is read",
                    meaning="several schedulers are several entries under profiles",
                    mark=_position(event.start_mark),
                )
                return

    def _take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self._put(self._scalar(event), _Extent(), anchor=event.anchor)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event.anchor or "", _position(event.start_mark))
        elif isinstance(event, yaml.CollectionStartEvent):
            self._begin(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._end()

    def _path(self) -> Path:
        if not self._open:
            return ()
        top = self._open[-1]
        if not top.is_mapping:
            return (*top.path, len(top.items))
        return (*top.path, _key_text(top.key.value)) if top.key is not None else top.path

    def _give_up(self, problem: Problem, detail: str, mark: Mark) -> _GiveUpError:
        self._log.add(problem, self._path(), detail=detail, mark=mark)
        return _GiveUpError()

    def _scalar(self, event: yaml.ScalarEvent) -> ScalarNode:
        mark, text = _position(event.start_mark), str(event.value)
        if event.tag is None:
            return ScalarNode(mark, resolve_plain(text) if event.implicit[0] else text, text)
        name = event.tag.removeprefix(_TAG_PREFIX)
        if name in {"!", "str"}:
            return ScalarNode(mark, text, text)
        value = resolve_plain(text)
        if type(value) not in _TYPES_OF_TAGS.get(name, ()):
            self._log.add(
                Problem.INVALID,
                self._path(),
                value=render_value(text),
                detail=f"cannot be read with the tag {event.tag!r}",
                mark=mark,
            )
            self._log.replaced(self._path())
        return ScalarNode(mark, value, text)

    def _alias(self, anchor: str, mark: Mark) -> None:
        if any(collection.anchor == anchor for collection in self._open):
            raise self._give_up(Problem.INVALID, f"anchor {anchor!r} contains itself", mark)
        if anchor not in self._anchors:
            raise self._give_up(Problem.INVALID, f"anchor {anchor!r} is not defined", mark)
        node, extent = self._anchors[anchor]
        if len(self._open) + extent.height > MAX_DEPTH:
            raise self._too_deep(mark)
        self._put(node, extent)

    def _too_deep(self, mark: Mark) -> _GiveUpError:
        detail = f"lists and objects are nested more than {MAX_DEPTH} deep"
        return self._give_up(Problem.TOO_LARGE, detail, mark)

    def _begin(self, event: yaml.CollectionStartEvent) -> None:
        mark, path = _position(event.start_mark), self._path()
        if len(self._open) >= MAX_DEPTH:
            raise self._too_deep(mark)
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        standard_tag = _TAG_PREFIX + ("map" if is_mapping else "seq")
        if event.tag not in {None, "!", standard_tag}:
            detail = f"the tag {event.tag!r} cannot be used in a configuration"
            self._log.add(Problem.FORBIDDEN, path, detail=detail, mark=mark)
        self._open.append(_OpenCollection(mark, path, event.anchor, is_mapping))

    def _end(self) -> None:
        top = self._open.pop()
        node: Node = SequenceNode(top.mark, tuple(top.items))
        if top.is_mapping:
            for merged in top.merged:
                for key, value in merged.fields.items():
                    top.fields.setdefault(key, value)
                    top.key_marks.setdefault(key, merged.key_marks[key])
            node = MappingNode(top.mark, top.fields, top.key_marks)
        self._put(node, top.extent, anchor=top.anchor)

    def _put(self, node: Node, extent: _Extent, *, anchor: str | None = None) -> None:
        """Give a finished node to the collection it belongs to, or make it the root."""
        if anchor is not None:
            self._anchors[anchor] = (node, extent)
        if not self._open:
            self.root = node
            return
        top = self._open[-1]
        top.extent.value_count += extent.value_count
        top.extent.height = max(top.extent.height, extent.height + 1)
        if top.extent.value_count > MAX_VALUES:
            detail = f"the file stands for more than {MAX_VALUES} values, its aliases written out"
            raise self._give_up(Problem.TOO_LARGE, detail, node.mark)
        if not top.is_mapping:
            top.items.append(node)
        elif top.key is None:
            if not isinstance(node, ScalarNode) or node.value is None:
                raise self._give_up(Problem.INVALID, "a key must be a single word", node.mark)
            top.key = node
        else:
            self._put_field(top, top.key, node)
            top.key = None

    def _put_field(self, top: _OpenCollection, key: ScalarNode, node: Node) -> None:
        name = _key_text(key.value)
        if name == _MERGE_KEY:
            merged = node.items if isinstance(node, SequenceNode) else (node,)
            for part in merged:
                if not isinstance(part, MappingNode):
                    detail = "only objects can be merged with <<"
                    raise self._give_up(Problem.INVALID, detail, part.mark)
                top.merged.append(part)
        elif name in top.fields:
            first_line = top.key_marks[name].line
            shown = render_value(name)
            detail = f"key {shown} already set in map (line {first_line})"
            self._log.add(
                Problem.DUPLICATE, self._path(), value=shown, detail=detail, mark=key.mark
            )
        else:
            top.fields[name] = node
            top.key_marks[name] = key.mark


def _is_empty(event: yaml.NodeEvent) -> bool:
    return isinstance(event, yaml.ScalarEvent) and not event.value


def _key_text(value: Scalar) -> str:
    """Write a key as sigs.k8s.io/yaml does: JSON's keys are text only."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
