"""What the command line does: ``up``, ``down``, ``status``, ``image`` and ``load``."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from deploy.controlplane.statelock import StateLock
from deploy.image.engine import ensure_docker, run_docker
from deploy.kind import chart, images
from deploy.kind.cluster import Cluster
from deploy.kind.configuration import cluster_configuration
from deploy.kind.host import inotify_advice, inspect_host
from deploy.kind.layout import DEFAULT_STATE_DIRECTORY, ClusterRecord, KindDirectory
from deploy.kind.node_image import BUILT_IMAGE, obtain_node_image
from deploy.programs import interrupts
from deploy.programs.binaries import obtain_binaries
from deploy.programs.errors import DeployError, UsageError
from deploy.programs.reporting import Reporter

DEFAULT_NAME = "berthmaster"
SAMPLE = "deploy/manifests/sample.yaml"
OTHER_COMMAND_TIMEOUT_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class UpOptions:
    """Options of ``up``, as on the command line."""

    state_dir: Path = DEFAULT_STATE_DIRECTORY
    name: str | None = None
    kubernetes_version: str | None = None
    with_chart: bool = True
    values: tuple[Path, ...] = ()
    builds_image: bool = False
    builds_node_image: bool = False
    installs_docker: bool = False


def up(options: UpOptions, reporter: Reporter) -> None:
    """Bring the cluster up with Berthmaster in it, or what of it isn't there.

    Interrupted, it leaves what it has finished; a cluster that is half made is removed.

    Raises
    ------
    DeployError
        If something can't be had or doesn't become ready; the logs stay.
    """
    missing = [str(path) for path in options.values if not path.is_file()]
    if missing:
        raise UsageError(f"no file {', '.join(missing)}")
    ensure_docker(reporter, install=options.installs_docker)
    directory = KindDirectory(options.state_dir)
    with _locked(directory, "up", reporter):
        cluster = _find(directory, options.name, reporter)
        image = images.have_berthmaster(reporter, anew=options.builds_image)
        agnhost = images.have_agnhost(reporter)
        record = _have_cluster(cluster, options, reporter)
        cluster.wake()
        if not record.has_stock_image:
            cluster.connect_pods()
        cluster.wait_ready()
        reporter.step(f"{len(cluster.containers())} nodes are ready")
        cluster.load([image, agnhost])
        reporter.step(f"the nodes have {image} and {agnhost}")
        if options.with_chart:
            image_id = run_docker("image", "inspect", "--format", "{{.Id}}", image)
            arguments = chart.install_arguments(image, image_id, options.values)
            cluster.run("helm", *arguments, saying="installing Berthmaster")
            reporter.step(f"Berthmaster runs in the namespace {chart.NAMESPACE}")
        cluster.wait_for_names()
        reporter.step("CoreDNS is ready")
        _tell_what_next(cluster, options, reporter)


def down(
    state_dir: Path, name: str | None, reporter: Reporter, *, removes_images: bool = False
) -> None:
    """Remove the cluster, whatever state it is in, and its files; asked to, the images too.

    Raises
    ------
    DeployError
        If it can't be removed.
    """
    directory = KindDirectory(state_dir)
    if not directory.path.exists() and name is None and not removes_images:
        reporter.step(f"no cluster in {directory.path}")
        return
    ensure_docker(reporter)
    with _locked(directory, "down", reporter):
        try:
            record = directory.load()
        except DeployError:
            if name is None:
                raise
            record = None  # by its name a cluster can be removed all the same
        wanted = name or (record.name if record else None)
        if wanted is not None:
            _cluster(wanted, directory, ["kind"], reporter).remove()
            reporter.step(f"removed the cluster {wanted}")
        if removes_images:
            _remove_images(reporter)
        if record is None or record.name == wanted:
            directory.remove()


def status(state_dir: Path, reporter: Reporter) -> bool:
    """Write which nodes run and are ready, and what is installed; True if all is well.

    Raises
    ------
    DeployError
        If Docker or the API server doesn't answer.
    """
    directory = KindDirectory(state_dir)
    record = directory.load()
    if record is None:
        reporter.plain(f"no cluster in {directory.path}")
        return False
    ensure_docker(reporter)
    cluster = _cluster(record.name, directory, ["kind", "kubectl"], reporter)
    states = {container.name: container.state for container in cluster.containers()}
    if not record.is_made or not states:
        reporter.plain(f"the cluster {record.name} is not finished: `python -m deploy.kind up`")
        return False
    ready = _ready_nodes(cluster)
    for name, state in states.items():
        reporter.plain(f"{name:30} {state:10} {'ready' if name in ready else 'not ready'}")
    is_well = ready >= states.keys()
    pods = cluster.get("pods", "--namespace", chart.NAMESPACE)["items"]
    for pod in pods:
        is_ready = _is_true(pod, "Ready")
        phase = pod.get("status", {}).get("phase", "")
        reporter.plain(f"{pod['metadata']['name']:42} {phase:10} {'' if is_ready else 'not '}ready")
        is_well = is_well and is_ready
    reporter.plain(f"export KUBECONFIG={shlex.quote(str(directory.kubeconfig))}")
    return is_well


def image(kubernetes_version: str | None, reporter: Reporter, *, built: bool) -> str:
    """Have the image of the nodes, and give its name."""
    ensure_docker(reporter)
    host = inspect_host()
    found = obtain_node_image(host, reporter, kubernetes_version=kubernetes_version, built=built)
    return found.reference


def load(state_dir: Path, names: Sequence[str], reporter: Reporter) -> None:
    """Put images of the Docker engine into the nodes."""
    directory = KindDirectory(state_dir)
    record = _made(directory)
    _cluster(record.name, directory, ["kind"], reporter).load(names)
    reporter.step(f"the nodes have {', '.join(names)}")


def kubeconfig(state_dir: Path) -> Path:
    """Name the kubeconfig of the cluster.

    Raises
    ------
    DeployError
        If there is no cluster.
    """
    directory = KindDirectory(state_dir)
    _made(directory)
    return directory.kubeconfig


@contextmanager
def _locked(directory: KindDirectory, purpose: str, reporter: Reporter) -> Iterator[None]:
    """Let no other command change this cluster meanwhile."""
    directory.create()
    deadline_seconds = time.monotonic() + OTHER_COMMAND_TIMEOUT_SECONDS
    with StateLock(directory.lock) as lock:
        told = False
        while not lock.acquire(purpose, timeout_seconds=1.0):
            holder = lock.holder()
            who = f"process {holder.pid} (`{holder.purpose}`)" if holder else "another command"
            if time.monotonic() > deadline_seconds:
                raise DeployError(f"{who} works in {directory.path} and doesn't end")
            if not told:
                told = True
                reporter.step(f"waiting for {who}, which works in {directory.path}")
        directory.create()  # that command may have been `down`, and have removed it
        yield


def _cluster(
    name: str, directory: KindDirectory, programs: Sequence[str], reporter: Reporter
) -> Cluster:
    found = obtain_binaries(programs, reporter=reporter, tells_found=False)
    paths: Mapping[str, Path] = {name: binary.path for name, binary in found.items()}
    return Cluster(name, directory, paths, reporter)


def _find(directory: KindDirectory, name: str | None, reporter: Reporter) -> Cluster:
    """Find this directory's cluster, or choose a name for one that is to be made.

    Raises
    ------
    DeployError
        If another than the wanted is there, or another checkout has one of that name.
    """
    record = directory.load()
    wanted = name or (record.name if record else DEFAULT_NAME)
    if record is not None and record.name != wanted:
        raise UsageError(
            f"{directory.path} has the cluster {record.name}: take that down first, or choose "
            "another directory for this one (--state-dir)"
        )
    cluster = _cluster(wanted, directory, ["kind", "kubectl", "helm"], reporter)
    if record is None and cluster.containers():
        raise DeployError(
            f"there is a kind cluster {wanted} that was not made here: choose another name "
            f"(--name), or remove that one (`python -m deploy.kind down --name {wanted}`)"
        )
    return cluster


def _have_cluster(cluster: Cluster, options: UpOptions, reporter: Reporter) -> ClusterRecord:
    """Make the cluster unless it is there; one that an interrupted command left is made anew."""
    record = cluster.directory.load()
    containers = cluster.containers()
    if record is not None and record.is_made and containers:
        reporter.step(f"the cluster {cluster.name} is there")
        return record
    if containers:
        reporter.step(f"removing the cluster {cluster.name}, which is not finished")
        cluster.remove()
    host = inspect_host()
    node_image = obtain_node_image(
        host,
        reporter,
        kubernetes_version=options.kubernetes_version,
        built=options.builds_node_image,
    )
    record = ClusterRecord(cluster.name, node_image.reference, node_image.is_stock)
    cluster.directory.save(record)
    reporter.step(f"making the cluster {cluster.name}, log {cluster.directory.log('kind')}")
    configuration = cluster_configuration(host, with_own_network=not node_image.is_stock)
    try:
        cluster.make(node_image.reference, configuration)
    except BaseException as error:
        with interrupts.deferred():
            cluster.remove()
        advice = inotify_advice()
        if isinstance(error, DeployError) and advice is not None:
            raise DeployError(f"{error}\n{advice}") from error
        raise
    record = replace(record, is_made=True)
    cluster.directory.save(record)
    return record


def _made(directory: KindDirectory) -> ClusterRecord:
    record = directory.load()
    if record is None or not record.is_made:
        raise DeployError(f"no cluster in {directory.path}: `python -m deploy.kind up` makes one")
    return record


def _ready_nodes(cluster: Cluster) -> set[str]:
    nodes = cluster.get("nodes")["items"]
    return {node["metadata"]["name"] for node in nodes if _is_true(node, "Ready")}


def _is_true(object_: Mapping[str, object], condition: str) -> bool:
    status_ = object_.get("status")
    conditions = status_.get("conditions", []) if isinstance(status_, dict) else []
    return any(item["type"] == condition and item["status"] == "True" for item in conditions)


def _remove_images(reporter: Reporter) -> None:
    """Remove the node images that were made here."""
    listing = run_docker("image", "ls", "--format", "{{.Repository}}:{{.Tag}}", BUILT_IMAGE)
    for name in listing.splitlines():
        run_docker("image", "rm", name)
        reporter.step(f"removed the image {name}")


def _tell_what_next(cluster: Cluster, options: UpOptions, reporter: Reporter) -> None:
    path = shlex.quote(str(cluster.directory.kubeconfig))
    kubectl = cluster.command("kubectl")
    reporter.plain()
    reporter.plain("What next:")
    reporter.plain(f"  export KUBECONFIG={path}")
    if options.with_chart:
        reporter.plain(f"  {kubectl} get pods --namespace {chart.NAMESPACE} -o wide")
        reporter.plain(
            f"  {kubectl} apply -f deploy/manifests/sample.yaml    # Pods for Berthmaster"
        )
    else:
        reporter.plain(f"  {kubectl} get nodes -o wide")
    down_command = "make kind-down"
    if cluster.directory.path != DEFAULT_STATE_DIRECTORY:
        where = shlex.quote(str(cluster.directory.path))
        down_command = f"python -m deploy.kind down --state-dir {where}"
    reporter.plain(f"  {down_command}    # removes the cluster")
