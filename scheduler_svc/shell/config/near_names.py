"""Which known names a misspelt one may have been."""

import difflib
from collections.abc import Collection

_MAX_NAMES = 3
_LIKENESS = 0.8


def nearest_names(name: str, known: Collection[str]) -> tuple[str, ...]:
    """Return at most three known names that are like `name`, the likeliest first.

    Case and separators do not count: `score_plugins` is as near to `scorePlugins` as can be.
    """
    by_folded: dict[str, str] = {}
    for candidate in sorted(known):
        by_folded.setdefault(_fold(candidate), candidate)
    if _fold(name) in by_folded:
        return (by_folded[_fold(name)],)
    near = difflib.get_close_matches(_fold(name), by_folded, n=_MAX_NAMES, cutoff=_LIKENESS)
    return tuple(by_folded[folded] for folded in near)


def _fold(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())
