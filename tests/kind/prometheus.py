"""A Prometheus in the cluster, set up as docs/dashboards.md says, without the operator.

Debian's Prometheus is built without discovery in Kubernetes, so it is told of all Pods what that
would tell, under the same labels: the documented job has to find ours among them.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import yaml

from deploy.image.build import DEFAULT_TAG
from deploy.image.engine import run_docker
from tests.kind.api import Api, Object, temporary
from tests.kind.cluster import KindCluster
from tests.kind.objects import pod
from tests.kind.pods import wait_pod_running
from tests.monitoring.prometheus_package import program
from tests.monitoring.shipped import RULE_FILES, scrape_configuration

IMAGE: Final = "berthmaster-prometheus:test"
NAMESPACE: Final = "monitoring"
ACCOUNT: Final = "prometheus"
PORT: Final = 9090
_SETTINGS: Final = {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "2s"}


class Prometheus:
    """Asked through the API server, as its Service would be."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._path = f"/api/v1/namespaces/{NAMESPACE}/pods/{ACCOUNT}:{PORT}/proxy"

    def get(self, path: str) -> Any:
        """Give the ``data`` of what its API answers."""
        return self._api.get(f"{self._path}/api/v1/{path}")["data"]

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Give the value of an expression now: one document a series."""
        found: list[dict[str, Any]] = self.get(f"query?{urlencode({'query': expression})}")[
            "result"
        ]
        return found


@contextmanager
def prometheus(cluster: KindCluster, scratch: Path, load: Any) -> Iterator[Prometheus]:
    """Run it in a namespace of its own; ``load`` puts an image into the nodes."""
    build_image(scratch)
    load(IMAGE)
    run_docker("image", "rm", IMAGE)  # the nodes have it
    with temporary(cluster.api, *_access(), _configuration(cluster)):
        cluster.api.create(_pod())
        wait_pod_running(cluster, NAMESPACE, ACCOUNT)
        yield Prometheus(cluster.api)


def build_image(scratch: Path) -> None:
    """Add the program to an image that has the C library it needs."""
    shutil.copy(program("prometheus"), scratch / "prometheus")
    lines = (f"FROM {DEFAULT_TAG}", "COPY prometheus /", 'ENTRYPOINT ["/prometheus"]')
    (scratch / "Dockerfile").write_text("\n".join(lines))
    run_docker("build", "--quiet", "--tag", IMAGE, scratch)


def _access() -> list[Object]:
    """Give the namespace, and the account that the chart's values let read metrics."""
    account = {"name": ACCOUNT, "namespace": NAMESPACE}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account},
    ]


def _configuration(cluster: KindCluster) -> Object:
    """Give the ConfigMap: the documented job, all Pods, and the shipped rules."""
    configuration = {**scrape_configuration(), "global": _SETTINGS}
    configuration["rule_files"] = [path.name for path in RULE_FILES]
    [job] = configuration["scrape_configs"]
    assert job.pop("kubernetes_sd_configs") == [{"role": "pod"}]
    job["file_sd_configs"] = [{"files": ["pods.json"]}]
    pods = [target for pod_ in cluster.api.items("/api/v1/pods") for target in targets_of(pod_)]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": ACCOUNT, "namespace": NAMESPACE},
        "data": {
            "prometheus.yml": yaml.safe_dump(configuration),
            "pods.json": json.dumps(pods),
            **{path.name: path.read_text() for path in RULE_FILES},
        },
    }


def targets_of(pod_: Object) -> Iterator[Object]:
    """Give what discovery with the role ``pod`` tells of a Pod: each port that it declares."""
    metadata, ip = pod_["metadata"], pod_["status"].get("podIP")
    meta = {
        "namespace": metadata["namespace"],
        "pod_name": metadata["name"],
        "pod_node_name": pod_["spec"].get("nodeName", ""),
        **{f"pod_label_{_word(key)}": text for key, text in metadata.get("labels", {}).items()},
        **{
            f"pod_annotation_{_word(key)}": text
            for key, text in metadata.get("annotations", {}).items()
        },
    }
    labels = {f"__meta_kubernetes_{key}": text for key, text in meta.items()}
    for container in pod_["spec"]["containers"]:
        for port in container.get("ports", [{}]):
            address = f"{ip}:{port['containerPort']}" if port else f"{ip}"
            yield {"targets": [address], "labels": labels}


def _word(key: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_]", "_", key)


def _pod() -> Object:
    mounts = [{"name": "config", "mountPath": "/config"}, {"name": "data", "mountPath": "/data"}]
    container = {
        "name": "prometheus",
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "args": ["--config.file=/config/prometheus.yml", "--storage.tsdb.path=/data"],
        "volumeMounts": mounts,
        "readinessProbe": {"httpGet": {"path": "/-/ready", "port": PORT}, "periodSeconds": 1},
    }
    volumes = [
        {"name": "config", "configMap": {"name": ACCOUNT}},
        {"name": "data", "emptyDir": {}},
    ]
    return pod(
        ACCOUNT,
        NAMESPACE,
        container,
        serviceAccountName=ACCOUNT,
        securityContext={"fsGroup": 65532},
        volumes=volumes,
    )
