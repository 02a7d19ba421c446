"""PodGroups and their members on an API server, beside what a shape has."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
import yaml

from benchmarks.cluster import NODE_CONCURRENCY, PODS, Cluster, each_of, encode
from benchmarks.errors import BenchmarkError
from benchmarks.manifests import plain_pod
from benchmarks.shape_checks import Object, Placement
from benchmarks.shape_cluster import WAITING
from benchmarks.workloads import PodTemplate
from kubeio.errors import KubeError
from kubeio.resources import ResourcePath

POD_GROUP_LABEL: Final = "scheduling.x-k8s.io/pod-group"
POD_GROUPS: Final = ResourcePath("scheduling.x-k8s.io", "v1alpha1", "podgroups")
DEFINITION: Final = (
    Path(__file__).resolve().parents[1]
    / "charts/berthmaster/crds/podgroups.scheduling.x-k8s.io.yaml"
)
_DEFINITIONS: Final = ResourcePath("apiextensions.k8s.io", "v1", "customresourcedefinitions")
_SERVED_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.1


class Members:
    """Makes `pod_count` Pods alike of a namespace, in groups of `member_count`; 0 for none."""

    def __init__(
        self,
        template: PodTemplate,
        *,
        namespace: str,
        scheduler_name: str,
        pod_count: int,
        member_count: int,
    ) -> None:
        self.namespace = namespace
        self.pod_count = pod_count
        self.member_count = member_count
        manifest = plain_pod("{pod}", template, namespace=namespace, scheduler_name=scheduler_name)
        if member_count:
            manifest["metadata"]["labels"][POD_GROUP_LABEL] = "{group}"
        self._body = encode(manifest)

    def pods(self) -> Iterable[tuple[str, bytes]]:
        """Give names and bodies, one group after the other."""
        for index in range(self.pod_count):
            name = f"pod-{index:05d}"
            body = self._body.replace(b"{pod}", name.encode())
            yield name, body.replace(b"{group}", self._group(index).encode())

    def groups(self) -> Mapping[str, Sequence[str]]:
        """Give the names of each group's Pods; nothing where there are no groups."""
        groups: defaultdict[str, list[str]] = defaultdict(list)
        for index in range(self.pod_count if self.member_count else 0):
            groups[self._group(index)].append(f"pod-{index:05d}")
        return groups

    def _group(self, index: int) -> str:
        return f"group-{index // self.member_count:05d}" if self.member_count else ""

    async def create_groups(self, cluster: Cluster) -> None:
        """Create the PodGroups; all members of each are needed."""
        resource = POD_GROUPS.in_namespace(self.namespace)

        async def create(group: tuple[str, Sequence[str]]) -> None:
            name, members = group
            manifest = {
                "apiVersion": "scheduling.x-k8s.io/v1alpha1",
                "kind": "PodGroup",
                "metadata": {"name": name},
                "spec": {"minMember": len(members)},
            }
            await cluster.create(resource, encode(manifest))

        await each_of(self.groups().items(), create, concurrency=NODE_CONCURRENCY)

    async def create_pods(self, cluster: Cluster) -> None:
        """Create the Pods."""
        resource = PODS.in_namespace(self.namespace)
        await each_of(
            self.pods(), lambda pod: cluster.create(resource, pod[1]), concurrency=NODE_CONCURRENCY
        )


async def define_pod_groups(cluster: Cluster) -> None:
    """Define PodGroups as the chart does, and wait until they are served."""
    await cluster.create(_DEFINITIONS, encode(yaml.safe_load(DEFINITION.read_text("utf-8"))))
    deadline_seconds = time.monotonic() + _SERVED_SECONDS
    while True:
        try:
            await cluster.client.get_json(POD_GROUPS.collection, msgspec.Raw)
        except KubeError as error:
            if time.monotonic() > deadline_seconds:
                raise BenchmarkError(f"PodGroups are not served: {error}") from error
            await asyncio.sleep(_POLL_SECONDS)
        else:
            return


def faults_of_groups(
    groups: Mapping[str, Sequence[str]], bound: Mapping[str, float], placement: Placement
) -> list[str]:
    """Give what is wrong with groups: of those measured, and of those that are to wait."""
    partial = [
        name for name, pods in groups.items() if 0 < sum(pod in bound for pod in pods) < len(pods)
    ]
    placed = [pod for pod in placement.pods if pod["metadata"]["namespace"] == WAITING]
    waiting = [pod for pod in placement.pending if pod["metadata"]["namespace"] == WAITING]
    untold = [pod for pod in waiting if not _is_told(pod)]
    counts = {
        "groups have some of their Pods on Nodes": len(partial),
        "Pods of groups that do not fit are on Nodes": len(placed),
        "Pods of groups that do not fit were not told so": len(untold),
    }
    return [f"{count:,} {fault}" for fault, count in counts.items() if count]


def _is_told(pod: Object) -> bool:
    return any(
        condition["type"] == "PodScheduled" and condition["message"].startswith("pod group ")
        for condition in pod["status"].get("conditions", ())
    )
