"""The configuration of the cluster, in the format of kind (kind.x-k8s.io/v1alpha4)."""

from __future__ import annotations

from typing import Any

import yaml

from deploy.kind.host import Host

WORKER_COUNT = 2


def cluster_configuration(host: Host, *, with_own_network: bool) -> dict[str, Any]:
    """Give the configuration of one control plane and two workers.

    Parameters
    ----------
    host
        The machine that runs the nodes.
    with_own_network
        Whether Pods are connected by ``deploy.kind.network`` instead of kind's network plugin,
        whose image has to be pulled.
    """
    configuration: dict[str, Any] = {
        "kind": "Cluster",
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "nodes": [{"role": "control-plane"}, *({"role": "worker"} for _ in range(WORKER_COUNT))],
    }
    if with_own_network:
        configuration["networking"] = {"disableDefaultCNI": True}
    patches = [yaml.safe_dump(patch) for patch in _kubeadm_patches(host)]
    if patches:
        configuration["kubeadmConfigPatches"] = patches
    return configuration


def _kubeadm_patches(host: Host) -> list[dict[str, Any]]:
    """Change what kubeadm sets up, where this machine can't do what is usual."""
    kubelet: dict[str, Any] = {}
    if host.has_cgroup_v1:
        kubelet["failCgroupV1"] = False
    if not host.may_raise_limits:
        # Among other things this lets the kubelet go on where it may not set limits.
        kubelet["featureGates"] = {"KubeletInUserNamespace": True}
    patches = [{"kind": "KubeletConfiguration", **kubelet}] if kubelet else []
    if not host.may_raise_limits:
        patches.append({"kind": "KubeProxyConfiguration", "oomScoreAdj": 0})
    return patches
