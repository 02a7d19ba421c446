"""What the real process shows, beside kube-scheduler's, and that its rights are enough for it.

The process runs as the ServiceAccount of deploy/manifests, and lives through what makes
kube-scheduler show its metrics: Pods that fit and that don't, gates, preemption, volumes, devices.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from deploy.controlplane import ControlPlane, Reporter
from tests.integration.rest import create, read, request, wait_for
from tests.integration.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.integration

ROOT: Final = Path(__file__).parents[2]
DATA: Final = ROOT / "tests/data/metrics"
PODS: Final = "/api/v1/namespaces/default/pods"
NODES: Final = "/api/v1/nodes"
CLAIMS: Final = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
PATHS: Final = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "ClusterRole": f"{RBAC}/clusterroles",
    "ClusterRoleBinding": f"{RBAC}/clusterrolebindings",
    "Role": f"{RBAC}/namespaces/{{}}/roles",
    "RoleBinding": f"{RBAC}/namespaces/{{}}/rolebindings",
}
EXPECTED_TO_STAY_UNSEEN: Final = frozenset(
    {
        # Nothing in-tree waits on Permit, and no volume fails to be bound here.
        "scheduler_permit_wait_duration_seconds",
        "scheduler_volume_scheduling_stage_error_total",
    }
)


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give a control plane of our own: what is counted must be of this module's Pods."""
    state_dir = tmp_path_factory.mktemp("metrics") / "state"
    with ControlPlane(state_dir, reporter=Reporter()) as running:
        yield running


@pytest.fixture(scope="module")
def process(
    plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SchedulerProcess]:
    """Give a scheduler that has lived through everything."""
    folder = tmp_path_factory.mktemp("scheduler")
    arguments = (
        *("--kubeconfig", str(kubeconfig_of_account(plane, folder))),
        *("--secure-port", "0", "--bind-address", "127.0.0.1", "-v", "2"),
    )
    with SchedulerProcess(folder / "log", *arguments) as running:
        live(plane)
        yield running


def kubeconfig_of_account(plane: ControlPlane, folder: Path) -> Path:
    """Give the manifest's ServiceAccount its rights, and a kubeconfig with a token of its."""
    for document in yaml.safe_load_all((ROOT / "deploy/manifests/berthmaster.yaml").read_text()):
        collection = PATHS.get(document["kind"])
        if collection is not None:
            create(plane, collection.format(document["metadata"].get("namespace", "")), document)
    account = PATHS["ServiceAccount"].format("berthmaster")
    token = create(plane, f"{account}/berthmaster-scheduler/token", {"spec": {}})
    configuration = yaml.safe_load(plane.kubeconfig_path.read_text())
    for user in configuration["users"]:
        user["user"] = {"token": token["status"]["token"]}
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(configuration))
    return path


def create_node(plane: ControlPlane, name: str, cpu: str) -> None:
    room = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    labels = {"kubernetes.io/hostname": name}
    node = {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": room}}
    create(plane, NODES, node)


def create_pod(plane: ControlPlane, name: str, cpu: str = "50m", **spec: Any) -> None:
    resources = spec.pop("resources", {"requests": {"cpu": cpu}})
    container = {"name": "c", "image": "x", "resources": resources}
    spec = {"schedulerName": "berthmaster", "containers": [container], **spec}
    create(plane, PODS, {"metadata": {"name": name}, "spec": spec})


def pod(plane: ControlPlane, name: str) -> dict[str, Any]:
    return read(plane, f"{PODS}/{name}")


def wait_bound(plane: ControlPlane, name: str) -> None:
    wait_for(f"{name} is bound", lambda: pod(plane, name)["spec"].get("nodeName"))


def live(plane: ControlPlane) -> None:
    for name, value in (("high", 1000), ("low", 1)):
        priority = {"metadata": {"name": name}, "value": value}
        create(plane, "/apis/scheduling.k8s.io/v1/priorityclasses", priority)
    create_node(plane, "n0", "1")
    for number in range(30):
        create_pod(plane, f"p{number}", "5m")
    create_pod(plane, "gated", schedulingGates=[{"name": "example.com/gate"}])
    create_pod(plane, "victim", "800m", priorityClassName="low")
    wait_bound(plane, "victim")
    create_pod(plane, "large", "6")
    wait_for("the condition", lambda: conditions(plane, "large"))
    create_pod(plane, "urgent", "800m", priorityClassName="high")
    wait_for("it is told why", lambda: conditions(plane, "victim", "DisruptionTarget"))
    now = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
    request(plane, "DELETE", f"{PODS}/victim", now)
    wait_bound(plane, "urgent")
    create_node(plane, "n1", "8")
    wait_bound(plane, "large")
    use_volume(plane)
    use_devices(plane)


def conditions(plane: ControlPlane, name: str, kind: str = "PodScheduled") -> list[Any]:
    found = pod(plane, name)["status"].get("conditions", [])
    return [condition for condition in found if condition["type"] == kind]


def use_volume(plane: ControlPlane) -> None:
    """Have a Pod's claim bound to a local volume, when the Pod has a Node."""
    storage = {
        "metadata": {"name": "local"},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    create(plane, "/apis/storage.k8s.io/v1/storageclasses", storage)
    here = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}
    volume = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "local",
        "local": {"path": "/x"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
    }
    create(plane, "/api/v1/persistentvolumes", {"metadata": {"name": "v0"}, "spec": volume})
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "local",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    claims = "/api/v1/namespaces/default/persistentvolumeclaims"
    create(plane, claims, {"metadata": {"name": "c0"}, "spec": claim})
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c0"}}]
    create_pod(plane, "stores", volumes=volumes)
    wait_bound(plane, "stores")


def use_devices(plane: ControlPlane) -> None:
    """Have a claim made for a Pod's extended resource, whose device takes its time."""
    selector = {"cel": {"expression": "device.driver == 'd.example.com'"}}
    device_class = {"extendedResourceName": "example.com/gpu", "selectors": [selector]}
    create(
        plane,
        "/apis/resource.k8s.io/v1/deviceclasses",
        {"metadata": {"name": "gpu"}, "spec": device_class},
    )
    device = {"name": "d0", "bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    published = {"driver": "d.example.com", "nodeName": "n1", "pool": pool, "devices": [device]}
    create(
        plane,
        "/apis/resource.k8s.io/v1/resourceslices",
        {"metadata": {"name": "s0"}, "spec": published},
    )
    amount = {"example.com/gpu": "1"}
    create_pod(plane, "computes", resources={"requests": amount, "limits": amount})
    wait_for("the device is allocated", lambda: allocated(plane))
    [claim] = allocated(plane)
    ready = {
        "type": "ready",
        "status": "True",
        "reason": "Attached",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    [result] = claim["status"]["allocation"]["devices"]["results"]
    names = {name: result[name] for name in ("driver", "pool", "device")}
    claim["status"]["devices"] = [{**names, "conditions": [ready]}]
    status, stored = request(plane, "PUT", f"{CLAIMS}/{claim['metadata']['name']}/status", claim)
    assert status == 200, stored
    wait_bound(plane, "computes")


def allocated(plane: ControlPlane) -> list[dict[str, Any]]:
    return [
        claim
        for claim in read(plane, CLAIMS)["items"]
        if claim.get("status", {}).get("allocation") and claim["status"].get("reservedFor")
    ]


def scrape(process: SchedulerProcess, plane: ControlPlane, path: str) -> dict[str, Metric]:
    """Give the families that have samples, by the names that the page's TYPE lines have."""
    status, text = process.get(path, token=plane.token)
    assert status == 200
    return {
        f"{family.name}_total" if family.type == "counter" else family.name: family
        for family in text_string_to_metric_families(text)
        if family.samples
    }


def recorded(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text().splitlines()]


def not_here() -> list[str]:
    """Give the patterns of metrics that docs/metrics.md says are not here."""
    text = (ROOT / "docs/metrics.md").read_text()
    section = text.partition("## Not here")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`([a-z_0-9*]+)`", row.split("|")[1])]


def is_listed(name: str, patterns: list[str]) -> bool:
    return any(re.fullmatch(pattern.replace("*", ".*"), name) for pattern in patterns)


def labels_and_buckets(family: Metric) -> tuple[set[str], list[float]]:
    labels = {label for sample in family.samples for label in sample.labels}
    bounds = {float(s.labels["le"]) for s in family.samples if "le" in s.labels}
    return labels - {"le"}, sorted(bounds - {float("inf")})


def test_everything_kube_scheduler_shows_is_shown_or_listed_as_not_here(
    plane: ControlPlane, process: SchedulerProcess
) -> None:
    wait_for(
        "the last Pod is counted",
        lambda: (
            "scheduler_dra_bindingconditions_wait_duration_seconds"
            in scrape(process, plane, "/metrics")
        ),
    )
    shown = scrape(process, plane, "/metrics") | scrape(process, plane, "/metrics/resources")
    patterns = not_here()
    missing = []
    theirs = recorded("kube-scheduler-1.36.3.jsonl") + recorded("unseen-1.36.3.jsonl")
    for metric in theirs:
        name, ours = metric["name"], shown.get(metric["name"])
        if ours is None:
            if name not in EXPECTED_TO_STAY_UNSEEN and not is_listed(name, patterns):
                missing.append(name)
            continue
        assert not is_listed(name, patterns), name
        labels, buckets = labels_and_buckets(ours)
        assert ours.type == metric["type"], name
        assert labels == set(metric["labels"]), name
        assert buckets == pytest.approx(metric["buckets"], rel=1e-12), name
    assert missing == []


def test_what_is_listed_as_not_here_is_kube_schedulers() -> None:
    theirs = recorded("kube-scheduler-1.36.3.jsonl") + recorded("unseen-1.36.3.jsonl")
    names = [metric["name"] for metric in theirs]
    gated = re.compile("scheduler_(podgroup|async|pending_async)_.*")
    for pattern in not_here():
        assert gated.fullmatch(pattern) or any(is_listed(name, [pattern]) for name in names)


def test_points_and_events_have_kube_schedulers_names(
    plane: ControlPlane, process: SchedulerProcess
) -> None:
    numbers = itertools.count(1)

    def all_points_are_measured() -> bool:
        """One attempt in so many is measured, and PreFilter is asked in the first of a kind."""
        number = next(numbers)
        create_pod(plane, f"kind-{number}", cpu=f"{number}m")
        wait_bound(plane, f"kind-{number}")
        shown = scrape(process, plane, "/metrics")
        seconds = shown["scheduler_framework_extension_point_duration_seconds"]
        return {sample.labels["extension_point"] for sample in seconds.samples} >= {
            *("PreEnqueue", "PreFilter", "Filter", "PreScore", "Score"),
            *("Reserve", "PreBindPreFlight", "PreBind", "Bind"),
        }

    wait_for("all points are measured", all_points_are_measured)
    shown = scrape(process, plane, "/metrics")
    seconds = shown["scheduler_event_handling_duration_seconds"]
    events = {sample.labels["event"] for sample in seconds.samples}
    assert events >= {
        "AssignedPodAdd",
        "AssignedPodUpdate",
        "AssignedPodDelete",
        "NodeAdd",
        "UnschedulablePodAdd",
        "UnschedulablePodDelete",
        "PersistentVolumeClaimUpdate",
        "resource.k8s.io/ResourceClaimUpdate",
        "storage.k8s.io/StorageClassAdd",
    }


def test_the_manifest_allows_everything_that_is_done(
    plane: ControlPlane, process: SchedulerProcess
) -> None:
    calls = scrape(process, plane, "/metrics")["berthmaster_api_calls_total"]
    assert [s.labels for s in calls.samples if s.labels["code"] in ("401", "403")] == []
    assert "forbidden" not in process.log()


def test_conditions_say_which_generation_they_are_about(
    plane: ControlPlane, process: SchedulerProcess
) -> None:
    process.wait_line("Leading")
    create_pod(plane, "hopeless", "99")
    wait_for("the condition", lambda: conditions(plane, "hopeless"))
    [condition] = conditions(plane, "hopeless")
    assert condition["reason"] == "Unschedulable"
    assert condition["observedGeneration"] == pod(plane, "hopeless")["metadata"]["generation"]
