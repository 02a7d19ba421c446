"""What is wrong with a configuration: every mistake, with its place and what would be right.

The wording of a mistake is that of Kubernetes' field.Error (kind, value, detail), so
that an operator finds it when searching; file, line, the allowed values and the likely
meaning are added to it.

Source: staging/src/k8s.io/apimachinery/pkg/util/validation/field/errors.go, v1.36.3.
"""

import math
from enum import StrEnum
from typing import Final

import msgspec

from scheduler_svc.shell.config.document import EMPTY, Mark, Node, Path, locate, render_path

_MAX_VALUE_LENGTH: Final = 120
_MAX_SHOWN: Final = 100


class Problem(StrEnum):
    """The kind of a mistake, as field.Error prints it; the last three are ours."""

    REQUIRED = "Required value"
    DUPLICATE = "Duplicate value"
    INVALID = "Invalid value"
    UNSUPPORTED = "Unsupported value"
    FORBIDDEN = "Forbidden"
    UNKNOWN_FIELD = "Unknown field"
    UNREADABLE = "Unreadable"
    TOO_LARGE = "Too large"


class Mistake(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that has to be changed in the file.

    Attributes
    ----------
    file, line, column
        Where it stands; the line and the column count from 1. Line 0: not in a file.
    path
        The field, as `profiles[0].pluginConfig[1].args`; empty for the whole file.
    value
        What the file says, as JSON; empty where there is nothing to show.
    detail
        Why it cannot be used.
    allowed
        The values or fields that can stand there, if they can be listed.
    meaning
        What the author most likely wanted and how to write it; may have several lines.
    """

    file: str
    line: int
    column: int
    path: str
    problem: Problem
    value: str = ""
    detail: str = ""
    allowed: tuple[str, ...] = ()
    meaning: str = ""

    @property
    def body(self) -> str:
        """Kind, value and detail, as field.Error's ErrorBody."""
        head = f"{self.problem}: {self.value}" if self.value else str(self.problem)
        return f"{head}: {self.detail}" if self.detail else head

    @property
    def line_in_object(self) -> str:
        """Say all on one line, without a file: of a mistake in an object of the API."""
        line = f"{self.path}: {self.body}" if self.path else self.body
        return f"{line} ({' '.join(self.meaning.split())})" if self.meaning else line

    def __str__(self) -> str:
        file = self.file or "the defaults and the flags"
        place = f"{self.file}:{self.line}:{self.column}: " if self.line else f"{file}: "
        lines = [f"{place}{self.path}: {self.body}" if self.path else place + self.body]
        # An unsupported value's detail lists them already, in upstream's words.
        if self.allowed and self.problem is not Problem.UNSUPPORTED:
            lines.append(f"  allowed: {', '.join(self.allowed)}")
        if self.meaning:
            first, *rest = self.meaning.splitlines()
            lines.append(f"  {first}")
            lines.extend(f"    {line}" for line in rest)
        return "\n".join(lines)


class ConfigurationError(Exception):
    """A configuration that cannot be used; `mistakes` holds all that is wrong with it."""

    def __init__(self, mistakes: tuple[Mistake, ...]) -> None:
        super().__init__(mistakes)
        self.mistakes = mistakes

    def __str__(self) -> str:
        count = len(self.mistakes)
        shown = [str(mistake) for mistake in self.mistakes[:_MAX_SHOWN]]
        if count > _MAX_SHOWN:
            shown.append(f"and {count - _MAX_SHOWN} more")
        noun = "mistake" if count == 1 else "mistakes"
        return "\n".join((f"the configuration has {count} {noun}", *shown))


def render_value(value: object) -> str:
    """Write a value as JSON on one line, cut to a length that a terminal shows."""
    is_number = not isinstance(value, float) or math.isfinite(value)
    text = msgspec.json.encode(value).decode() if is_number else str(value)
    return text if len(text) <= _MAX_VALUE_LENGTH else f"{text[:_MAX_VALUE_LENGTH]}…"


class MistakeLog:
    """Collects the mistakes of one file and finds the line of each.

    A value that could not be decoded is replaced by a default so that the rest can be
    judged; what is then found at or below its path is the consequence of a mistake
    already told, and dropped.
    """

    def __init__(self, file: str, root: Node = EMPTY) -> None:
        self.file = file
        self.root = root
        self._mistakes: dict[Mistake, None] = {}
        self._paths: set[Path] = set()
        self._replaced: set[Path] = set()

    @property
    def mistakes(self) -> tuple[Mistake, ...]:
        """All mistakes, in the order of the file, each once."""
        return tuple(sorted(self._mistakes, key=lambda mistake: (mistake.line, mistake.column)))

    def add(
        self,
        problem: Problem,
        path: Path,
        *,
        value: str = "",
        detail: str = "",
        allowed: tuple[str, ...] = (),
        meaning: str = "",
        mark: Mark | None = None,
    ) -> None:
        """Note a mistake at `path`; `value` is JSON already, `mark` overrules the path's line."""
        if any(path[:length] in self._replaced for length in range(len(path) + 1)):
            return
        place = locate(self.root, path) if mark is None else mark
        mistake = Mistake(
            file=self.file,
            line=place.line,
            column=place.column,
            path=render_path(path),
            problem=problem,
            value=value,
            detail=detail,
            allowed=allowed,
            meaning=meaning,
        )
        self._mistakes[mistake] = None
        self._paths.add(path)

    def is_clean(self, path: Path) -> bool:
        """Whether no mistake was noted at `path` or below it."""
        return not any(found[: len(path)] == path for found in self._paths)

    def replaced(self, path: Path) -> None:
        """Say that the value at `path` is not the file's: its mistake is noted."""
        self._replaced.add(path)

    def required(self, path: Path, detail: str = "", *, meaning: str = "") -> None:
        """Note that a value must be given."""
        self.add(Problem.REQUIRED, path, detail=detail, meaning=meaning)

    def invalid(self, path: Path, value: object, detail: str, *, meaning: str = "") -> None:
        """Note a value of the right type that cannot be used."""
        shown = render_value(value)
        self.add(Problem.INVALID, path, value=shown, detail=detail, meaning=meaning)

    def duplicate(self, path: Path, value: object, detail: str = "") -> None:
        """Note a value that may stand only once."""
        self.add(Problem.DUPLICATE, path, value=render_value(value), detail=detail)

    def forbidden(self, path: Path, detail: str) -> None:
        """Note a field that may not be given here."""
        self.add(Problem.FORBIDDEN, path, detail=detail)

    def unsupported(
        self, path: Path, value: object, allowed: tuple[str, ...], *, meaning: str = ""
    ) -> None:
        """Note a value that is none of an enumeration's."""
        names = ", ".join(render_value(name) for name in allowed)
        self.add(
            Problem.UNSUPPORTED,
            path,
            value=render_value(value),
            detail=f"supported values: {names}",
            allowed=allowed,
            meaning=meaning,
        )
