"""What is wrong with selectors, in upstream's words.

Of a new Pod the API server takes any value in preferred node affinity, and words where Gt and
Lt want numbers; the rest it refuses, but whoever reads a file, or a Pod of long ago, may meet it.

Source: staging/src/k8s.io/component-helpers/scheduling/corev1/nodeaffinity
(`newNodeSelectorTerm`) and k8s.io/apimachinery/pkg (labels.`NewRequirement`,
meta/v1.`LabelSelectorAsSelector`, api/validate/content), v1.36.3.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from scheduler_svc.core.affinity_objects import LabelRequirement, LabelSelector
from scheduler_svc.core.labels import parse_int64
from scheduler_svc.core.objects import NodeSelectorTerm, Requirement

_SETS: Final = ("In", "NotIn")
_EXISTENCE: Final = ("Exists", "DoesNotExist")
_NUMBERS: Final = ("Gt", "Lt")
_OPERATORS: Final = (*_SETS, *_EXISTENCE, *_NUMBERS)

_MAX_BYTES: Final = 63
_MAX_PREFIX_BYTES: Final = 253
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_LABEL: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_DOMAIN: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_NO_NAME: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_NO_KEY: Final = (
    f"a valid label key {_NO_NAME} with an optional DNS subdomain prefix and '/' "
    "(e.g. 'example.com/MyName')"
)
_NO_DOMAIN: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    r"for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_NO_VALUE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',"
    "  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_NO_INTEGER: Final = "for 'Gt', 'Lt' operators, the value must be an integer"
_NOT_ONE: Final = "for 'Gt', 'Lt' operators, exactly one value is required"
_NONE: Final = "for 'in', 'notin' operators, values set can't be empty"
_SOME: Final = "values set must be empty for exists and does not exist"


def term_faults(term: NodeSelectorTerm, path: str = "") -> tuple[str, ...]:
    """Give what is wrong with a term that is at `path`; nothing: ()."""
    expressions, fields = term.match_expressions, term.match_fields
    return (
        *(
            fault
            for number, requirement in enumerate(expressions)
            for fault in _label_faults(requirement, f"{path}.matchExpressions[{number}]")
        ),
        *(
            fault
            for number, requirement in enumerate(fields)
            for fault in _field_faults(requirement, f"{path}.matchFields[{number}]")
        ),
    )


def selector_fault(selector: LabelSelector | None) -> str:
    """Give what is wrong with the first requirement of a selector of Pods; "" for a sound one."""
    if selector is None:
        return ""
    for key, value in sorted((selector.match_labels or {}).items()):
        faults = tuple(_faults(LabelRequirement(key, "In", (value,)), ""))
        if faults:
            return joined_faults(faults)
    for requirement in selector.match_expressions:
        if requirement.operator not in (*_SETS, *_EXISTENCE):
            return f"{_quoted(requirement.operator)} is not a valid label selector operator"
        faults = tuple(_faults(requirement, ""))
        if faults:
            return joined_faults(faults)
    return ""


def is_qualified_name(name: str) -> bool:
    """Whether a name would do as the key of a label."""
    return not _key_faults(name)


def joined_faults(faults: Sequence[str]) -> str:
    """Make one text of several; what is the same is told once."""
    distinct = tuple(dict.fromkeys(faults))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def _label_faults(requirement: Requirement, path: str) -> Iterator[str]:
    if requirement.operator in _OPERATORS:
        yield from _faults(requirement, f"{path}.")
    else:
        yield _unsupported(path, requirement.operator, _OPERATORS)


def _field_faults(requirement: Requirement, path: str) -> Iterator[str]:
    if requirement.operator not in _SETS:
        yield _unsupported(path, requirement.operator, _SETS)
    elif len(requirement.values) != 1:
        yield _invalid(f"{path}.values", _listed(requirement.values), "must have one element")


def _faults(requirement: Requirement | LabelRequirement, path: str) -> Iterator[str]:
    """Look at key, number of values, and values; `path` ends where the field's name goes on."""
    key, operator, values = requirement.key, requirement.operator, requirement.values
    wrong = _key_faults(key)
    if wrong:
        yield _invalid(f"{path}key", _quoted(key), "; ".join(wrong))
    path = f"{path}values"
    if operator in _SETS and not values:
        yield _invalid(path, _listed(values), _NONE)
    if operator in _EXISTENCE and values:
        yield _invalid(path, _listed(values), _SOME)
    if operator in _NUMBERS:
        yield from _number_faults(values, path)
    for number, value in enumerate(values):
        wrong = [_too_long(_MAX_BYTES)] if len(value.encode()) > _MAX_BYTES else []
        if value and _NAME.fullmatch(value) is None:
            wrong.append(_NO_VALUE)
        if wrong:
            yield _invalid(f"{path}[{number}][{key}]", _quoted(value), "; ".join(wrong))


def _number_faults(values: Sequence[str], path: str) -> Iterator[str]:
    if len(values) != 1:
        yield _invalid(path, _listed(values), _NOT_ONE)
    for number, value in enumerate(values):
        if parse_int64(value) is None:
            yield _invalid(f"{path}[{number}]", _quoted(value), _NO_INTEGER)


def _key_faults(key: str) -> list[str]:
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        return [_NO_KEY]
    wrong = []
    if slash and not prefix:
        wrong.append("prefix part must be non-empty")
    elif slash:
        if len(prefix.encode()) > _MAX_PREFIX_BYTES:
            wrong.append(f"prefix part {_too_long(_MAX_PREFIX_BYTES)}")
        if _DOMAIN.fullmatch(prefix) is None:
            wrong.append(f"prefix part {_NO_DOMAIN}")
    if not name:
        wrong.append("name part must be non-empty")
    elif len(name.encode()) > _MAX_BYTES:
        wrong.append(f"name part {_too_long(_MAX_BYTES)}")
    if _NAME.fullmatch(name) is None:
        wrong.append(f"name part {_NO_NAME}")
    return wrong


def _too_long(limit_bytes: int) -> str:
    return f"must be no more than {limit_bytes} bytes"


def _unsupported(path: str, operator: str, supported: Sequence[str]) -> str:
    known = ", ".join(map(_quoted, supported))
    return f"{path}.operator: Unsupported value: {_quoted(operator)}: supported values: {known}"


def _invalid(path: str, value: str, text: str) -> str:
    return f"{path}: Invalid value: {value}: {text}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", r"\\").replace('"', r"\"")
    return f'"{escaped}"'


def _listed(values: Sequence[str]) -> str:
    return msgspec.json.encode(values).decode() if values else "null"
