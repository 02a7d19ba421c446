"""``berthmaster diagnose`` looks real clusters over: what it finds, and what it exits with."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.controlplane import ControlPlane, Reporter
from tests.integration import forked
from tests.integration.rest import create, read, request, wait_for
from tests.integration.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.integration

NODES = "/api/v1/nodes"
SHOP = "/api/v1/namespaces/shop"
INFRA = "/api/v1/namespaces/infra"
LEASES = "/apis/coordination.k8s.io/v1/namespaces"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
BAD = ("problem", "warning")
OURS = {"app.kubernetes.io/name": "berthmaster", "app.kubernetes.io/version": "1.2.3"}


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give a cluster of five Nodes: two that take anything, a tainted, a cordoned, a dead one."""
    state_dir = tmp_path_factory.mktemp("diagnose") / "state"
    with ControlPlane(state_dir, with_controller_manager=False, reporter=Reporter()) as running:
        for namespace in ("shop", "infra"):
            create(running, "/api/v1/namespaces", {"metadata": {"name": namespace}})
        taint = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}
        create_node(running, "small", "1")
        create_node(running, "large", "4")
        create_node(running, "batch", "8", taints=[taint])
        create_node(running, "cordoned", "16", unschedulable=True)
        unreachable = {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}
        create_node(running, "dead", "32", ready="Unknown", taints=[unreachable])
        yield running


@pytest.fixture(scope="module")
def scheduler(
    plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SchedulerProcess]:
    """Give a scheduler outside the cluster that has placed a Pod and found no Node for others."""
    for name in ("big-0", "big-1"):
        create(plane, f"{SHOP}/pods", pod(name, "9"))
    create(plane, f"{SHOP}/pods", pod("web", "3"))
    create(plane, f"{SHOP}/pods", pod("typo", "1", schedulerName="berthmastr"))
    create(plane, f"{SHOP}/pods", pod("gated", "1", schedulingGates=[{"name": "quota/shop"}]))
    arguments = ("--kubeconfig", str(plane.kubeconfig_path), "--secure-port", "0")
    with SchedulerProcess(tmp_path_factory.mktemp("log") / "log", *arguments) as running:
        running.wait_line("Leading")
        wait_for("web is bound", lambda: node_of(plane, "web"))
        wait_for("the others are judged", lambda: all(map(bool, messages(plane, "big-0", "big-1"))))
        yield running


def create_node(
    plane: ControlPlane, name: str, cpu: str, *, ready: str = "True", **spec: Any
) -> None:
    status = {
        "allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"},
        "conditions": [{"type": "Ready", "status": ready}],
        "nodeInfo": {"kubeletVersion": "v1.36.0"},
    }
    create(plane, NODES, {"metadata": {"name": name}, "spec": spec, "status": status})


def pod(name: str, cpu: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    spec = {"schedulerName": "berthmaster", "containers": [container], **spec}
    return {"metadata": {"name": name}, "spec": spec}


def at(seconds_ago: float, *, fraction: str = "") -> str:
    moment = datetime.now(UTC) - timedelta(seconds=seconds_ago)
    return moment.strftime(f"%Y-%m-%dT%H:%M:%S{fraction}Z")


def node_of(plane: ControlPlane, name: str) -> str:
    found: str = read(plane, f"{SHOP}/pods/{name}")["spec"].get("nodeName", "")
    return found


def messages(plane: ControlPlane, *names: str) -> list[str]:
    """Give what the PodScheduled conditions of Pods say, "" without one."""
    found = []
    for name in names:
        conditions = read(plane, f"{SHOP}/pods/{name}")["status"].get("conditions", [])
        found.append(next((c.get("message", "") for c in conditions), ""))
    return found


def set_status(plane: ControlPlane, path: str, status: dict[str, Any]) -> None:
    stored = read(plane, path)
    stored["status"] |= status
    code, answer = request(plane, "PUT", f"{path}/status", stored)
    assert code == 200, answer


def create_lease(plane: ControlPlane, namespace: str, name: str, holder: str, age: float) -> None:
    spec = {
        "holderIdentity": holder,
        "leaseDurationSeconds": 15,
        "renewTime": at(age, fraction=".%f"),
    }
    create(plane, f"{LEASES}/{namespace}/leases", {"metadata": {"name": name}, "spec": spec})


def diagnose(
    plane: ControlPlane, *arguments: str, kubeconfig: Path | None = None
) -> subprocess.CompletedProcess[str]:
    path = kubeconfig or plane.kubeconfig_path
    return forked.run("diagnose", "--kubeconfig", str(path), *arguments)


def report(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode in (0, 1), done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    is_wrong = any(each["severity"] in BAD for each in told["findings"])
    assert done.returncode == int(is_wrong)
    return told


class Findings:
    """What was found, by check."""

    def __init__(self, told: dict[str, Any]) -> None:
        self._told: list[dict[str, Any]] = told["findings"]

    def __contains__(self, check: str) -> bool:
        return any(each["check"] == check for each in self._told)

    def __getitem__(self, check: str) -> dict[str, Any]:
        """Give the one finding of a check."""
        [found] = [each for each in self._told if each["check"] == check]
        return found


def url_of(process: SchedulerProcess) -> str:
    port = process.wait_line("Serving securely").rpartition("port=")[2]
    return f"https://127.0.0.1:{port}"


def test_pending_pods_are_told_with_the_words_of_the_scheduler(
    plane: ControlPlane, scheduler: SchedulerProcess
) -> None:
    url = url_of(scheduler)
    told = report(diagnose(plane, "-n", "shop", "--server", url, "-o", "json"))
    found = Findings(told)
    assert told["verdict"] in BAD
    assert told["scope"] == {"namespace": "shop", "schedulerName": None, "lease": None}
    rejected = found["pods-unschedulable"]
    assert (rejected["count"], rejected["objects"]) == (2, ["shop/big-0", "shop/big-1"])
    [message, *_] = messages(plane, "big-0")
    # The scheduler says so at this moment, before it tries preemption.
    assert rejected["detail"][0] == message.partition(" no new claims")[0]
    assert rejected["detail"][1] == (
        "shop/big-0 asks for 9 of cpu; the largest Node has 8 when it is empty."
    )
    assert "scheduler-not-asked" not in found
    explained = subprocess.run(
        [
            *(sys.executable, "-m"),
            *rejected["nextCommand"].split(),
            *("--kubeconfig", str(plane.kubeconfig_path)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert explained.returncode == 0, explained.stderr
    assert "shop/big-0: fits on none of 5 Nodes" in explained.stdout
    gated = found["pods-gated"]
    assert (gated["severity"], gated["objects"]) == ("note", ["shop/gated"])
    assert "quota/shop" in gated["what"]
    assert "pods-not-tried" not in found


def test_a_name_that_nobody_serves_is_told_with_the_one_that_was_meant(
    plane: ControlPlane, scheduler: SchedulerProcess
) -> None:
    found = Findings(report(diagnose(plane, "-n", "shop", "--no-ask", "-o", "json")))
    unknown = found["scheduler-name-unknown"]
    assert unknown["objects"] == ["shop/typo"]
    assert "did you mean 'berthmaster'?" in unknown["what"]
    # What is to be typed next finds that Pod and no other.
    selector = unknown["nextCommand"].rpartition(" ")[2]
    listed = read(plane, f"{SHOP}/pods?fieldSelector={selector}")["items"]
    assert [each["metadata"]["name"] for each in listed] == ["typo"]
    narrowed = report(diagnose(plane, "--scheduler-name", "berthmaster", "-o", "json", "--no-ask"))
    assert "scheduler-name-unknown" not in Findings(narrowed)


def test_nodes_are_told_with_taints_and_the_room_that_is_left(
    plane: ControlPlane, scheduler: SchedulerProcess
) -> None:
    told = report(diagnose(plane, "--no-ask", "-o", "json", "--lease", "kube-system/berthmaster"))
    found = Findings(told)
    # The dead Node has been made a moment ago: its kubelet may still be coming.
    assert "nodes-not-ready" not in found
    assert found["nodes-cordoned"]["objects"] == ["cordoned"]
    assert found["nodes-tainted"]["detail"] == ["dedicated=batch:NoSchedule: 1 Node"]
    assert found["nodes"]["what"] == "3 of 5 Nodes can take new Pods."
    assert "kubelet-version-skew" not in found
    cpu, memory, pods = told["room"]
    # 1 + 4 + 8 CPUs are offered, and web has 3 of large's.
    assert node_of(plane, "web") == "large"
    assert (cpu["resource"], cpu["allocatable"], cpu["free"]) == ("cpu", 13000, 10000)
    assert (cpu["largestFree"], cpu["largestFreeNode"]) == (8000, "batch")
    assert (memory["resource"], memory["free"]) == ("memory", 3 * 8 * 2**30)
    assert pods["allocatable"] == 330
    cordoned = read(plane, f"{NODES}?fieldSelector=spec.unschedulable=true")["items"]
    assert [each["metadata"]["name"] for each in cordoned] == ["cordoned"]
    assert found["nodes-cordoned"]["nextCommand"].endswith("spec.unschedulable=true")


HOLDING = """
from berthmaster.plugin import NodePlugin, Pod, Wait


class Holding(NodePlugin):
    def permit(self, pod: Pod, node_name: str) -> Wait | None:
        return Wait(600) if pod.name == "held" else None
"""


def test_a_pod_that_a_plugin_holds_is_told_apart_from_one_that_evicts_others(
    plane: ControlPlane, tmp_path: Path
) -> None:
    (tmp_path / "holding.py").write_text(HOLDING)
    arguments = ("--kubeconfig", str(plane.kubeconfig_path), "--secure-port", "0")
    names = ("--scheduler-name", "holding", "--plugin", f"{tmp_path / 'holding.py'}:Holding")
    namespace = "/api/v1/namespaces/hold"
    create(plane, "/api/v1/namespaces", {"metadata": {"name": "hold"}})
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    create(plane, classes, {"metadata": {"name": "urgent"}, "value": 1000})
    for name in ("of-held", "of-victim"):
        taint = {"key": "only", "value": name, "effect": "NoSchedule"}
        create_node(plane, name, "2", taints=[taint])

    def placed(name: str, node_name: str, **spec: Any) -> None:
        tolerations = [{"key": "only", "value": node_name}]
        selector = {"nodeSelectorTerms": [{"matchFields": [field_of(node_name)]}]}
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}
        spec |= {"schedulerName": "holding", "tolerations": tolerations, "affinity": affinity}
        create(plane, f"{namespace}/pods", pod(name, "2", **spec))

    def status_of(name: str, field: str) -> Any:
        return read(plane, f"{namespace}/pods/{name}")["status"].get(field, "")

    with SchedulerProcess(tmp_path / "log", *arguments, *names) as running:
        running.wait_line("Leading")
        placed("victim", "of-victim", terminationGracePeriodSeconds=300)
        wait_for(
            "the victim is bound",
            lambda: read(plane, f"{namespace}/pods/victim")["spec"].get("nodeName"),
        )
        placed("preemptor", "of-victim", priorityClassName="urgent")
        placed("held", "of-held")
        wait_for("one is held", lambda: status_of("held", "nominatedNodeName"))
        wait_for("one evicts", lambda: status_of("preemptor", "nominatedNodeName"))
        wait_for("its victim", lambda: "Preemption" in str(status_of("victim", "conditions")))
        found = Findings(report(diagnose(plane, "-n", "hold", "--no-ask", "-o", "json")))
    assert found["pods-held"]["objects"] == ["hold/held on of-held"]
    assert found["pods-waiting-for-victims"]["objects"] == ["hold/preemptor on of-victim"]
    for name in ("of-held", "of-victim"):
        request(plane, "DELETE", f"{NODES}/{name}")


def field_of(node_name: str) -> dict[str, Any]:
    return {"key": "metadata.name", "operator": "In", "values": [node_name]}


def test_a_kubelet_that_has_just_stopped_is_told_before_its_node_is_called_not_ready(
    plane: ControlPlane,
) -> None:
    create_node(plane, "stopped", "1")
    create_lease(plane, "kube-node-lease", "stopped", "stopped", 45)
    told = report(diagnose(plane, "--no-ask", "-o", "json", "--lease", "infra/none"))
    silent = Findings(told)["nodes-silent"]
    assert (silent["objects"], silent["severity"]) == (["stopped"], "warning")
    assert silent["nextCommand"] == "kubectl -n kube-node-lease get lease stopped -o yaml"
    usable, _, count = Findings(told)["nodes"]["what"].partition(" of ")
    assert count == f"{len(read(plane, NODES)['items'])} Nodes can take new Pods."
    assert {each["largestFreeNode"] for each in told["room"]} <= {"batch", "large", "small"}
    request(plane, "DELETE", f"{NODES}/stopped")
    after = Findings(report(diagnose(plane, "--no-ask", "-o", "json", "--lease", "infra/none")))
    assert "nodes-silent" not in after
    # That Node was not among those that take Pods.
    assert after["nodes"]["what"].partition(" of ")[0] == usable


def test_a_scheduler_outside_the_cluster_is_told_by_its_lease(
    plane: ControlPlane, scheduler: SchedulerProcess
) -> None:
    found = Findings(report(diagnose(plane, "--scheduler-name", "berthmaster", "-o", "json")))
    leader = found["leader-elsewhere"]
    lease = read(plane, f"{LEASES}/kube-system/leases/berthmaster")
    assert lease["spec"]["holderIdentity"] in leader["what"]
    assert leader["severity"] == "note"
    assert "--server URL" in found["scheduler-not-asked"]["what"]


def test_leases_without_a_leader_are_problems(plane: ControlPlane) -> None:
    create_lease(plane, "kube-system", "berthmaster-stale", "gone_1", 3630)
    create_lease(plane, "kube-system", "berthmaster-free", "", 3600)
    create(plane, f"{SHOP}/pods", pod("waits", "1", schedulerName="stale"))
    stale = Findings(report(diagnose(plane, "--scheduler-name", "stale", "-o", "json")))
    assert stale["lease-stale"]["severity"] == "problem"
    assert (
        "kube-system/berthmaster-stale was renewed last 60 m ago by gone_1"
        in (stale["lease-stale"]["what"])
    )
    assert stale["pods-without-scheduler"]["objects"] == ["shop/waits"]
    free = Findings(report(diagnose(plane, "--scheduler-name", "free", "-o", "json")))
    assert free["lease-free"]["severity"] == "problem"
    none = Findings(report(diagnose(plane, "--lease", "infra/none", "-o", "json")))
    assert "no Lease infra/none" in none["no-scheduler"]["what"]


def test_events_of_ours_are_told_and_found_by_the_command(plane: ControlPlane) -> None:
    for controller in ("berthmaster-agent", "somebody-else"):
        event = {
            "metadata": {"name": f"of-{controller}"},
            "eventTime": at(60, fraction=".%f"),
            "type": "Warning",
            "reason": "KubeletDiverges",
            "action": "Comparing",
            "note": "The kubelet has not seen it.",
            "reportingController": controller,
            "reportingInstance": f"{controller}-0",
            "regarding": {"kind": "Pod", "namespace": "infra", "name": "lost", "apiVersion": "v1"},
        }
        create(plane, "/apis/events.k8s.io/v1/namespaces/infra/events", event)
    arguments = ("-n", "infra", "--lease", "infra/none", "-o", "json", "--no-ask")
    told = Findings(report(diagnose(plane, *arguments)))["warning-events"]
    assert told["objects"] == ["infra/lost"]
    assert re.fullmatch(
        r"berthmaster-agent: KubeletDiverges of infra/lost \(once, \d+ s ago\): "
        r"The kubelet has not seen it\.",
        told["detail"][0],
    )
    selector = told["nextCommand"].rpartition(" ")[2]
    listed = read(plane, f"{INFRA}/events?fieldSelector={selector}")["items"]
    assert [each["metadata"]["name"] for each in listed] == ["of-berthmaster-agent"]


def daemon(name: str, component: str, node_name: str, *arguments: str) -> dict[str, Any]:
    container = {
        "name": component,
        "image": "registry.example/berthmaster:1.2.3",
        "args": [component, *arguments],
        "volumeMounts": [{"name": "config", "mountPath": "/etc/berthmaster"}],
    }
    labels = {**OURS, "app.kubernetes.io/component": component}
    spec = {
        "schedulerName": "default-scheduler",
        "nodeName": node_name,
        "containers": [container],
        "volumes": [{"name": "config", "configMap": {"name": "of-gpu"}}],
    }
    return {"metadata": {"name": name, "labels": labels}, "spec": spec}


def ready(status: str) -> dict[str, Any]:
    long_ago = at(600)
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": long_ago}
    condition = {"type": "Ready", "status": status, "lastTransitionTime": long_ago}
    return {
        "phase": "Running",
        "startTime": long_ago,
        "podIP": "192.0.2.1",  # of a network for documentation: nobody answers
        "podIPs": [{"ip": "192.0.2.1"}],
        "conditions": [scheduled, condition],
    }


def test_replicas_in_the_cluster_are_known_by_what_they_were_told(plane: ControlPlane) -> None:
    configuration = {
        "leaderElection": {"resourceNamespace": "infra", "resourceName": "of-gpu"},
        "profiles": [{"schedulerName": "gpu"}],
    }
    data = {"scheduler.yaml": yaml.safe_dump(configuration)}
    create(plane, f"{INFRA}/configmaps", {"metadata": {"name": "of-gpu"}, "data": data})
    told = ("--config", "/etc/berthmaster/scheduler.yaml")
    for name, node in (("gpu-a", "small"), ("gpu-b", "large")):
        create(plane, f"{INFRA}/pods", daemon(name, "scheduler", node, *told))
    set_status(plane, f"{INFRA}/pods/gpu-a", ready("True"))
    set_status(plane, f"{INFRA}/pods/gpu-b", ready("False"))
    create_lease(plane, "infra", "of-gpu", "gpu-a_1", 0)
    arguments = ("--scheduler-name", "gpu", "--no-ask", "-o", "json")
    found = Findings(report(diagnose(plane, *arguments)))
    assert found["leader"]["severity"] == "ok"
    assert "of gpu is led by gpu-a_1 (Lease infra/of-gpu" in found["leader"]["what"]
    # It was made a moment ago, and may still be starting.
    assert found["replicas-not-ready"]["objects"] == ["infra/gpu-b"]
    assert found["replicas-not-ready"]["severity"] == "note"


def test_pods_with_a_node_are_told_by_what_they_wait_for(plane: ControlPlane) -> None:
    long_ago = at(600)
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": long_ago}
    unready = {"type": "Ready", "status": "False", "lastTransitionTime": long_ago}
    waiting = {"reason": "ImagePullBackOff", "message": "no such image"}
    container = {"name": "c", "image": "x", "imageID": "", "ready": False, "restartCount": 0}
    pulling = {
        "startTime": long_ago,
        "conditions": [
            scheduled,
            unready,
            {"type": "PodReadyToStartContainers", "status": "True"},
        ],
        "containerStatuses": [{**container, "state": {"waiting": waiting}}],
    }
    refused = {"phase": "Failed", "reason": "OutOfcpu", "message": "Node didn't have enough cpu"}
    statuses: dict[str, dict[str, Any]] = {
        "unseen": {"conditions": [scheduled]},
        "pulling": pulling,
        "refused": {**refused, "startTime": at(60), "conditions": []},
    }
    create(plane, "/api/v1/namespaces", {"metadata": {"name": "run"}})
    for name, status in statuses.items():
        create(plane, "/api/v1/namespaces/run/pods", pod(name, "100m", nodeName="small"))
        set_status(plane, f"/api/v1/namespaces/run/pods/{name}", status)
    arguments = ("-n", "run", "--lease", "infra/none", "--no-ask", "-o", "json")
    found = Findings(report(diagnose(plane, *arguments)))
    assert found["pods-kubelet-silent"]["objects"] == ["run/unseen on small"]
    assert found["pods-image-pull"]["detail"] == [
        "run/pulling on small: c: ImagePullBackOff: no such image"
    ]
    assert found["pods-refused"]["severity"] == "problem"
    assert "OutOfcpu" in found["pods-refused"]["detail"][0]
    for check in ("pods-kubelet-silent", "pods-image-pull", "pods-refused"):
        assert found[check]["nextCommand"].startswith("kubectl ")


def token_kubeconfig(plane: ControlPlane, path: Path, token: str, url: str = "") -> Path:
    authority = base64.b64encode(Path(plane.ca_path).read_bytes()).decode()
    cluster = {"server": url or plane.url, "certificate-authority-data": authority}
    document = {
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }
    path.write_text(yaml.safe_dump(document))
    path.chmod(0o600)
    return path


def test_who_may_see_one_namespace_is_told_what_is_missing(
    plane: ControlPlane, scheduler: SchedulerProcess, tmp_path: Path
) -> None:
    create(plane, f"{SHOP}/serviceaccounts", {"metadata": {"name": "dev"}})
    rule = {"apiGroups": [""], "resources": ["pods", "events"], "verbs": ["get", "list"]}
    create(plane, f"{RBAC}/namespaces/shop/roles", {"metadata": {"name": "dev"}, "rules": [rule]})
    binding = {
        "metadata": {"name": "dev"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "dev"},
        "subjects": [{"kind": "ServiceAccount", "name": "dev", "namespace": "shop"}],
    }
    create(plane, f"{RBAC}/namespaces/shop/rolebindings", binding)
    path = f"{SHOP}/serviceaccounts/dev/token"
    token = create(plane, path, {"spec": {}})["status"]["token"]
    kubeconfig = token_kubeconfig(plane, tmp_path / "kubeconfig", token)
    told = report(diagnose(plane, "-n", "shop", "-o", "json", kubeconfig=kubeconfig))
    assert Findings(told)["pods-unschedulable"]["objects"] == ["shop/big-0", "shop/big-1"]
    assert told["room"] is None
    missing = {(each["verb"], each["resource"], each["namespace"]) for each in told["unread"]}
    assert missing == {
        ("list", "pods", None),
        ("list", "nodes", None),
        ("list", "daemonsets.apps", None),
        ("get", "leases.coordination.k8s.io", "kube-system"),
        ("list", "schedulerprofiles.berthmaster.dev", None),
    }
    assert all(each["refused"] for each in told["unread"])
    everywhere = report(diagnose(plane, "-o", "json", kubeconfig=kubeconfig))
    assert ("list", "pods") in {(each["verb"], each["resource"]) for each in everywhere["unread"]}
    assert "pods-unschedulable" not in Findings(everywhere)


def test_what_people_read_begins_with_the_verdict(
    plane: ControlPlane, scheduler: SchedulerProcess
) -> None:
    arguments = ("-n", "shop", "--no-ask", "--scheduler-name", "berthmaster")
    wait_for(
        "Pods have waited for so long that it is a problem",
        lambda: "problem" in diagnose(plane, *arguments).stdout.partition("\n")[0],
        timeout_seconds=60,
    )
    done = diagnose(plane, *arguments)
    assert done.returncode == 1
    verdict, cluster, *rest = done.stdout.splitlines()
    assert re.match(r"\d+ problems?, ", verdict)
    assert cluster.startswith(f"{plane.url} (v1.")
    assert cluster.endswith("), namespace shop, schedulerName berthmaster")
    commands = [line.strip() for line in rest if line.strip().startswith("→")]
    assert "→ berthmaster explain pod big-0 -n shop --from-cluster" in commands
    assert done.stderr == ""


def test_one_clear_message_where_nothing_is_reached(plane: ControlPlane, tmp_path: Path) -> None:
    def refused(kubeconfig: Path) -> str:
        done = diagnose(plane, kubeconfig=kubeconfig)
        assert (done.returncode, done.stdout) == (2, "")
        [line] = done.stderr.splitlines()
        return line

    nowhere = token_kubeconfig(plane, tmp_path / "a", "t", "https://127.0.0.1:1")
    assert "the API server https://127.0.0.1:1 cannot be asked" in refused(nowhere)
    unknown = token_kubeconfig(plane, tmp_path / "b", "not-a-token")
    assert f"the API server {plane.url} does not know you: " in refused(unknown)
    assert str(tmp_path / "none") in refused(tmp_path / "none")


def test_a_server_that_does_not_answer_is_given_up(
    plane: ControlPlane, scheduler: SchedulerProcess
) -> None:
    plane.freeze("kube-apiserver")
    try:
        done = diagnose(plane)
    finally:
        plane.thaw("kube-apiserver")
    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    assert f"the API server {plane.url} cannot be asked: " in line
    assert "no answer within 10 s" in line


def test_a_reader_that_goes_away_is_no_fault(
    plane: ControlPlane, scheduler: SchedulerProcess
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        command = [sys.executable, "-m", "berthmaster", "diagnose", "--no-ask"]
        done = subprocess.run(
            [*command, "--kubeconfig", str(plane.kubeconfig_path)],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writing)
    assert "Traceback" not in done.stderr
