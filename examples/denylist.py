"""Keeps Pods off the Nodes that a ConfigMap names, without cordoning them for everybody.

The ConfigMap has a key `nodes` with one name a line; changes take effect at once. This
shows a plugin with IO of its own: `feed` runs beside the scheduler and may await whatever
it likes, `on_feed` takes in what it has found, `filter` only looks at it.
"""

from collections.abc import AsyncIterator

from berthmaster.plugin import Args, FeedApi, Node, NodePlugin, Pod, Reject, Scope


class DenylistArgs(Args, frozen=True):
    """Which ConfigMap."""

    namespace: str = "kube-system"
    config_map: str = "node-denylist"


class Denylist(NodePlugin[DenylistArgs]):
    """Rejects the Nodes on the list."""

    args_type = DenylistArgs
    pod_fields = frozenset[str]()
    scope = Scope.SPEC

    def __init__(self, args: DenylistArgs | None = None) -> None:
        super().__init__(args)
        self._denied: frozenset[str] = frozenset()

    def filter(self, pod: Pod, node: Node) -> str | Reject | None:
        """Evicting Pods would not take the Node off the list, so nobody need try."""
        if node.name in self._denied:
            return Reject("node(s) were on the denylist", resolvable=False)
        return None

    async def feed(self, api: FeedApi) -> AsyncIterator[frozenset[str]]:
        """Yield the list whenever it changes."""
        async for data in api.watch_config_map(self.args.namespace, self.args.config_map):
            yield frozenset(data.get("nodes", "").split())

    def on_feed(self, value: frozenset[str]) -> None:
        """Take the list in: every Pod is judged anew, and those that were denied are tried."""
        self._denied = value
