"""Whether a scheduler did what the Pods of a shape demand: read from the API server afterwards.

Plain and slow on purpose, and nothing of the scheduler's own code decides. Only what the shapes use
is understood: selectors of labels that must be equal, node affinity with ``In``.

Demands that hold when each Pod is placed hold at the end as well, since no Pod that counts goes
away: a spread's least domain only grows, and who was near another is so still.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from benchmarks.cluster import Cluster
from scheduler_svc.core.quantity import parse_quantity

Object = dict[str, Any]

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PATHS: Final = {
    "nodes": "/api/v1/nodes",
    "pods": "/api/v1/pods",
    "namespaces": "/api/v1/namespaces",
    "claims": "/apis/resource.k8s.io/v1/resourceclaims",
    "csi_nodes": "/apis/storage.k8s.io/v1/csinodes",
    "events": "/apis/events.k8s.io/v1/events",
}


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """What an API server knows, as JSON; `pods` are those on a Node, `pending` the others."""

    nodes: Mapping[str, Object]
    pods: Sequence[Object]
    pending: Sequence[Object] = ()
    namespaces: Mapping[str, Mapping[str, str]] = {}
    claims: Sequence[Object] = ()
    csi_nodes: Sequence[Object] = ()
    events: Sequence[Object] = ()


async def read_placement(cluster: Cluster) -> Placement:
    """Read all that is looked at; takes the API server seconds where there is much."""
    found = {
        name: (await cluster.client.get_json(path, dict[str, Any]))["items"]
        for name, path in _PATHS.items()
    }
    namespaces = {
        each["metadata"]["name"]: each["metadata"].get("labels", {}) for each in found["namespaces"]
    }
    return Placement(
        nodes={node["metadata"]["name"]: node for node in found["nodes"]},
        pods=[pod for pod in found["pods"] if pod["spec"].get("nodeName")],
        pending=[pod for pod in found["pods"] if not pod["spec"].get("nodeName")],
        namespaces=namespaces,
        claims=found["claims"],
        csi_nodes=found["csi_nodes"],
        events=found["events"],
    )


def faults_of(placement: Placement, *, ignored: Collection[str] = ()) -> list[str]:
    """Give what is wrong: of each kind of fault the number, and one as an example.

    `ignored` are resources that Nodes need not have.
    """
    unknown = [pod for pod in placement.pods if pod["spec"]["nodeName"] not in placement.nodes]
    if unknown:
        return [f"{len(unknown)} Pods are on Nodes that do not exist"]
    kinds = {
        "a Node has too much on it": _overcommitted(placement, ignored),
        "a Pod is where it must not be": _forbidden(placement),
        "Pods are not spread as they demand": _badly_spread(placement),
        "a Pod is near one that it must not be near": _too_near(placement),
        "a Pod is not near the one it needs": _too_far(placement),
        "a Node has too many volumes": _too_many_volumes(placement),
        "a device is not as it was claimed": _wrong_devices(placement),
        "a Pod was bound twice": _bound_twice(placement),
    }
    found = {name: list(faults) for name, faults in kinds.items()}
    return [
        f"{name}, {len(faults)} times; for one: {faults[0]}"
        for name, faults in found.items()
        if faults
    ]


def _name(pod: Object) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _labels(thing: Object) -> dict[str, str]:
    labels: dict[str, str] = thing["metadata"].get("labels", {})
    return labels


def _selected(selector: Object, labels: Mapping[str, str]) -> bool:
    return all(labels.get(key) == value for key, value in selector["matchLabels"].items())


def _overcommitted(placement: Placement, ignored: Collection[str]) -> Iterator[str]:
    used: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for pod in placement.pods:
        of_node = used[pod["spec"]["nodeName"]]
        of_node["pods"] += parse_quantity("1")
        for container in pod["spec"]["containers"]:
            for resource, amount in container["resources"].get("requests", {}).items():
                of_node[resource] += parse_quantity(amount)
    for node, amounts in used.items():
        allocatable = placement.nodes[node]["status"].get("allocatable", {})
        for resource, amount in amounts.items():
            if resource not in ignored and amount > parse_quantity(allocatable.get(resource, "0")):
                yield f"{node}: {resource}"


def _node_meets(pod: Object, node: Object) -> bool:
    """Whether a Pod's node selector and required node affinity allow a Node."""
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {}).get(REQUIRED)
    if affinity is None:
        return True
    fields = {"metadata.name": node["metadata"]["name"]}
    return any(
        all(e["key"] in of and of[e["key"]] in e["values"] for of, e in demands)
        for demands in (
            [
                *((_labels(node), each) for each in term.get("matchExpressions", ())),
                *((fields, each) for each in term.get("matchFields", ())),
            ]
            for term in affinity["nodeSelectorTerms"]
        )
    )


def _is_tainted(node: Object) -> bool:
    """No Pod of a shape tolerates what its Nodes are tainted with."""
    return any(taint["effect"] == "NoSchedule" for taint in node["spec"].get("taints", ()))


def _forbidden(placement: Placement) -> Iterator[str]:
    for pod in placement.pods:
        node = placement.nodes[pod["spec"]["nodeName"]]
        # What was placed before the scheduler came is not its doing.
        is_placed = pod["metadata"]["namespace"].startswith("placed-")
        if not is_placed and (_is_tainted(node) or not _node_meets(pod, node)):
            yield f"{_name(pod)} on {node['metadata']['name']}"


def _badly_spread(placement: Placement) -> Iterator[str]:
    asking = {
        msgspec.json.encode([constraint, pod["metadata"]["namespace"]]): (constraint, pod)
        for pod in placement.pods
        for constraint in pod["spec"].get("topologySpreadConstraints", ())
        if constraint["whenUnsatisfiable"] == "DoNotSchedule"
    }
    for constraint, asker in asking.values():
        key = constraint["topologyKey"]
        honors_taints = constraint.get("nodeTaintsPolicy") == "Honor"
        domain_of = {
            name: _labels(node)[key]
            for name, node in placement.nodes.items()
            if key in _labels(node)
            and _node_meets(asker, node)
            and not (honors_taints and _is_tainted(node))
        }
        counts = Counter(dict.fromkeys(domain_of.values(), 0))
        for pod in placement.pods:
            if pod["metadata"]["namespace"] == asker["metadata"]["namespace"] and _selected(
                constraint["labelSelector"], _labels(pod)
            ):
                counts[domain_of.get(pod["spec"]["nodeName"], "elsewhere")] += 1
        elsewhere = counts.pop("elsewhere", 0)
        skew = max(counts.values()) - min(counts.values())
        if skew > constraint["maxSkew"] or elsewhere:
            yield f"over {key}, skew {skew}, {elsewhere} elsewhere"


def _pairs(placement: Placement, kind: str) -> Iterator[tuple[Object, str, int, int]]:
    """Give each Pod's required terms: it, the key, others that match in its domain, and in all."""
    counted: dict[bytes, tuple[Counter[str], set[str]]] = {}
    for pod in placement.pods:
        for term in pod["spec"].get("affinity", {}).get(kind, {}).get(REQUIRED, ()):
            own = pod["metadata"]["namespace"]
            identity = msgspec.json.encode([term, own])
            if identity not in counted:
                counted[identity] = _count_matching(placement, term, own)
            counts, matching = counted[identity]
            domain = _labels(placement.nodes[pod["spec"]["nodeName"]])[term["topologyKey"]]
            itself = pod["metadata"]["uid"] in matching
            yield pod, term["topologyKey"], counts[domain] - itself, len(matching) - itself


def _count_matching(placement: Placement, term: Object, own: str) -> tuple[Counter[str], set[str]]:
    namespaces = set(term.get("namespaces", ()))
    if "namespaceSelector" in term:
        selector = term["namespaceSelector"]
        namespaces |= {
            name for name, labels in placement.namespaces.items() if _selected(selector, labels)
        }
    counts: Counter[str] = Counter()
    matching = set()
    for pod in placement.pods:
        if pod["metadata"]["namespace"] in (namespaces or {own}) and _selected(
            term["labelSelector"], _labels(pod)
        ):
            node = placement.nodes[pod["spec"]["nodeName"]]
            counts[_labels(node).get(term["topologyKey"], "")] += 1
            matching.add(pod["metadata"]["uid"])
    return counts, matching


def _too_near(placement: Placement) -> Iterator[str]:
    for pod, key, others, _ in _pairs(placement, "podAntiAffinity"):
        if others:
            yield f"{_name(pod)}: {others} others of its {key}"


def _too_far(placement: Placement) -> Iterator[str]:
    for pod, key, others, everywhere in _pairs(placement, "podAffinity"):
        if everywhere and not others:  # the very first may be alone
            yield f"{_name(pod)}: none of {everywhere} in its {key}"


def _too_many_volumes(placement: Placement) -> Iterator[str]:
    attached = Counter(
        pod["spec"]["nodeName"]
        for pod in placement.pods
        for volume in pod["spec"].get("volumes", ())
        if "persistentVolumeClaim" in volume
    )
    for csi_node in placement.csi_nodes:
        name = csi_node["metadata"]["name"]
        for driver in csi_node["spec"]["drivers"] or ():
            if attached[name] > driver["allocatable"]["count"]:
                yield f"{name}: {attached[name]}"


def _wrong_devices(placement: Placement) -> Iterator[str]:
    claims = {_name(claim): claim for claim in placement.claims}
    owners: dict[tuple[str, ...], str] = {}
    for pod in placement.pods:
        for reference in pod["spec"].get("resourceClaims", ()):
            claim = claims[f"{pod['metadata']['namespace']}/{reference['resourceClaimName']}"]
            users = [user["uid"] for user in claim["status"].get("reservedFor", ())]
            results = claim["status"].get("allocation", {}).get("devices", {}).get("results", ())
            if users != [pod["metadata"]["uid"]] or not results:
                yield f"{_name(claim)} is not allocated to {_name(pod)} alone"
            for result in results:
                device = (result["driver"], result["pool"], result["device"])
                if owners.setdefault(device, _name(claim)) != _name(claim):
                    yield f"{'/'.join(device)} is allocated twice"
                if result["pool"] != pod["spec"]["nodeName"]:  # a pool has its Node's name
                    yield f"{_name(pod)} is not where its device {'/'.join(device)} is"


def _bound_twice(placement: Placement) -> Iterable[str]:
    told: Counter[str] = Counter()
    for event in placement.events:
        if event["reason"] == "Scheduled":
            series = event.get("series") or {}
            told[f"{event['regarding']['namespace']}/{event['regarding']['name']}"] += series.get(
                "count", 1
            )
    return [f"{name} has {count} Scheduled events" for name, count in told.items() if count > 1]
