"""Puts Pods of one owner together that have the same answer: one table tells of all."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from scheduler_svc.shell.explain.answer import Answer
from scheduler_svc.shell.explain.endpoint import Explanation
from scheduler_svc.shell.explain.memory import Decision
from scheduler_svc.shell.explain.remote import Told


class Alike(NamedTuple):
    """An answer about the first of some Pods, and the others, as namespace/name."""

    answer: Answer
    others: tuple[str, ...] = ()


def put_together(told: Iterable[Told]) -> Iterator[Explanation | Decision | Alike]:
    """Give what is told as it comes, but answers about Pods of one owner once all are there.

    The owner is known by the Pods' names, which end in a dash and what tells them apart; its Pods
    come one after the other.
    """
    owner, found = "", dict[bytes, list[Answer]]()
    for each in told:
        if not isinstance(each, Answer):
            yield each
            continue
        if owner_of(each.pod) != owner:
            yield from _alike(found)
            owner, found = owner_of(each.pod), {}
        found.setdefault(msgspec.json.encode(replace(each, pod="")), []).append(each)
    yield from _alike(found)


def owner_of(pod_key: str) -> str:
    """Give what the names of Pods of one owner begin with; of a Pod without any all of it."""
    return pod_key.rpartition("-")[0] or pod_key


def _alike(found: dict[bytes, list[Answer]]) -> Iterator[Alike]:
    for first, *others in found.values():
        yield Alike(first, tuple(other.pod for other in others))
