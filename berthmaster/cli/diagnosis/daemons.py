"""Pods of ours: how they are known, and what is read of them."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

from berthmaster.cli.diagnosis import wire
from berthmaster.cli.diagnosis.declared import flag_value
from berthmaster.cli.diagnosis.facts import DaemonPod
from berthmaster.cli.diagnosis.wire import seconds_of

NAME: Final = "app.kubernetes.io/name"
COMPONENT: Final = "app.kubernetes.io/component"
INSTANCE: Final = "app.kubernetes.io/instance"
VERSION: Final = "app.kubernetes.io/version"
OURS: Final = "berthmaster"
SCHEDULER: Final = "scheduler"
AGENT: Final = "agent"
AGENT_LABELS: Final = f"{NAME}={OURS},{COMPONENT}={AGENT}"
"""A label selector."""
_HOST_NAME_CHARACTERS: Final = 63


def component_of(labels: Mapping[str, str] | None) -> str | None:
    """Give which component the labels say; it is ours only if `daemon_pod` says so too."""
    component = labels.get(COMPONENT) if labels else None
    return component if component in (SCHEDULER, AGENT) else None


def daemon_pod(pod: wire.Daemon) -> DaemonPod | None:
    """Read a Pod of ours; None if neither its name label nor an image says that it is."""
    labels = pod.metadata.labels or {}
    container = next((c for c in pod.spec.containers if OURS in c.image), None)
    if container is None and labels.get(NAME) == OURS and pod.spec.containers:
        container = pod.spec.containers[0]
    if container is None:
        return None
    ready = next((c for c in pod.status.conditions or () if c.type == "Ready"), None)
    statuses = pod.status.container_statuses or ()
    status = next((s for s in statuses if s.name == container.name), wire.ContainerStatus())
    ended = status.last_state.terminated
    arguments = (*(container.command or ()), *(container.args or ()))
    port = flag_value(arguments, "--secure-port")
    is_ready = ready is not None and ready.status == "True"
    return DaemonPod(
        namespace=pod.metadata.namespace,
        name=pod.metadata.name,
        node_name=pod.spec.node_name,
        instance=labels.get(INSTANCE, ""),
        host_name=_host_name(pod),
        version=labels.get(VERSION) or _version_of(container.image),
        service_account=pod.spec.service_account_name or "default",
        port=int(port) if port.isdecimal() else 0,
        is_ready=is_ready,
        is_ending=pod.metadata.deletion_timestamp is not None,
        restart_count=status.restart_count,
        last_restart=seconds_of(ended.finished_at) if ended is not None else None,
        created=seconds_of(pod.metadata.creation_timestamp) or 0.0,
        trouble="" if is_ready else _trouble(pod, status, ready),
        arguments=arguments,
        config_map=_config_map(pod, container, flag_value(arguments, "--config")),
    )


def _host_name(pod: wire.Daemon) -> str:
    """Give what the process takes for its host's name; the kubelet cuts long ones."""
    if pod.spec.host_network:
        return pod.spec.node_name
    return pod.metadata.name[:_HOST_NAME_CHARACTERS].rstrip("-.")


def _version_of(image: str) -> str:
    """Give an image's tag, else the start of its digest."""
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return tag or digest.removeprefix("sha256:")[:12]


def _trouble(pod: wire.Daemon, status: wire.ContainerStatus, ready: wire.Condition | None) -> str:
    state = status.state.waiting or status.state.terminated
    if state is not None and state.reason:
        return f"{state.reason}: {state.message}" if state.message else state.reason
    if not pod.spec.node_name:
        conditions = pod.status.conditions or ()
        scheduled = next((c for c in conditions if c.type == "PodScheduled"), None)
        return (scheduled.message if scheduled else "") or "it has no Node"
    return (ready.message if ready else "") or pod.status.phase


def _config_map(pod: wire.Daemon, container: wire.Container, path: str) -> tuple[str, str] | None:
    """Find the ConfigMap, and the key in it, that a container reads a file from."""
    if not path:
        return None
    file = PurePosixPath(path)
    sources = {v.name: v.config_map for v in pod.spec.volumes or () if v.config_map is not None}
    for mount in container.volume_mounts or ():
        source = sources.get(mount.name)
        if source is None or not file.is_relative_to(mount.mount_path or "/"):
            continue
        inside = str(file.relative_to(mount.mount_path))
        renamed = {item.path: item.key for item in source.items or ()}
        key = renamed.get(inside, file.name if inside == "." else inside)
        return source.name, key
    return None
