"""Labels and selectors: dictionary-encoded per key, so that matching is a table look-up.

A label key that some selector names gets a column of int32 codes over the Nodes;
a requirement becomes a table of booleans over the distinct values, and its mask
over N Nodes is one gather. Scalar matching of one set of labels serves the queueing
hints.

Source: staging/src/k8s.io/component-helpers/scheduling/corev1/nodeaffinity and
k8s.io/apimachinery/pkg/labels (selector.go), v1.36.3.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from scheduler_svc.core.objects import NodeSelectorTerm, Requirement

BoolArray = npt.NDArray[np.bool_]
Int32Array = npt.NDArray[np.int32]
Rows = npt.NDArray[np.intp] | slice

ABSENT: Final = -1
NODE_NAME_FIELD: Final = "metadata.name"
_MAX_KEPT_TABLE: Final = 64
_MAX_GATHERED: Final = 64
# An index beyond those of all values.
_BEYOND: Final = np.iinfo(np.intp).max


def is_everywhere(mask: BoolArray) -> bool:
    """Tell whether a mask is True throughout; at a tenth of what `all` costs."""
    return 0 not in mask.tobytes()


def is_anywhere(mask: BoolArray) -> bool:
    """Tell whether a mask is True somewhere, at a fifth of what `any` costs."""
    return 1 in mask.tobytes()


class LabelColumn:
    """Codes of one label key's values over the Nodes; absent is -1.

    `version` changes whenever any Node's code does, and when there is room for more Nodes.
    """

    def __init__(self, capacity: int) -> None:
        self.version = 0
        self.codes: Int32Array = np.full(capacity, ABSENT, dtype=np.int32)
        self.values: list[str] = []
        self._code_of: dict[str, int] = {}
        self._indices: npt.NDArray[np.intp] = np.full(capacity, _BEYOND, dtype=np.intp)
        self._gathered: dict[bytes, BoolArray] = {}
        self._is_unique = True
        self._derived_version = 0

    def gather(self, table: BoolArray) -> BoolArray:
        """Give `table`, bool `(values + 1,)`, for the code of each Node, the last where absent.

        Read-only, `(N,)`. Cost: one look-up for a small table that came before.
        """
        self._derive()
        if len(table) > _MAX_KEPT_TABLE:
            return table.take(self._indices, mode="clip")
        key = table.tobytes()
        gathered = self._gathered.get(key)
        if gathered is None:
            if len(self._gathered) == _MAX_GATHERED:
                self._gathered.clear()
            gathered = self._gathered[key] = table.take(self._indices, mode="clip")
        return gathered

    @property
    def indices(self) -> npt.NDArray[np.intp]:
        """The codes, intp `(N,)`, read-only, to `take` from a table with `mode="clip"`.

        Absent is beyond all of them, so that it gets the last entry. To have each index checked
        would cost twice as much again.
        """
        self._derive()
        return self._indices

    @property
    def is_unique(self) -> bool:
        """Whether no two Nodes have the same value."""
        self._derive()
        return self._is_unique

    def _derive(self) -> None:
        if self._derived_version != self.version:
            self._derived_version = self.version
            indices = self.codes.astype(np.intp)
            counts = np.bincount(indices + 1, minlength=2)
            self._is_unique = bool(counts[1:].max() <= 1)
            indices[indices < 0] = _BEYOND
            self._indices = indices
            self._gathered.clear()

    def code_of(self, value: str) -> int | None:
        """Give the code of a value; None if no Node has ever had it."""
        return self._code_of.get(value)

    def set(self, row: int, value: str | None) -> None:
        """Store the value of one Node; None for a Node without the label."""
        code = ABSENT if value is None else self._code(value)
        if self.codes[row] != code:
            self.codes[row] = code
            self.version += 1

    def _code(self, value: str) -> int:
        code = self._code_of.get(value)
        if code is None:
            code = self._code_of[value] = len(self.values)
            self.values.append(value)
        return code

    def grow(self, capacity: int) -> None:
        """Make room for `capacity` Nodes."""
        grown = np.full(capacity, ABSENT, dtype=np.int32)
        grown[: len(self.codes)] = self.codes
        self.codes = grown
        self.version += 1

    def match(self, requirement: Requirement, rows: Rows) -> BoolArray:
        """Give the mask of the Nodes in `rows` that meet `requirement`.

        Cost: O(rows), and O(distinct values) for NotIn, Gt and Lt.
        """
        # The last entry stands for "absent": code -1 indexes it.
        table = np.zeros(len(self.values) + 1, dtype=np.bool_)
        if requirement.operator == "In":
            known = (self._code_of.get(value) for value in requirement.values)
            table[[code for code in known if code is not None]] = True
        else:
            for code, value in enumerate(self.values):
                table[code] = matches_value(requirement, value)
            table[ABSENT] = matches_value(requirement, None)
        return table[self.codes[rows]]


def matches_value(requirement: Requirement, value: str | None) -> bool:
    """Whether a label with `value` (None: absent) meets `requirement`."""
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return value is not None and _compares(requirement, value)
        case _:
            return False


def _compares(requirement: Requirement, value: str) -> bool:
    bound, own = (
        parse_int64(requirement.values[0] if requirement.values else ""),
        parse_int64(value),
    )
    if bound is None or own is None:
        return False
    return own > bound if requirement.operator == "Gt" else own < bound


def parse_int64(text: str) -> int | None:
    """Read a decimal integer as Go's ParseInt does; None where it would fail."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def matches_term(term: NodeSelectorTerm, labels: Mapping[str, str], node_name: str) -> bool:
    """Whether one Node meets all expressions and fields of a term; an empty term never matches."""
    if not term.match_expressions and not term.match_fields:
        return False
    return all(matches_value(r, labels.get(r.key)) for r in term.match_expressions) and all(
        matches_field(r, node_name) for r in term.match_fields
    )


def matches_field(requirement: Requirement, node_name: str) -> bool:
    """Whether a Node's name meets a field requirement: In or NotIn, one value.

    A Node has no other field than metadata.name: it has "" for those.
    """
    if len(requirement.values) != 1 or requirement.operator not in ("In", "NotIn"):
        return False
    value = node_name if requirement.key == NODE_NAME_FIELD else ""
    return (value == requirement.values[0]) == (requirement.operator == "In")
