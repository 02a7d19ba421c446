"""A control plane with schedulers, a controller and agents that live through what dashboards show.

Two schedulers, of which one leads, and two agents: one of a Node whose Pods kwok runs, one of a
Node that nobody looks after, with a kubelet that has seen nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from aiohttp import web

from deploy.controlplane import ControlPlane, Reporter, pki
from kubeio.certificates import ServingCertificate
from node_agent.core.timestamps import format_nanoseconds
from tests.integration.agent_process import AgentProcess
from tests.integration.controller_objects import (
    LABEL,
    ControllerProcess,
    create_group,
    define_all,
)
from tests.integration.rest import create, read, request, wait_for
from tests.integration.scheduler_faults.loop_thread import LoopThread
from tests.integration.scheduler_process import SchedulerProcess
from tests.integration.test_live_refusals import refuse, wait_bound
from tests.monitoring.claiming_pods import live_with_claims, prepare_claims
from tests.monitoring.shipped import scrape_configuration
from tests.unit.kubeio.fake_api import Handler, serving
from tests.unit.node_agent.shell.kubelet.stub import StubKubelet

NODES: Final = "/api/v1/nodes"
PODS: Final = "/api/v1/namespaces/default/pods"
RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
ACCOUNTS: Final = "/api/v1/namespaces/default/serviceaccounts"
NODE: Final = "lively"
BARE_NODE: Final = "bare"
EVENTS: Final = "/api/v1/namespaces/default/events"
ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
NAMESPACE: Final = "berthmaster"
RELEASE: Final = "observed"
PLUGIN: Final = """
import time
from berthmaster.plugin import NodePlugin, Wait

class Odd(NodePlugin):
    def permit(self, pod, node_name):
        if pod.labels.get("plugin") == "holds":
            return Wait(0.5)

    def filter(self, pod, node):
        if pod.labels.get("plugin") == "raises":
            raise ValueError("on purpose")
        if pod.labels.get("plugin") == "is-slow":
            time.sleep(0.03)
"""
CONFIGURATION: Final = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "extenders": [
        {
            "urlPrefix": "http://127.0.0.1:9",  # nobody listens
            "filterVerb": "filter",
            "managedResources": [{"name": "example.com/licence", "ignoredByScheduler": True}],
        }
    ],
}
MANIFEST: Final = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "static"},
    "spec": {"containers": [{"name": "c", "image": "x"}]},
}
KUBELET_METRICS: Final = "process_start_time_seconds 1.78e+09\n" + "".join(
    f'kubelet_pod_start_{name}_seconds_bucket{{le="+Inf"}} 2\n'
    f"kubelet_pod_start_{name}_seconds_sum 3\n"
    f"kubelet_pod_start_{name}_seconds_count 2\n"
    for name in ("duration", "sli_duration", "total_duration")
)
PULLED: Final = 'Successfully pulled image "x" in 1ms (2ms including waiting). Image size: 1 bytes.'
POLICY: Final = {
    "matchConstraints": {
        "resourceRules": [
            {
                "apiGroups": ["events.k8s.io"],
                "apiVersions": ["v1"],
                "resources": ["events"],
                "operations": ["CREATE", "UPDATE"],
            }
        ]
    },
    "validations": [{"expression": '!object.regarding.name.matches("^(large|unseen)-")'}],
}
POLICY_BINDING: Final = {"policyName": "quiet", "validationActions": ["Deny"]}


@dataclass
class ObservedCluster:
    """What runs, and what a Prometheus needs to read it."""

    plane: ControlPlane
    schedulers: tuple[SchedulerProcess, ...]
    controller: ControllerProcess
    agents: dict[str, AgentProcess]
    kubelet: StubKubelet
    ca_path: Path
    token_path: Path
    rounds: int = 0

    def scrape_jobs(self) -> list[dict[str, Any]]:
        """Give the documented job, with targets as it would find them in a cluster."""
        [job] = scrape_configuration()["scrape_configs"]
        del job["kubernetes_sd_configs"]  # Debian 12's Prometheus is built without
        targets = [
            target("scheduler", process, pod=f"scheduler-{number}", node=f"server-{number}")
            for number, process in enumerate(self.schedulers)
        ]
        targets.append(target("controller", self.controller, pod="controller", node="server-0"))
        targets += [
            target("agent", process, pod=f"agent-{node}", node=node)
            for node, process in self.agents.items()
        ]
        return [
            {
                **job,
                "authorization": {"credentials_file": str(self.token_path)},
                "tls_config": {"ca_file": str(self.ca_path)},
                "static_configs": targets,
            }
        ]

    def live(self) -> None:
        """Let Pods come and go: scheduled, rejected, gated, failing, started, deleted."""
        self.rounds += 1
        names = {what: f"{what}-{self.rounds}" for what in ("web", "slow", "victim", "urgent")}
        write_pulled(self.plane, self._create(names["web"]))
        self._create(names["slow"], labels={"plugin": "is-slow"})
        self._create(f"held-{self.rounds}", labels={"plugin": "holds"})
        self._create(f"raises-{self.rounds}", labels={"plugin": "raises"})
        self._create(f"licenced-{self.rounds}", requests={"example.com/licence": "1"})
        self._create(f"large-{self.rounds}", requests={"cpu": "99"})
        self._create(f"gated-{self.rounds}", schedulingGates=[{"name": "example.com/gate"}])
        self._create(names["victim"], requests={"cpu": "3"}, priorityClassName="low")
        for what in ("web", "slow", "victim"):
            self._wait_ready(names[what])
        self._create(names["urgent"], requests={"cpu": "3"}, priorityClassName="high")
        self._wait_ready(names["urgent"])
        turned_away = f"turned-away-{self.rounds}"
        self._create(
            turned_away,
            nodeSelector={"kubernetes.io/hostname": BARE_NODE},
            tolerations=[{"operator": "Exists"}],  # it is unreachable after a while
        )
        wait_bound(self.plane, turned_away)
        refuse(self.plane, turned_away)
        live_with_claims(self.plane, NODE, self.rounds)
        self._live_with_a_group(f"group-{self.rounds}")
        for what in ("web", "urgent"):
            request(self.plane, "DELETE", f"{PODS}/{names[what]}")
        self._create(f"unseen-{self.rounds}", nodeName=BARE_NODE)

    def _live_with_a_group(self, name: str) -> None:
        """Run two Pods that start together."""
        create_group(self.plane, name, 2)
        members = [f"{name}-{number}" for number in range(2)]
        for member in members:
            self._create(member, labels={LABEL: name})
        for member in members:
            self._wait_ready(member)
            request(self.plane, "DELETE", f"{PODS}/{member}")

    def _create(
        self,
        name: str,
        *,
        labels: dict[str, str] | None = None,
        requests: dict[str, str] | None = None,
        **spec: Any,
    ) -> dict[str, Any]:
        amounts = requests or {"cpu": "10m"}
        extended = {key: amount for key, amount in amounts.items() if "/" in key}
        resources = {"requests": amounts, "limits": extended}
        container = {"name": "c", "image": "x", "resources": resources}
        body = {
            "schedulerName": "berthmaster",
            "nodeSelector": {"kubernetes.io/hostname": NODE},
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": False,
            "containers": [container],
            **spec,
        }
        metadata = {"name": name, "labels": labels or {}}
        return create(self.plane, PODS, {"metadata": metadata, "spec": body})

    def _wait_ready(self, name: str) -> None:
        """Wait until kwok runs a Pod; then its kubelet shows it."""

        def is_ready() -> bool:
            conditions = read(self.plane, f"{PODS}/{name}")["status"].get("conditions", [])
            return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)

        wait_for(f"{name} is ready", is_ready)
        pod = read(self.plane, f"{PODS}/{name}")
        annotations = pod["metadata"].setdefault("annotations", {})
        annotations["kubernetes.io/config.seen"] = format_nanoseconds(time.time_ns())
        annotations["kubernetes.io/config.source"] = "api"
        self.kubelet.pods.append(pod)


def target(
    component: str, process: SchedulerProcess, *, pod: str, node: str
) -> dict[str, list[str] | dict[str, str]]:
    """Give a process with the labels that Prometheus' discovery gives a Pod of the chart."""
    port = process.wait_line("Serving securely").rpartition("port=")[2]
    labels = {
        "namespace": NAMESPACE,
        "pod_name": pod,
        "pod_node_name": node,
        "pod_label_app_kubernetes_io_part_of": "berthmaster",
        "pod_label_app_kubernetes_io_component": component,
        "pod_label_app_kubernetes_io_instance": RELEASE,
        "pod_annotation_prometheus_io_scrape": "true",
        "pod_annotation_prometheus_io_port": port,
    }
    meta = {f"__meta_kubernetes_{name}": value for name, value in labels.items()}
    return {"targets": ["127.0.0.1:1"], "labels": meta}


@contextmanager
def observed_cluster(folder: Path) -> Iterator[ObservedCluster]:
    """Start all of it; files and logs go into `folder`."""
    with ExitStack() as stack:
        plane = ControlPlane(folder / "state", with_kwok=True, reporter=Reporter())
        stack.enter_context(plane)
        prepare(plane)
        kubelets = {node: StubKubelet(metrics=KUBELET_METRICS) for node in (NODE, BARE_NODE)}
        loop = stack.enter_context(LoopThread())
        access = (*serving_flags(folder), "--kubeconfig", str(plane.kubeconfig_path))
        flags = (*access, *scheduler_flags(folder))
        schedulers = tuple(
            stack.enter_context(SchedulerProcess(folder / f"scheduler-{number}.log", *flags))
            for number in range(2)
        )
        controller = stack.enter_context(ControllerProcess(folder / "controller.log", *access))
        agents = {}
        twins_url = serve(answer_twins, loop, stack)
        for node, kubelet in kubelets.items():
            urls = (serve(kubelet.answer, loop, stack, is_secure=True), twins_url)
            flags = (*access, *agent_flags(folder, node, *urls))
            agents[node] = stack.enter_context(AgentProcess(folder / f"{node}.log", *flags))
        token_path = folder / "token"
        token_path.write_text(scraper_token(plane))
        ca_path = folder / "ca.crt"
        yield ObservedCluster(
            plane, schedulers, controller, agents, kubelets[NODE], ca_path, token_path
        )


def serve(handler: Handler, loop: LoopThread, stack: ExitStack, *, is_secure: bool = False) -> str:
    """Let somebody answer on loopback until `stack` is left; give the URL."""
    certificate = ServingCertificate(None, None, names=("127.0.0.1",)) if is_secure else None
    server = serving(handler, context=certificate.context if certificate else None)
    url = loop.run(server.__aenter__())
    stack.callback(lambda: loop.run(server.__aexit__(None, None, None)))
    return url


async def answer_twins(_: web.Request) -> web.Response:
    """Give manifests of two Pods with one name."""
    return web.json_response({"kind": "PodList", "apiVersion": "v1", "items": [MANIFEST] * 2})


def write_pulled(plane: ControlPlane, pod: dict[str, Any]) -> None:
    """Say that a Pod's image was pulled, as its kubelet does."""
    reference = {key: pod["metadata"][key] for key in ("namespace", "name", "uid")}
    event = {
        "metadata": {"generateName": "pulled-"},
        "involvedObject": {"kind": "Pod", **reference, "fieldPath": "spec.containers{c}"},
        "reason": "Pulled",
        "message": PULLED,
        "type": "Normal",
        "lastTimestamp": f"{format_nanoseconds(time.time_ns())[:19]}Z",
        "source": {"component": "kubelet", "host": NODE},
    }
    create(plane, EVENTS, event)


def prepare(plane: ControlPlane) -> None:
    """Make Nodes, priorities, and a policy that lets nobody write Events of some Pods."""
    define_all(plane)
    for name, value in (("high", 1000), ("low", 1)):
        priority = {"metadata": {"name": name}, "value": value}
        create(plane, "/apis/scheduling.k8s.io/v1/priorityclasses", priority)
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    for name, annotated in ((NODE, {"kwok.x-k8s.io/node": "fake"}), (BARE_NODE, {})):
        labels = {"kubernetes.io/hostname": name}
        metadata = {"name": name, "labels": labels, "annotations": annotated}
        status = {"allocatable": room, "capacity": room}
        create(plane, NODES, {"metadata": metadata, "status": status})
    prepare_claims(plane, NODE)
    for kind, spec in (("ies", POLICY), ("ybindings", POLICY_BINDING)):
        path = f"{ADMISSION}/validatingadmissionpolic{kind}"
        create(plane, path, {"metadata": {"name": "quiet"}, "spec": spec})
    wait_for(
        "the ServiceAccount is there",
        lambda: request(plane, "GET", f"{ACCOUNTS}/default")[0] == 200,
    )


def serving_flags(folder: Path) -> tuple[str, ...]:
    """Make a certificate that can be verified, once, and give the flags to serve with it."""
    certificate, key = folder / "tls.crt", folder / "tls.key"
    authority = pki.create_authority()
    pair = pki.create_serving(authority)
    (folder / "ca.crt").write_bytes(authority.certificate)
    certificate.write_bytes(pair.certificate)
    key.write_bytes(pair.key)
    return (
        *("--bind-address", "127.0.0.1", "--secure-port", "0"),
        *("--tls-cert-file", str(certificate), "--tls-private-key-file", str(key)),
    )


def scheduler_flags(folder: Path) -> tuple[str, ...]:
    """Give the scheduler a plugin that misbehaves and an extender that is away."""
    plugin, configuration = folder / "odd.py", folder / "scheduler.yaml"
    plugin.write_text(PLUGIN)
    configuration.write_text(yaml.safe_dump(CONFIGURATION))
    return ("--config", str(configuration), "--plugin", f"{plugin}:Odd")


def agent_flags(folder: Path, node: str, kubelet_url: str, manifests_url: str) -> tuple[str, ...]:
    """Give the agent its kubelet, and manifests, not all of which give a Pod."""
    manifests = folder / f"{node}-manifests"
    manifests.mkdir()
    (manifests / "static.yaml").write_text(yaml.safe_dump(MANIFEST))
    (manifests / "bad.yaml").write_text("kind: [")
    return (
        *("--node-name", node, "--static-pod-path", str(manifests), "--read-events"),
        *("--static-pod-url", manifests_url, "--http-check-frequency=1s"),
        *("--kubelet-url", kubelet_url, "--kubelet-insecure-tls", "--kubelet-poll-interval=1s"),
        *(
            "--file-check-frequency=1s",
            "--http-check-frequency=1s",
            "--write-events",
            "--write-events-after=1s",
        ),
    )


def scraper_token(plane: ControlPlane) -> str:
    """Make an account that may read metrics and nothing else, as the chart does; give a token."""
    create(plane, ACCOUNTS, {"metadata": {"name": "scraper"}})
    rules = [{"nonResourceURLs": ["/metrics", "/metrics/resources"], "verbs": ["get"]}]
    create(plane, f"{RBAC}/clusterroles", {"metadata": {"name": "reader"}, "rules": rules})
    subject = {"kind": "ServiceAccount", "name": "scraper", "namespace": "default"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"}
    binding = {"metadata": {"name": "reader"}, "roleRef": role, "subjects": [subject]}
    create(plane, f"{RBAC}/clusterrolebindings", binding)
    answer = create(plane, f"{ACCOUNTS}/scraper/token", {"spec": {}})
    token: str = answer["status"]["token"]
    return token
