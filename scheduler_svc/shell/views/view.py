"""A view of one resource: what is listed and watched, and what its changes mean to the core."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from kubeio.changes import ReflectorEvent
from kubeio.decoding import Query
from scheduler_svc.core.events import Event

T = TypeVar("T")


@dataclass(frozen=True)  # slots would forbid View[T](…)
class View(Generic[T]):
    """A resource the scheduler keeps a view of; `to_event` gives None for what says nothing."""

    query: Query[T]
    to_event: Callable[[ReflectorEvent[T]], Event | None]
