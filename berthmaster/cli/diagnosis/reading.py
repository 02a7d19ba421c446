"""Reads lists page by page; what may not be read is noted, and the rest goes on."""

from collections.abc import AsyncIterator
from typing import Final, TypeVar

import msgspec

from berthmaster.cli.diagnosis.facts import Unread
from berthmaster.cli.diagnosis.wire import Page
from kubeio.client import KubeClient, decode_body
from kubeio.errors import ApiError, ForbiddenError, GoneError, KubeError, NotFoundError
from kubeio.resources import ResourcePath

PAGE_SIZE: Final = 500
"""Objects in one answer: 4 MB of Pods, which is all that is held at once."""
LIST_TIMEOUT_SECONDS: Final = 60.0
GET_TIMEOUT_SECONDS: Final = 10.0

T = TypeVar("T")


class Reader:
    """Reads objects of one API server, and remembers what could not be.

    Attributes
    ----------
    unread
        What was refused, or failed, so far; each once.
    """

    def __init__(self, client: KubeClient) -> None:
        self.client = client
        self.unread: list[Unread] = []

    async def pages(
        self, resource: ResourcePath, *, field_selector: str = "", label_selector: str = ""
    ) -> AsyncIterator[list[msgspec.Raw]]:
        """Give all objects, some hundreds at a time.

        Raises
        ------
        KubeError
            Where the list is refused, or fails. `GoneError`: it took so long that it would have
            to begin again.
        """
        parameters = {"limit": str(PAGE_SIZE)}
        if field_selector:
            parameters["fieldSelector"] = field_selector
        if label_selector:
            parameters["labelSelector"] = label_selector
        while True:
            page = await self.client.get_json(
                resource.collection, Page, params=parameters, timeout_seconds=LIST_TIMEOUT_SECONDS
            )
            yield page.items or []
            if not page.metadata.continue_token:
                return
            parameters = {**parameters, "continue": page.metadata.continue_token}

    async def objects(
        self,
        resource: ResourcePath,
        kind: type[T],
        *,
        field_selector: str = "",
        label_selector: str = "",
    ) -> list[T] | None:
        """Give all objects as `kind`; None, and a note of it, where they cannot be listed."""
        decoder = msgspec.json.Decoder(kind)
        found: list[T] = []
        try:
            async for page in self.pages(
                resource, field_selector=field_selector, label_selector=label_selector
            ):
                found += [decoder.decode(item) for item in page]
        except NotFoundError:
            return []
        except (KubeError, msgspec.DecodeError) as error:
            self.note(resource, "list", error)
            return None
        return found

    async def object(self, resource: ResourcePath, name: str, kind: type[T]) -> T | None:
        """Give one object; None where there is none, or, with a note of it, it cannot be read."""
        path = resource.object(name)
        try:
            response = await self.client.call("GET", path, timeout_seconds=GET_TIMEOUT_SECONDS)
            return decode_body(response, kind, request=f"GET {path}")
        except NotFoundError:
            return None
        except KubeError as error:
            self.note(resource, "get", error)
            return None

    def note(self, resource: ResourcePath, verb: str, error: Exception) -> None:
        """Remember that something could not be read."""
        message = error.message if isinstance(error, ApiError) else ""
        reason = message or str(error)
        if isinstance(error, GoneError):
            reason = f"the list changed too much while it was read: {reason}"
        found = Unread(
            resource=str(resource),
            verb=verb,
            namespace=resource.namespace,
            reason=reason,
            is_refused=isinstance(error, ForbiddenError),
        )
        told = (msgspec.structs.replace(each, reason=reason) for each in self.unread)
        # One missing right is told once, however many objects it keeps from us.
        if found not in (told if found.is_refused else self.unread):
            self.unread.append(found)
