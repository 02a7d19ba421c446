"""Which fields of a file are accepted and change nothing, so that the log can say so."""

import re
from collections.abc import Mapping
from typing import Final

from scheduler_svc.shell.config.configuration import Configuration

_EVERY_NODE: Final = "every Node is judged"
_JSON: Final = "requests and answers are JSON"
_GO: Final = "there is no Go profiler"

FIELDS_WITHOUT_EFFECT: Final[Mapping[str, str]] = {
    "parallelism": "one thread decides",
    "percentageOfNodesToScore": _EVERY_NODE,
    "profiles[].percentageOfNodesToScore": _EVERY_NODE,
    "clientConnection.acceptContentTypes": _JSON,
    "clientConnection.contentType": _JSON,
    "enableProfiling": _GO,
    "enableContentionProfiling": _GO,
}
"""Why a field changes nothing, by its path with the indices left out."""

_INDEX = re.compile(r"\[\d+\]")


def fields_without_effect(configuration: Configuration) -> tuple[str, ...]:
    """Return the fields that the file sets to no effect, each as `path (reason)`, sorted.

    Where there are extenders, the percentage of Nodes is that of those they are asked about.
    """
    found = []
    for path in sorted(configuration.given):
        reason = FIELDS_WITHOUT_EFFECT.get(_INDEX.sub("[]", path))
        if reason is _EVERY_NODE and configuration.extenders:
            continue
        if reason is not None:
            found.append(f"{path} ({reason})")
    return tuple(found)
