"""Users' plugins in the real process on a real API server: configured, fed, failing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deploy.controlplane import ControlPlane, Reporter
from tests.integration.rest import create, read, request, wait_for
from tests.integration.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.integration

NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps"
EXAMPLES = Path(__file__).parents[2] / "examples"
AT_ONCE = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
BROKEN = """
from berthmaster.plugin import NodePlugin

class Broken(NodePlugin):
    def filter(self, pod, node):
        if pod.labels.get("hit") == "me":
            raise ValueError("on purpose")
"""

Manifest = dict[str, Any]


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    state_dir = tmp_path_factory.mktemp("live-plugins") / "state"
    with ControlPlane(state_dir, with_controller_manager=False, reporter=Reporter()) as running:
        for name in ("a", "b"):
            create(running, NODES, node(name))
        yield running


@pytest.fixture(autouse=True)
def no_pods(plane: ControlPlane) -> Iterator[None]:
    yield
    for path in (PODS, EVENTS):
        request(plane, "DELETE", path, AT_ONCE)
    wait_for("no Pod is left", lambda: read(plane, PODS)["items"] == [])


def node(name: str) -> Manifest:
    return {
        "metadata": {"name": name, "labels": {"zone": name}},
        "status": {"allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110"}},
    }


def create_pod(plane: ControlPlane, name: str, labels: Manifest | None = None) -> None:
    container = {"name": "main", "image": "main"}
    spec = {"schedulerName": "berthmaster", "containers": [container]}
    create(plane, PODS, {"metadata": {"name": name, "labels": labels or {}}, "spec": spec})


def node_of(plane: ControlPlane, name: str) -> str:
    spec: Manifest = read(plane, f"{PODS}/{name}")["spec"]
    return str(spec.get("nodeName", ""))


def is_on(plane: ControlPlane, name: str, node_name: str) -> bool:
    return node_of(plane, name) == node_name


def notes_of(plane: ControlPlane, name: str) -> list[str]:
    events = read(plane, EVENTS)["items"]
    return [e["note"] for e in events if e["regarding"]["name"] == name]


def running(plane: ControlPlane, tmp_path: Path, *arguments: str) -> SchedulerProcess:
    login = ("--kubeconfig", str(plane.kubeconfig_path), "--leader-elect=false", "-v", "2")
    serving = ("--secure-port", "0", "--bind-address", "127.0.0.1", "--authorization", "none")
    return SchedulerProcess(tmp_path / "log", *login, *serving, *arguments)


def test_a_denylist_in_a_config_map_takes_effect_at_once(
    plane: ControlPlane, tmp_path: Path
) -> None:
    with running(plane, tmp_path, "--plugin", f"{EXAMPLES}/denylist.py:Denylist") as scheduler:
        scheduler.wait_line("Serving securely")
        denied = {"metadata": {"name": "node-denylist"}, "data": {"nodes": "a\nb"}}
        create(plane, CONFIG_MAPS, denied)
        # The list comes by a watch of its own: Pods are created until one meets it.
        numbers = iter(range(100))

        def is_denied() -> bool:
            name = f"early-{next(numbers)}"
            create_pod(plane, name)
            wait_for(name, lambda: node_of(plane, name) or notes_of(plane, name))
            return not node_of(plane, name)

        wait_for("the list", is_denied)
        create_pod(plane, "denied")
        expected = "0/2 nodes are available: 2 node(s) were on the denylist."
        wait_for("the reason", partial(has_note, plane, "denied", expected))
        path = f"{CONFIG_MAPS}/node-denylist"
        request(plane, "PUT", path, {**denied, "data": {"nodes": "b"}})
        wait_for("a place", lambda: node_of(plane, "denied") == "a")
        request(plane, "DELETE", path)


def has_note(plane: ControlPlane, name: str, text: str) -> bool:
    return any(text in note for note in notes_of(plane, name))


def test_a_plugin_that_raises_hurts_nobody_else(plane: ControlPlane, tmp_path: Path) -> None:
    path = tmp_path / "broken_filter.py"
    path.write_text(BROKEN)
    with running(plane, tmp_path, "--plugin", f"{path}:Broken") as one:
        create_pod(plane, "hit", {"hit": "me"})
        create_pod(plane, "other")
        wait_for("the other", lambda: node_of(plane, "other"))
        expected = 'plugin "Broken" failed in filter of Node a: ValueError: on purpose'
        wait_for("the reason", partial(has_note, plane, "hit", expected))
        assert 'raise ValueError("on purpose")' in one.log()
        failures = 'berthmaster_custom_plugin_failures_total{plugin="Broken",point="filter"}'
        assert failures in one.get("/metrics")[1]
        conditions = read(plane, f"{PODS}/hit")["status"]["conditions"]
        assert [c["reason"] for c in conditions if c["type"] == "PodScheduled"] == [
            "SchedulerError"
        ]


def test_a_plugin_is_configured_by_the_file(plane: ControlPlane, tmp_path: Path) -> None:
    configuration = tmp_path / "scheduler.yaml"
    configuration.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\n"
        "kind: KubeSchedulerConfiguration\n"
        "profiles:\n"
        "- pluginConfig:\n"
        "  - name: EnergyPrice\n"
        "    args: {label: zone, prices: {a: 0.5, b: 0.1}}\n"
        "  plugins:\n"
        "    multiPoint: {enabled: [{name: EnergyPrice, weight: 10}]}\n"
    )
    plugin = ("--plugin", f"{EXAMPLES}/energy_price.py:EnergyPrice")
    with running(plane, tmp_path, "--config", str(configuration), *plugin):
        for number in range(3):
            create_pod(plane, f"p{number}")
        for number in range(3):
            wait_for("a place", partial(is_on, plane, f"p{number}", "b"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--plugin", "nowhere"), "--plugin nowhere: write package.module:Class"),
        (
            ("--plugin", f"{EXAMPLES}/energy_price.py:EnergyPrice"),
            "plugin EnergyPrice needs arguments in pluginConfig: Object missing required field",
        ),
    ],
)
def test_mistakes_end_it_with_exit_code_2(
    tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    with SchedulerProcess(tmp_path / "log", *arguments) as scheduler:
        assert scheduler.wait_exit() == 2
        assert scheduler.log().startswith(f"Error: {said}")


LEAVING = """
import sys
from berthmaster.plugin import NodePlugin, Wait

class Leaving(NodePlugin):
    def permit(self, pod, node_name):
        match pod.labels.get("do"):
            case "exit":
                sys.exit(3)
            case "wait-for-a-text":
                return Wait("5")

    async def pre_bind(self, pod, node_name):
        if pod.labels.get("do") == "exit-later":
            sys.exit(3)
"""


def test_no_plugin_ends_the_process(plane: ControlPlane, tmp_path: Path) -> None:
    path = tmp_path / "leaving_plugin.py"
    path.write_text(LEAVING)
    with running(plane, tmp_path, "--plugin", f"{path}:Leaving") as one:
        one.wait_line("Serving securely")
        for name, do in (("a", "exit"), ("b", "wait-for-a-text"), ("c", "exit-later")):
            create_pod(plane, name, {"do": do})
        for name, point in (("a", "permit"), ("b", "permit"), ("c", "pre_bind")):
            text = f'plugin "Leaving" failed in {point}: '
            wait_for(f"why {name} waits", partial(has_note, plane, name, text))
        create_pod(plane, "other")
        wait_for("a place for others", lambda: node_of(plane, "other"))


def test_a_plugin_allows_a_pod_that_it_has_held_back(plane: ControlPlane, tmp_path: Path) -> None:
    with running(plane, tmp_path, "--plugin", f"{EXAMPLES}/pairs.py:Pairs") as one:
        one.wait_line("Serving securely")
        create_pod(plane, "first", {"example.com/pair": "db"})
        create_pod(plane, "other", {"example.com/pair": "web"})
        create_pod(plane, "second", {"example.com/pair": "db"})
        for name in ("first", "second"):
            wait_for(f"a place for {name}", partial(node_of, plane, name))
        assert node_of(plane, "other") == ""
