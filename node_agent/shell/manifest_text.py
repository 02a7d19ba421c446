"""The text of a manifest to the document it holds, in bounded memory.

As in the kubelet, text that begins with ``{`` is JSON and nothing else, all other text is
YAML, and of several YAML documents the first is read and the others are not. What could
exhaust memory is refused before it does: too many values, be it by aliases, or too deep.

Source: apimachinery/pkg/util/yaml/decoder.go and sigs.k8s.io/yaml, v0.36.3.
"""

from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import yaml

from kubeio.yaml_scalars import resolve_plain
from node_agent.core.static_pods import Refusal, RefusalReason

MAX_BYTES: Final = 10 * 2**20
"""A manifest has fewer: the kubelet takes one that reaches this for one that exceeds it."""
TOO_BIG: Final = Refusal(RefusalReason.TOO_BIG, f"a manifest has less than {MAX_BYTES} bytes")
MAX_VALUES: Final = 100_000
"""Values in a document with every alias written out; a large Pod has 2,000."""
MAX_DEPTH: Final = 64
"""Lists and objects within each other; a Pod has 12."""
_MAX_SIGNS: Final = 250_000
"""Signs that begin or part values in JSON, counted before it is decoded."""
_MERGE_KEY: Final = "<<"
_STRING_TAG: Final = "tag:yaml.org,2002:str"

# libyaml where PyYAML was built with it: the same events, several times faster.
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Parsed(msgspec.Struct, frozen=True):
    """A document; `notice` is "" or tells what of the text was left out."""

    document: object
    notice: str = ""


class _RefusedError(Exception):
    """The text gives no document; its text says why and where."""


def parse_manifest(data: bytes) -> Parsed | Refusal:
    """Read the text of a manifest.

    Cost: 2 ms for the YAML of a Pod of 7 KB.
    """
    if len(data) >= MAX_BYTES:
        return TOO_BIG
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return _unparsable(f"line {line}: not UTF-8: byte 0x{data[error.start]:02x}")
    try:
        is_json = text.lstrip()[:1] == "{"
        parsed = Parsed(_read_json(text)) if is_json else _read_yaml(text)
        _check_extent(parsed.document)
    except _RefusedError as error:
        return _unparsable(str(error))
    return parsed


def _unparsable(message: str) -> Refusal:
    return Refusal(RefusalReason.UNPARSABLE, message)


def _read_json(text: str) -> object:
    if sum(text.count(sign) for sign in "{[,") > _MAX_SIGNS:
        raise _RefusedError(f"more than {MAX_VALUES} values")
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise _RefusedError(f"not JSON: {error}") from error
    except RecursionError as error:
        raise _RefusedError(f"nested more than {MAX_DEPTH} deep") from error


def _read_yaml(text: str) -> Parsed:
    builder, notice = _Builder(), ""
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            if isinstance(event, yaml.DocumentStartEvent) and builder.is_complete:
                notice = "there is more than one document: the first is read, as the kubelet does"
                break
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        where = _line(error.problem_mark or error.context_mark)
        problem = ", ".join(part for part in (error.context, error.problem) if part)
        raise _RefusedError(f"{where}: not YAML: {problem}") from error
    except yaml.YAMLError as error:
        raise _RefusedError(f"not YAML: {error}".replace("\n", " ")) from error
    if builder.document is None:
        raise _RefusedError("the text is empty" if not notice else "the first document is empty")
    return Parsed(builder.document, notice)


def _line(mark: Any) -> str:
    return f"line {mark.line + 1}" if mark is not None else "the text"


@dataclass(slots=True)
class _Open:
    """A list or an object whose end has not been read yet."""

    value: dict[str, Any] | list[Any]
    anchor: str | None
    key: str | None = None
    merged: list[Any] = field(default_factory=list)


class _Builder:
    """Puts a document together from events: no recursion, and an alias costs nothing."""

    def __init__(self) -> None:
        self.document: Any = None
        self.is_complete = False
        self._open: list[_Open] = []
        self._anchors: dict[str, Any] = {}
        self._count = 0

    def take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self._put(_scalar(event), event)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise _RefusedError(f"{_line(event.start_mark)}: no anchor {event.anchor!r} so far")
            self._put(self._anchors[event.anchor], None)
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(self._open) >= MAX_DEPTH:
                raise _RefusedError(f"{_line(event.start_mark)}: nested more than {MAX_DEPTH} deep")
            value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
            self._open.append(_Open(value, event.anchor))
        elif isinstance(event, yaml.CollectionEndEvent):
            ended = self._open.pop()
            if ended.merged:
                self._merge(ended.value, ended.merged)
            if ended.anchor is not None:
                self._anchors[ended.anchor] = ended.value
            self._put(ended.value, None)

    def _put(self, value: Any, scalar: yaml.ScalarEvent | None) -> None:
        self._add_to_count(1)
        if scalar is not None and scalar.anchor is not None:
            self._anchors[scalar.anchor] = value
        if not self._open:
            self.document, self.is_complete = value, True
            return
        into = self._open[-1]
        if isinstance(into.value, list):
            into.value.append(value)
        elif into.key is None:
            into.key = _key(value, scalar)
        elif into.key == _MERGE_KEY:
            into.merged.append(value)
            into.key = None
        else:
            into.value[into.key] = value
            into.key = None

    def _merge(self, into: Any, merged: list[Any]) -> None:
        """Add what ``<<`` names, where the object does not say it itself.

        What is looked at counts, be it there already: thousands of merges of one large object
        would leave a small document and take minutes.
        """
        for value in merged:
            for mapping in value if isinstance(value, list) else [value]:
                if not isinstance(mapping, dict):
                    raise _RefusedError("<< needs an object, or a list of them")
                self._add_to_count(len(mapping))
                for key, item in mapping.items():
                    into.setdefault(key, item)

    def _add_to_count(self, values: int) -> None:
        self._count += values
        if self._count > MAX_VALUES:
            raise _RefusedError(f"more than {MAX_VALUES} values")


def _scalar(event: yaml.ScalarEvent) -> object:
    text = str(event.value)
    if event.tag is not None:
        return text if event.tag in ("!", _STRING_TAG) else resolve_plain(text)
    return resolve_plain(text) if event.implicit[0] else text


def _key(value: Any, scalar: yaml.ScalarEvent | None) -> str:
    if isinstance(value, dict | list) or value is None:
        where = "" if scalar is None else f"{_line(scalar.start_mark)}: "
        raise _RefusedError(f"{where}a key must be a plain word")
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else str(value)


def _check_extent(document: object) -> None:
    """Refuse what stands for too much, and texts that are none."""
    count, waiting = 1, [(document, 0)]
    while waiting:
        value, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise _RefusedError(f"nested more than {MAX_DEPTH} deep")
        if not isinstance(value, dict | list):
            continue
        count += len(value)
        if count > MAX_VALUES:
            raise _RefusedError(f"more than {MAX_VALUES} values")
        items = value.values() if isinstance(value, dict) else value
        waiting += [(item, depth + 1) for item in items]
    try:
        msgspec.json.encode(document)
    except UnicodeEncodeError as error:
        raise _RefusedError("a text with half a character (a lone surrogate)") from error
