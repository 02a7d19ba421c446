"""What is sent to extenders, and what they answer, as JSON.

Keys are the capitalised names of Go's fields. As in Go, an answer may write them in any case,
an absent field is an empty one, and unknown fields are skipped. Answers about many Nodes are first
read as one in Go's own words, which takes a tenth of the time.

Source: staging/src/k8s.io/kube-scheduler/extender/v1/types.go and pkg/scheduler/extender.go,
v1.36.3.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

import msgspec

from scheduler_svc.core.effects import BindPod, NodeVictims
from scheduler_svc.core.events import VictimUids

_encode: Final = msgspec.json.Encoder().encode
_NOTHING: Final = msgspec.Raw(b"null")


class ExtenderError(Exception):
    """An extender did not do what it was asked to; the text is for people."""


class FilterResult(msgspec.Struct, frozen=True):
    """The Nodes that pass, in the extender's order, and reasons for others."""

    passing: tuple[str, ...]
    failed: Mapping[str, str]
    unresolvable: Mapping[str, str]


class _HostPriority(msgspec.Struct, rename="pascal", forbid_unknown_fields=True, gc=False):
    """A Node's score in Go's own words."""

    host: str = ""
    score: int = 0


class _LowerHostPriority(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The same in words that many write."""

    host: str = ""
    score: int = 0


class _NodeMetadata(msgspec.Struct, gc=False):
    name: str


class _Node(msgspec.Struct, gc=False):
    """Of a Node as Kubernetes writes it, the name."""

    metadata: _NodeMetadata


_SCORE_DECODERS: Final[tuple[Callable[[bytes], Any], ...]] = (
    msgspec.json.Decoder(list[_HostPriority]).decode,
    msgspec.json.Decoder(list[_LowerHostPriority]).decode,
)
_decode_fields: Final = msgspec.json.Decoder(dict[str, msgspec.Raw] | None).decode
_decode_list: Final = msgspec.json.Decoder(list[msgspec.Raw] | None).decode
_decode_nodes: Final = msgspec.json.Decoder(list[_Node] | None).decode


def encode_arguments(
    pod: msgspec.Raw, nodes: Sequence[msgspec.Raw] | None, names: Sequence[str]
) -> bytes:
    """Give the question about Nodes, for filter and prioritize: all of each Node, or its name."""
    if nodes is None:
        return _encode({"Pod": pod, "Nodes": None, "NodeNames": names})
    node_list = {"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": nodes}
    return _encode({"Pod": pod, "Nodes": node_list, "NodeNames": None})


def encode_victims(
    pod: msgspec.Raw,
    victims: Mapping[str, NodeVictims],
    objects: Mapping[str, msgspec.Raw] | None,
) -> bytes:
    """Give the question about victims: by their uids, or with all of each Pod in `objects`."""
    if objects is None:
        named = {
            node: {
                "Pods": [{"UID": pod.uid} for pod in found.pods],
                "NumPDBViolations": found.violation_count,
            }
            for node, found in victims.items()
        }
        return _encode({"Pod": pod, "NodeNameToVictims": None, "NodeNameToMetaVictims": named})
    full = {
        node: {
            "Pods": [objects[pod.uid] for pod in found.pods],
            "NumPDBViolations": found.violation_count,
        }
        for node, found in victims.items()
    }
    return _encode({"Pod": pod, "NodeNameToVictims": full, "NodeNameToMetaVictims": None})


def encode_binding(effect: BindPod) -> bytes:
    """Give the order to bind a Pod."""
    return _encode(
        {
            "PodName": effect.pod.name,
            "PodNamespace": effect.pod.namespace,
            "PodUID": effect.pod.uid,
            "Node": effect.node_name,
        }
    )


def decode_filter_result(
    body: bytes, names: Sequence[str], *, by_name: bool, url: str
) -> FilterResult:
    """Read the answer about the Nodes in `names`; a Node that is not among them is an error.

    Raises
    ------
    ExtenderError
    msgspec.DecodeError
    """
    fields = _fields(body)
    _raise_error(fields)
    passing: list[str] = []
    listed = _read(fields, "nodenames", list[str] | None)
    if by_name and listed is not None:
        passing = listed
    else:
        node_list = _fields(fields.get("nodes", _NOTHING))
        passing = _names_of(node_list.get("items", _NOTHING))
    known = frozenset(names)
    for name in passing:
        if name not in known:
            raise ExtenderError(
                f'extender "{url}" claims a filtered node "{name}" which is not found in the '
                "input node list"
            )
    unresolvable = _read(fields, "failedandunresolvablenodes", dict[str, str] | None) or {}
    failed = _read(fields, "failednodes", dict[str, str] | None) or {}
    return FilterResult(tuple(dict.fromkeys(passing)), failed, unresolvable)


def _names_of(items: msgspec.Raw) -> list[str]:
    try:
        return [node.metadata.name for node in _decode_nodes(items) or ()]
    except msgspec.ValidationError:
        names = []
        for item in _decode_list(items) or ():
            metadata = _fields(_fields(item).get("metadata", _NOTHING))
            names.append(_read(metadata, "name", str | None) or "")
        return names


def decode_scores(body: bytes) -> dict[str, int]:
    """Read the answer to prioritize; raises `msgspec.DecodeError`."""
    scores: dict[str, int] = {}
    for decode in _SCORE_DECODERS:
        try:
            entries = decode(body)
        except msgspec.ValidationError:
            continue
        for each in entries:
            scores[each.host] = scores.get(each.host, 0) + each.score
        return scores
    for entry in _decode_list(body) or ():
        fields = _fields(entry)
        host = _read(fields, "host", str | None) or ""
        scores[host] = scores.get(host, 0) + (_read(fields, "score", int | None) or 0)
    return scores


def decode_victims(body: bytes) -> dict[str, VictimUids]:
    """Read whom an extender would evict; raises `msgspec.DecodeError`."""
    nodes = _read(_fields(body), "nodenametometavictims", dict[str, msgspec.Raw] | None) or {}
    victims: dict[str, VictimUids] = {}
    for name, raw in nodes.items():
        fields = _fields(raw)
        pods = _read(fields, "pods", list[msgspec.Raw] | None) or ()
        uids = tuple(_read(_fields(pod), "uid", str | None) or "" for pod in pods)
        count = _read(fields, "numpdbviolations", int | None) or 0
        victims[name] = VictimUids(uids, count)
    return victims


def decode_binding_result(body: bytes) -> None:
    """Read whether a Pod was bound; raises `ExtenderError`, `msgspec.DecodeError`."""
    _raise_error(_fields(body))


def _fields(raw: bytes | msgspec.Raw) -> dict[str, msgspec.Raw]:
    found = _decode_fields(raw) or {}
    return {key.lower(): value for key, value in found.items()}


def _read(fields: Mapping[str, msgspec.Raw], key: str, kind: Any) -> Any:
    return _decoder(kind)(fields.get(key, _NOTHING))


@cache
def _decoder(kind: Any) -> Callable[[bytes | msgspec.Raw], Any]:
    return msgspec.json.Decoder(kind).decode


def _raise_error(fields: Mapping[str, msgspec.Raw]) -> None:
    error = _read(fields, "error", str | None)
    if error:
        raise ExtenderError(error)
