"""From manifests to a snapshot, with a word on everything that was left out."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final

from scheduler_svc.core.errors import InputError
from scheduler_svc.shell.explain.documents import Document, DocumentError
from scheduler_svc.shell.explain.kinds import decode_manifest
from scheduler_svc.shell.explain.snapshot import Snapshot

_MAX_ERRORS: Final = 20


class SnapshotError(ValueError):
    """Objects that cannot be used; a line for each, with its position."""


def read_snapshot(
    documents: Iterable[Document],
    *,
    note: Callable[[str], None],
    annotations: frozenset[str] = frozenset(),
) -> Snapshot:
    """Take in all documents.

    Parameters
    ----------
    annotations
        What is kept of Pods' annotations.
    note
        Told of every document that is no Kubernetes object, and how many there were of each
        kind that has no part in decisions.

    Raises
    ------
    DocumentError, SnapshotError
        Where something is broken: the text, or an object of a kind that counts.
    """
    snapshot, errors, unused = Snapshot(annotations), list[str](), Counter[str]()
    for where, content in documents:
        if not is_kubernetes_object(content):
            note(f"{where}: skipped: no Kubernetes object, which has an apiVersion and a kind")
            continue
        try:
            decoded = decode_manifest(content)
            if decoded is None:
                unused[f"{content['kind']} ({content['apiVersion']})"] += 1
            else:
                snapshot.add(decoded)
        except InputError as error:
            errors.append(f"{where}: {error}")
    for kind, count in unused.items():
        note(f"skipped: {count} {kind}: no decision depends on that kind")
    if errors:
        more = len(errors) - _MAX_ERRORS
        shown = errors[:_MAX_ERRORS] + ([f"… and {more} more"] if more > 0 else [])
        raise SnapshotError("\n".join(shown))
    return snapshot


def is_kubernetes_object(content: Any) -> bool:
    """Whether it says what it is."""
    return isinstance(content, dict) and all(
        isinstance(content.get(field), str) and content[field] for field in ("apiVersion", "kind")
    )


__all__ = ["DocumentError", "SnapshotError", "is_kubernetes_object", "read_snapshot"]
