"""What YAML nodes mean to Kubernetes, which makes JSON of them first.

Plain scalars mean what they mean to go-yaml (`kubeio.yaml_scalars`), unless a tag says otherwise.
A number without a fraction is an integer then, however it was written, and keys are texts.

Source: sigs.k8s.io/yaml (`convertToJSONableObject`).
"""

import base64
import binascii
import math
from typing import Any, Final

import yaml

from kubeio.yaml_scalars import resolve_plain

FIRST_TAG: Final = "tag:yaml.org,2002:scalar"
"""What a loader is to call scalars that have no tag of their own."""

_PREFIX: Final = "tag:yaml.org,2002:"
_RESOLVED: Final = tuple(_PREFIX + name for name in ("int", "float", "bool", "null"))
_BINARY: Final = f"{_PREFIX}binary"
_MERGE_KEY: Final = "<<"
# From there on Go writes an exponent, which is read as no integer.
_INTEGERS_BELOW: Final = 1e21


def value_of(node: yaml.Node) -> Any:
    """Give the plain value of a node; an alias is the very object its anchor is.

    Raises `yaml.MarkedYAMLError` for a key that is no plain word, or bytes that are none.
    """
    return _value(node, {})


def _value(node: yaml.Node, known: dict[int, Any]) -> Any:
    if id(node) in known:
        return known[id(node)]
    value: Any = None
    if isinstance(node, yaml.MappingNode):
        value = known[id(node)] = {}
        for key, item in node.value:
            if _is_merge(key):
                _merge(value, _value(item, known))
        for key, item in node.value:
            if not _is_merge(key):
                value[_key(key)] = _value(item, known)
    elif isinstance(node, yaml.SequenceNode):
        value = known[id(node)] = []
        value.extend(_value(item, known) for item in node.value)
    elif isinstance(node, yaml.ScalarNode):
        value = _scalar(node)
        if isinstance(value, float) and value.is_integer() and abs(value) < _INTEGERS_BELOW:
            value = int(value)
    return value


def _scalar(node: yaml.ScalarNode) -> Any:
    text = str(node.value)
    if node.tag in _RESOLVED or (node.tag == FIRST_TAG and not node.style):
        return resolve_plain(text)
    if node.tag != _BINARY:
        return text
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise _error(f"a text in base64 was expected: {error}", node) from error


def _is_merge(key: yaml.Node) -> bool:
    return isinstance(key, yaml.ScalarNode) and key.value == _MERGE_KEY and not key.style


def _merge(into: dict[str, Any], merged: Any) -> None:
    for mapping in merged if isinstance(merged, list) else [merged]:
        if isinstance(mapping, dict):
            for key, value in mapping.items():
                into.setdefault(key, value)


def _key(node: yaml.Node) -> str:
    value = _scalar(node) if isinstance(node, yaml.ScalarNode) else None
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        raise _error("a key must be a plain word", node)
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _error(problem: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
