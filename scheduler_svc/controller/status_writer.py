"""Writes statuses: a patch of what differs, for the object and the version that was looked at.

The version makes it safe to write a list (conditions) as a whole: whatever somebody else wrote
meanwhile is a conflict, and the object is looked at again.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

import msgspec

from kubeio.client import MERGE_PATCH, KubeClient, Lane, decode_body
from kubeio.errors import (
    ApiError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    KubeError,
    NotFoundError,
)
from scheduler_svc.controller.defaults import CONTROLLER_NAME
from scheduler_svc.controller.holdings import HeldObject, hold
from scheduler_svc.shell.writes.complaints import Complaints

TIMEOUT_SECONDS: Final = 10.0

_logger = logging.getLogger(__name__)


class WriteResult(StrEnum):
    """What became of a write.

    `REJECTED` and `GONE` are permanent: the same write is not tried again until the object
    changes. That it is gone is for the watch to tell: a definition without a status gives the
    same answer. `CONFLICT` and `FAILED` are temporary. `STANDBY`: it is the leader's to write.
    """

    WRITTEN = "written"
    CONFLICT = "conflict"
    GONE = "gone"
    REJECTED = "rejected"
    FAILED = "failed"
    STANDBY = "standby"


class Written(NamedTuple):
    """What became of a write, and the object as it has made it."""

    result: WriteResult
    held: HeldObject | None = None


class StatusWriter:
    """Writes the statuses of our resources.

    Parameters
    ----------
    may_write
        Whether we are the leader: asked right before each write.

    Attributes
    ----------
    counts
        Of writes, by resource and result.
    """

    def __init__(self, client: KubeClient, *, may_write: Callable[[], bool]) -> None:
        self._client = client
        self._may_write = may_write
        self._rejected = Complaints(_logger, "The API server does not take a status")
        self.counts: Counter[tuple[str, str]] = Counter()

    async def write(self, held: HeldObject, changes: Mapping[str, Any]) -> Written:
        """Write fields of a status.

        Raises
        ------
        KubeError
            Where it may work later.
        """
        if not self._may_write():
            return Written(WriteResult.STANDBY)
        resource = held.key.resource
        try:
            written = await self._patch(held, changes)
        except KubeError as error:
            result = _result_of(error)
            self.counts[resource.name, result] += 1
            if result is WriteResult.REJECTED:
                self._rejected.add("rejected", str(error))
            if result in (WriteResult.CONFLICT, WriteResult.FAILED):
                raise
            return Written(result)
        self.counts[resource.name, WriteResult.WRITTEN] += 1
        return Written(WriteResult.WRITTEN, written)

    async def _patch(self, held: HeldObject, changes: Mapping[str, Any]) -> HeldObject:
        precondition = {"uid": held.uid, "resourceVersion": held.resource_version}
        path = f"{held.key.path}/status"
        response = await self._client.call(
            "PATCH",
            path,
            body=msgspec.json.encode({"metadata": precondition, "status": changes}),
            params={"fieldManager": CONTROLLER_NAME},
            content_type=MERGE_PATCH,
            timeout_seconds=TIMEOUT_SECONDS,
            lane=Lane.WRITES,
        )
        document: dict[str, Any] = decode_body(response, dict, request=f"PATCH {path}")
        return hold(held.key.resource, document)


def _result_of(error: KubeError) -> WriteResult:
    match error:
        case ConflictError():
            return WriteResult.CONFLICT
        case NotFoundError():
            return WriteResult.GONE
        case ForbiddenError():  # rights may be given, and admission may change its mind
            return WriteResult.FAILED
        case InvalidError():
            return WriteResult.REJECTED
        case ApiError() if error.status in (405, 413, 415):
            return WriteResult.REJECTED
        case _:
            return WriteResult.FAILED
