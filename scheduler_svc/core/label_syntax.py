"""What is wrong with a node selector term, as far as the API server takes it all the same.

It takes any value in preferred node affinity, and words where Gt and Lt want numbers. What a
term says beside that it has checked.

Source: staging/src/k8s.io/component-helpers/scheduling/corev1/nodeaffinity
(`newNodeSelectorTerm`) and k8s.io/apimachinery/pkg/labels (`NewRequirement`), v1.36.3.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from scheduler_svc.core.labels import parse_int64
from scheduler_svc.core.objects import NodeSelectorTerm, Requirement

_MAX_BYTES: Final = 63
_VALUE: Final = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_NO_INTEGER: Final = "for 'Gt', 'Lt' operators, the value must be an integer"
_TOO_LONG: Final = f"must be no more than {_MAX_BYTES} bytes"
_NO_VALUE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',"
    "  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def term_faults(term: NodeSelectorTerm, path: str = "") -> tuple[str, ...]:
    """Give what is wrong with a term that is at `path`, in upstream's words; nothing: ()."""
    return tuple(
        fault
        for number, requirement in enumerate(term.match_expressions)
        for fault in _faults(requirement, f"{path}.matchExpressions[{number}].values")
    )


def joined_faults(faults: Sequence[str]) -> str:
    """Make one text of several."""
    return faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]"


def _faults(requirement: Requirement, path: str) -> Iterator[str]:
    if requirement.operator in ("Gt", "Lt"):
        for number, value in enumerate(requirement.values):
            if parse_int64(value) is None:
                yield _invalid(f"{path}[{number}]", value, _NO_INTEGER)
    for number, value in enumerate(requirement.values):
        wrong = [_TOO_LONG] if len(value.encode()) > _MAX_BYTES else []
        if _VALUE.fullmatch(value) is None:
            wrong.append(_NO_VALUE)
        if wrong:
            yield _invalid(f"{path}[{number}][{requirement.key}]", value, "; ".join(wrong))


def _invalid(path: str, value: str, text: str) -> str:
    quoted = value.replace("\\", r"\\").replace('"', r"\"")
    return f'{path}: Invalid value: "{quoted}": {text}'
