"""Regular expressions as CEL's functions take them: by RE2, as Go's are.

Source: staging/src/k8s.io/apiserver/pkg/cel/library/regex.go, v1.36.3. RE2's library gives
what one group of an expression matches, so that all other groups of it are made nameless.
"""

import functools
import re
from typing import Any, Final

from cel_expr_python import cel

from scheduler_svc.core.errors import InputError

_NAMED_GROUP: Final = re.compile(r"\(\?P?<[^>]*>")
_QUOTED: Final = re.compile(r"\\Q.*?(?:\\E|\Z)", re.DOTALL)
# Of RE2, in one repetition.
_MAX_REPEATS: Final = 1000
_CLASS: Final = re.compile(r"\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]", re.DOTALL)


@functools.cache
def _program() -> cel.Expression:
    environment = cel.NewEnv(
        config=cel.NewEnvConfigFromYaml(
            '{"extensions": [{"name": "optional"}, {"name": "regex"}]}'
        ),
        variables={"text": cel.Type.STRING, "pattern": cel.Type.STRING},
    )
    return environment.compile("[?regex.extract(text, pattern)]")


def _extracted(text: str, pattern: str) -> str | None:
    value = _program().eval(data={"text": text, "pattern": pattern})
    if value.type().name() == "ERROR":
        fault = str(value.value()).partition("invalid regular expression: ")[2]
        raise InputError(f"Illegal regex: error parsing regexp: {fault}")
    found: list[Any] = value.plain_value()
    return str(found[0]) if found else None


def _match(text: str, pattern: str, place: int) -> tuple[int, str] | None:
    """Give where the first match from a place on is, and what it matches."""
    skipped = _extracted(text, rf"\A((?s:{_letters(place)}.*?))(?:{pattern})")
    if skipped is None:
        return None
    start = len(skipped)
    return start, _extracted(text, rf"\A(?s:{_letters(start)})({pattern})") or ""


def _letters(count: int) -> str:
    whole, rest = divmod(count, _MAX_REPEATS)
    return f".{{{_MAX_REPEATS}}}" * whole + f".{{{rest}}}"


def _nameless(pattern: str) -> str:
    """Give the same expression without groups that say what they match."""
    made, place = [], 0
    while place < len(pattern):
        match = _QUOTED.match(pattern, place) or _CLASS.match(pattern, place)
        if match is not None:
            piece = match[0]
        elif pattern[place] == "\\":
            piece = pattern[place : place + 2]
        else:
            match = _NAMED_GROUP.match(pattern, place)
            piece = match[0] if match is not None else pattern[place]
        place += len(piece)
        is_group = match is not None and piece.startswith("(")
        is_group |= piece == "(" and not pattern.startswith("?", place)
        made.append("(?:" if is_group else piece)
    return "".join(made)


def find(text: str, pattern: str) -> str:
    """Give the first match, "" without one. Raises `InputError` for what is no expression."""
    return "".join(find_all(text, pattern, 1))


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """Give the matches, at most `limit` where it is not negative, as Go goes through a text."""
    found: list[str] = []
    pattern = _nameless(pattern)
    _extracted("", f"(?:{pattern})()")
    place, end = 0, -1
    while place <= len(text) and len(found) != limit:
        match = _match(text, pattern, place)
        if match is None:
            break
        start, matched = match
        # Nothing is not found right after something.
        if matched or start != end:
            found.append(matched)
        is_stuck = start + len(matched) == place
        end = start + len(matched)
        place = place + 1 if is_stuck else end
    return found
