"""Static Pods: manifests put onto a node, as an administrator would."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from tests.kind.api import Object
from tests.kind.cluster import KindCluster
from tests.kind.objects import pod
from tests.kind.pods import path_of_pods
from tests.kind.waiting import wait_for

MANIFESTS = "/etc/kubernetes/manifests"
NAMESPACE = "default"


@contextmanager
def static_pod(cluster: KindCluster, node: str, name: str, container: Object) -> Iterator[str]:
    """Keep a static Pod on a node; give its full name, which is its mirror's too."""
    manifest = pod(name, NAMESPACE, container)
    del manifest["spec"]["schedulerName"]
    path = f"{MANIFESTS}/{name}.json"
    # Nobody reads a name with a dot in front, so nobody reads half of it.
    script = 'cat > "$0" && mv "$0" "$1"'
    hidden = f"{MANIFESTS}/.{name}.json"
    cluster.on_node(node, "sh", "-euc", script, hidden, path, given=json.dumps(manifest))
    full_name = f"{name}-{node}"
    try:
        yield full_name
    finally:
        cluster.on_node(node, "rm", "-f", path)
        mirror = path_of_pods(NAMESPACE, full_name)
        wait_for("the static Pod is gone", lambda: cluster.api.find(mirror) is None)
