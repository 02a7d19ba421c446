"""What a kubelet refuses in a static Pod's manifest, as far as it can be told here.

Two kinds of rules: those of every Pod (names, images, volumes, ports: the part of validation
that manifests are wrong by in practice) and those of static Pods, which may not need anything
of the API server. A manifest that passes may still be refused by the kubelet, by a rule that
is not repeated here; that shows as a Pod which the kubelet has not.

Source: pkg/apis/core/validation/validation.go (ValidatePodCreate), pkg/kubelet/config/common.go
and pkg/api/pod/util.go (gate PreventStaticPodAPIReferences, on), v1.36.3.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from node_agent.core.objects import Document

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
_SUBDOMAIN: Final = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII
)
_MAX_SUBDOMAIN_LENGTH: Final = 253
_QUANTITY: Final = re.compile(
    r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?", re.ASCII
)
_PROBE_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc")
_MAX_PORT: Final = 65535
_RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_API_VOLUMES: Final = (
    "azureFile",
    "configMap",
    "csi",
    "ephemeral",
    "glusterfs",
    "persistentVolumeClaim",
    "secret",
)
_API_PROJECTIONS: Final = (
    "clusterTrustBundle",
    "configMap",
    "podCertificate",
    "secret",
    "serviceAccountToken",
)


def mistakes(metadata: Document, spec: Document) -> Iterator[str]:
    """Give what is wrong, each with its place, of a manifest after its defaults.

    Parameters
    ----------
    metadata, spec
        Of a Pod that `objects.read_pod` can read: what it reads has the right type.
    """
    name, namespace = metadata.get("name", ""), metadata.get("namespace", "")
    if len(name) > _MAX_SUBDOMAIN_LENGTH or not _SUBDOMAIN.fullmatch(name):
        yield f"metadata.name: {name!r} is no DNS subdomain (a-z, 0-9, - and ., at most 253)"
    if not _LABEL.fullmatch(namespace):
        yield f"metadata.namespace: {namespace!r} is no DNS label (a-z, 0-9 and -, at most 63)"
    yield from _mistakes_of_pod(spec)
    yield from _mistakes_of_volumes(spec)
    yield from _mistakes_of_containers(spec)


def api_references(spec: Document) -> Iterator[str]:
    """Give each place where a manifest needs something of the API server."""
    for field in ("serviceAccountName", "serviceAccount", "resourceClaims", "imagePullSecrets"):
        if spec.get(field):
            yield f"spec.{field}"
    for place, volume in _items(spec, "volumes", "spec.volumes"):
        yield from _references_of_volume(place, volume)
    for place, container in _containers(spec):
        yield from _references_of_container(place, container)


def _references_of_volume(place: str, volume: Document) -> Iterator[str]:
    for kind, source in volume.items():
        # Storage of other kinds (iscsi, rbd, cephfs, …) may be reached by a secret.
        has_secret = isinstance(source, dict) and source.get("secretRef")
        if kind in _API_VOLUMES or has_secret:
            yield f"{place}.{kind}"
    sources = _items(volume.get("projected"), "sources", f"{place}.projected.sources")
    for inner_place, source in sources:
        for kind in _API_PROJECTIONS:
            if kind in source:
                yield f"{inner_place}.{kind}"


def _references_of_container(place: str, container: Document) -> Iterator[str]:
    for inner_place, variable in _items(container, "env", f"{place}.env"):
        value_from = variable.get("valueFrom")
        for kind in ("secretKeyRef", "configMapKeyRef"):
            if isinstance(value_from, dict) and value_from.get(kind):
                yield f"{inner_place}.valueFrom.{kind}"
    for inner_place, source in _items(container, "envFrom", f"{place}.envFrom"):
        for kind in ("secretRef", "configMapRef"):
            if source.get(kind):
                yield f"{inner_place}.{kind}"


def _mistakes_of_pod(spec: Document) -> Iterator[str]:
    yield from _not_one_of("spec.restartPolicy", spec.get("restartPolicy"), _RESTART_POLICIES)
    yield from _not_one_of("spec.dnsPolicy", spec.get("dnsPolicy"), _DNS_POLICIES)
    if spec.get("schedulingGates"):
        yield "spec.schedulingGates: a static Pod has its node, so it cannot be gated"
    if spec.get("ephemeralContainers"):
        yield "spec.ephemeralContainers: cannot be there from the beginning"
    if not spec.get("containers"):
        yield "spec.containers: at least one is required"


def _mistakes_of_volumes(spec: Document) -> Iterator[str]:
    taken: set[str] = set()
    for place, volume in _items(spec, "volumes", "spec.volumes"):
        yield from _bad_name(place, volume.get("name", ""), taken)
        kinds = [kind for kind, source in volume.items() if kind != "name" and source is not None]
        if len(kinds) > 1:
            yield f"{place}: a volume has one kind, not {', '.join(kinds)}"


def _mistakes_of_containers(spec: Document) -> Iterator[str]:
    taken: set[str] = set()
    volumes = {volume.get("name") for _, volume in _items(spec, "volumes", "")}
    for place, container in _containers(spec):
        yield from _bad_name(place, container.get("name", ""), taken)
        if not (container.get("image") or "").strip():
            yield f"{place}.image: an image is required"
        yield from _mistakes_of_probes(place, container)
        yield from _mistakes_of_resources(place, container)
        for inner_place, mount in _items(container, "volumeMounts", f"{place}.volumeMounts"):
            name = mount.get("name")
            if not isinstance(name, str) or name not in volumes:
                yield f"{inner_place}.name: there is no volume {name!r}"
            if not mount.get("mountPath"):
                yield f"{inner_place}.mountPath: a path is required"
        for inner_place, port in _items(container, "ports", f"{place}.ports"):
            number = port.get("containerPort")
            if not isinstance(number, int) or not 1 <= number <= _MAX_PORT:
                yield f"{inner_place}.containerPort: {number!r} is not from 1 to {_MAX_PORT}"


def _mistakes_of_probes(place: str, container: Document) -> Iterator[str]:
    for field in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(field)
        handlers = [kind for kind in _PROBE_HANDLERS if isinstance(probe, dict) and probe.get(kind)]
        if probe is not None and len(handlers) != 1:
            yield f"{place}.{field}: one of {', '.join(_PROBE_HANDLERS)} is required"


def _mistakes_of_resources(place: str, container: Document) -> Iterator[str]:
    resources = container.get("resources") or {}
    for kind in ("requests", "limits"):
        for name, amount in (resources.get(kind) or {}).items():
            if not _QUANTITY.fullmatch(str(amount)):
                yield f"{place}.resources.{kind}.{name}: {amount!r} is no quantity (500m, 1Gi)"


def _bad_name(place: str, name: Any, taken: set[str]) -> Iterator[str]:
    if not isinstance(name, str) or not _LABEL.fullmatch(name):
        yield f"{place}.name: {name!r} is no DNS label (a-z, 0-9 and -, at most 63)"
    elif name in taken:
        yield f"{place}.name: {name!r} is taken already"
    else:
        taken.add(name)


def _not_one_of(place: str, value: Any, allowed: tuple[str, ...]) -> Iterator[str]:
    if value not in allowed:
        yield f"{place}: {value!r} is not one of {', '.join(allowed)}"


def _containers(spec: Document) -> Iterator[tuple[str, Document]]:
    for field in ("initContainers", "containers"):
        yield from _items(spec, field, f"spec.{field}")


def _items(parent: Any, field: str, place: str) -> Iterator[tuple[str, Document]]:
    """Give the objects of a list and their places; what is no object is not looked at."""
    items = parent.get(field) if isinstance(parent, dict) else None
    if isinstance(items, list):
        for number, item in enumerate(items):
            if isinstance(item, dict):
                yield f"{place}[{number}]", item
