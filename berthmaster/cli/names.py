"""Names of objects, for whoever waits at a prompt: what the cluster says at once, else none."""

import asyncio
from typing import Final

import msgspec

from kubeio.client import KubeClient
from kubeio.credentials import Credentials
from kubeio.errors import KubeError
from kubeio.login import KubeConfigError
from kubeio.resources import ResourcePath

AT_MOST: Final = 500
"""Names in one answer; of more, the first."""
_SECONDS: Final = 2.0
"""For the answer alone: to read a kubeconfig takes a busy machine as long again."""


class _Metadata(msgspec.Struct, frozen=True):
    name: str = ""


class _Object(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()


class _Page(msgspec.Struct, frozen=True):
    items: tuple[_Object, ...] | None = None


def names_of(
    plural: str, *, namespace: str | None, kubeconfig: str | None, context: str | None
) -> list[str]:
    """Give the names of a resource of the core group; none where the cluster does not say them."""
    path = ResourcePath("", "v1", plural, namespace)
    try:
        return asyncio.run(_listed(path, kubeconfig, context))
    except (KubeError, KubeConfigError):
        return []


async def _listed(path: ResourcePath, kubeconfig: str | None, context: str | None) -> list[str]:
    credentials = await Credentials.load(kubeconfig, context=context)
    async with KubeClient(credentials, user_agent="berthmaster completion") as client:
        page = await client.get_json(
            path.collection, _Page, params={"limit": str(AT_MOST)}, timeout_seconds=_SECONDS
        )
    return [each.metadata.name for each in page.items or ()]
