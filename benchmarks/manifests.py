"""Nodes and Pods as JSON: for an API server to create, and as one gives them back.

Pods look as ReplicaSets, the service account admission and the API server's defaults make them,
since decoding and telling classes apart cost as much as the specification is long: a token volume
of a random name, an owner, a hash among the labels, and (given back) managed fields.
"""

import random
import string
from collections.abc import Mapping, Sequence
from typing import Any, Final

from benchmarks.workloads import NodeShape, PodTemplate, pick

Manifest = dict[str, Any]

ZONE_COUNT: Final = 3
CREATED_AT: Final = "2026-01-01T00:00:00Z"
IMAGE: Final = "registry.k8s.io/pause:3.10"
_LETTERS: Final = string.ascii_lowercase + string.digits
_TOKEN_DIRECTORY: Final = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - a path


def node_manifest(index: int, pool: Sequence[NodeShape]) -> Manifest:
    """Make the Node of number `index`, Ready, in one of three zones."""
    shape = pick(pool, index)
    name = node_name(index)
    labels = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/region": "region-0",
        "topology.kubernetes.io/zone": f"zone-{index % ZONE_COUNT}",
        **shape.labels,
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": list(shape.taints)} if shape.taints else {},
        "status": {
            "capacity": shape.allocatable,
            "allocatable": shape.allocatable,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def node_name(index: int) -> str:
    """Name the Node of number `index`."""
    return f"node-{index:05d}"


def plain_pod(name: str, template: PodTemplate, *, namespace: str, scheduler_name: str) -> Manifest:
    """Make a Pod of one container and nothing else."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"app": "plain", **template.labels},
        },
        "spec": {
            "schedulerName": scheduler_name,
            "containers": [_container(template, class_index=0)],
            **template.spec,
        },
    }


class ReplicaSetPods:
    """Makes Pods of ReplicaSets, one ReplicaSet a class.

    Parameters
    ----------
    pool
        Templates; classes take them in turn.
    scheduler_name
        Of all Pods.
    environment_variable_count
        In the container: what makes Pods large.
    seed
        Of the random parts of names.
    """

    def __init__(
        self,
        pool: Sequence[PodTemplate],
        *,
        scheduler_name: str,
        environment_variable_count: int = 6,
        seed: int = 1,
    ) -> None:
        self._pool = pool
        self._scheduler_name = scheduler_name
        self._environment_variable_count = environment_variable_count
        self._random = random.Random(seed)

    def pod(self, class_index: int, *, namespace: str = "default", node_name: str = "") -> Manifest:
        """Make one more Pod of a class; bound already if it has a `node_name`."""
        template = pick(self._pool, class_index)
        replica_set = f"app-{class_index}-{_hash_of(class_index)}"
        volume = f"kube-api-access-{self._suffix()}"
        container = _container(template, class_index)
        container["env"] = self._environment(class_index)
        container["volumeMounts"] = [
            {"name": "config", "mountPath": "/etc/app", "readOnly": True},
            {"name": volume, "mountPath": _TOKEN_DIRECTORY, "readOnly": True},
        ]
        container["livenessProbe"] = {
            "httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"},
            "periodSeconds": 10,
        }
        spec: Manifest = {
            "schedulerName": self._scheduler_name,
            "serviceAccountName": "default",
            "priority": 0,
            "containers": [container],
            "volumes": [
                {"name": "config", "configMap": {"name": f"app-{class_index}"}},
                _token_volume(volume),
            ],
            **template.spec,
        }
        spec["tolerations"] = [*template.spec.get("tolerations", ()), *_DEFAULT_TOLERATIONS]
        if node_name:
            spec["nodeName"] = node_name
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{replica_set}-{self._suffix()}{self._suffix()}",
                "generateName": f"{replica_set}-",
                "namespace": namespace,
                "labels": {
                    "app.kubernetes.io/name": f"app-{class_index}",
                    "app.kubernetes.io/version": "1.0.0",
                    "pod-template-hash": _hash_of(class_index),
                },
                "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "8080"},
                "ownerReferences": [
                    {
                        "apiVersion": "apps/v1",
                        "kind": "ReplicaSet",
                        "name": replica_set,
                        "uid": _uid(class_index),
                        "controller": True,
                        "blockOwnerDeletion": True,
                    }
                ],
            },
            "spec": spec,
        }

    def _suffix(self) -> str:
        return "".join(self._random.choices(_LETTERS, k=5))

    def _environment(self, class_index: int) -> list[Manifest]:
        return [
            {
                "name": f"APP_SETTING_{number}",
                "value": f"https://service-{number}.app-{class_index}.svc:8443/v1",
            }
            for number in range(self._environment_variable_count)
        ]


def as_stored(manifest: Mapping[str, Any], *, index: int) -> Manifest:
    """Add what the API server would: uid, versions, managed fields and a status."""
    uid = _uid(1_000_000 + index)
    managed_fields = [
        {
            "manager": "kube-controller-manager",
            "operation": "Update",
            "apiVersion": "v1",
            "time": CREATED_AT,
            "fieldsType": "FieldsV1",
            "fieldsV1": {f"f:{part}": _fields_of(manifest[part]) for part in ("metadata", "spec")},
        }
    ]
    return {
        **manifest,
        "metadata": {
            **manifest["metadata"],
            "uid": uid,
            "resourceVersion": str(10_000 + index),
            "creationTimestamp": CREATED_AT,
            "managedFields": managed_fields,
        },
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }


def _container(template: PodTemplate, class_index: int) -> Manifest:
    milli_cpu = template.requests.milli_cpu + class_index * template.class_step_milli_cpu
    requests = {"cpu": f"{milli_cpu}m", "memory": f"{template.requests.mebibytes}Mi"}
    return {"name": "app", "image": IMAGE, "resources": {"requests": requests}}


def _token_volume(name: str) -> Manifest:
    sources: list[Manifest] = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {
            "downwardAPI": {
                "items": [
                    {
                        "path": "namespace",
                        "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                    }
                ]
            }
        },
    ]
    return {"name": name, "projected": {"defaultMode": 420, "sources": sources}}


def _fields_of(value: object) -> Manifest:
    """Describe whose fields these are, as ``managedFields`` does."""
    if isinstance(value, Mapping):
        return {f"f:{key}": _fields_of(part) for key, part in value.items()}
    return {}


def _hash_of(class_index: int) -> str:
    return "".join(random.Random(class_index).choices(_LETTERS, k=10))


def _uid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


_DEFAULT_TOLERATIONS: Final = tuple(
    {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
)
