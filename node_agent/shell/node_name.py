"""Whether there is a Node of the name that was typed: an agent of none shows no Pods, and no error.

Asked once, and only with a kubeconfig: a Pod is told its Node's name by the kubelet, and may not
read Nodes.
"""

import logging
from typing import Final

import msgspec

from kubeio.client import KubeClient
from kubeio.errors import KubeError, NotFoundError
from kubeio.logs import fields
from kubeio.resources import ResourcePath

NODES: Final = ResourcePath("", "v1", "nodes")
_SHOWN: Final = 5

_logger = logging.getLogger(__name__)


class _Metadata(msgspec.Struct):
    name: str


class _Node(msgspec.Struct):
    metadata: _Metadata


class _Nodes(msgspec.Struct):
    items: list[_Node]


async def warn_of_missing_node(client: KubeClient, node_name: str) -> None:
    """Log a warning where the API server knows no such Node; a server that is away is no news."""
    try:
        await client.get_json(NODES.object(node_name), _Node)
    except NotFoundError:
        _logger.warning(
            "There is no Node of this name (yet): no Pods will be seen",
            extra=fields(node=node_name, **await _some_nodes(client)),
        )
    except KubeError as error:
        _logger.debug("Cannot tell whether the Node exists", extra=fields(error=error))


async def _some_nodes(client: KubeClient) -> dict[str, str]:
    """Give names of Nodes for the log; nothing where they may not be listed."""
    try:
        nodes = await client.get_json(NODES.collection, _Nodes, params={"limit": str(_SHOWN)})
    except KubeError:
        return {}
    return {"nodes": ",".join(node.metadata.name for node in nodes.items) or "none"}
