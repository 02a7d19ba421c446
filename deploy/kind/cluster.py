"""A cluster of containers: made, looked at and removed with the programs kind and kubectl."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from deploy.image.engine import run_docker
from deploy.image.logged import run_logged
from deploy.kind import network
from deploy.kind.layout import KindDirectory
from deploy.programs.errors import DeployError
from deploy.programs.reporting import Reporter

# The label that kind gives the container of a node.
CLUSTER_LABEL = "io.x-k8s.kind.cluster"
POD_RANGES_TIMEOUT_SECONDS = 120.0
READY_TIMEOUT_SECONDS = 180
KUBECTL_TIMEOUT_SECONDS = 30.0
POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Container:
    """The container of a node; ``state`` is e.g. ``running``, ``exited`` or ``paused``."""

    name: str
    state: str


class Cluster:
    """A cluster by its name.

    Parameters
    ----------
    name
        As kind has it; the nodes' names begin with it.
    directory
        Where its kubeconfig and logs are.
    programs
        Where kind, kubectl and helm are.
    reporter
        Where progress is written.
    """

    def __init__(
        self,
        name: str,
        directory: KindDirectory,
        programs: Mapping[str, Path],
        reporter: Reporter,
    ) -> None:
        self.name = name
        self.directory = directory
        self._programs = programs
        self._reporter = reporter

    def containers(self) -> list[Container]:
        """List the containers of its nodes; none if there is no such cluster."""
        listing = run_docker(
            *("ps", "--all", "--filter", f"label={CLUSTER_LABEL}={self.name}"),
            *("--format", "{{.Names}} {{.State}}"),
        )
        return [Container(*line.split()) for line in sorted(listing.splitlines())]

    def make(self, image: str, configuration: Mapping[str, Any]) -> None:
        """Make it; its nodes are not ready yet."""
        path = self.directory.path / "kind.yaml"
        path.write_text(yaml.safe_dump(configuration, sort_keys=False))
        try:
            self.run(
                "kind",
                *("create", "cluster", "--name", self.name, "--image", image),
                *("--config", path),
                saying="making the cluster",
            )
        finally:
            path.unlink(missing_ok=True)
        self.directory.kubeconfig.chmod(0o600)

    def remove(self) -> None:
        """Remove its containers and what the kubeconfig says of it, whatever state they are in."""
        self.run("kind", "delete", "cluster", "--name", self.name, saying="removing the cluster")

    def wake(self) -> None:
        """Start the nodes that were stopped or paused."""
        for container in self.containers():
            if container.state == "paused":
                self._reporter.step(f"waking {container.name}")
                run_docker("unpause", container.name)
            elif container.state != "running":
                self._reporter.step(f"starting {container.name}, which is {container.state}")
                run_docker("start", container.name)

    def connect_pods(self) -> None:
        """Give each node its network configuration and its routes; does no harm a second time."""
        ranges = self._wait_for_pod_ranges()
        for name, pod_range in ranges.items():
            self._write(name, network.SCRIPT, network.SCRIPT_TEXT)
            self._write(name, f"/etc/systemd/system/{network.UNIT}", network.UNIT_TEXT)
            self._write(name, network.ROUTES, network.routes_of(name, ranges))
            run_docker("exec", name, "systemctl", "enable", "--quiet", network.UNIT)
            run_docker("exec", name, "systemctl", "restart", network.UNIT)
            self._write(name, network.CONFLIST, network.network_configuration(pod_range))

    def wait_ready(self) -> None:
        """Wait until every Node is ready."""
        self.run(
            "kubectl",
            *("wait", "node", "--all", "--for=condition=Ready"),
            f"--timeout={READY_TIMEOUT_SECONDS}s",
            saying="waiting until the nodes are ready",
        )

    def wait_for_names(self) -> None:
        """Wait until Pods can look up names."""
        self.run(
            "kubectl",
            *("rollout", "status", "deployment/coredns", "--namespace", "kube-system"),
            f"--timeout={READY_TIMEOUT_SECONDS}s",
            saying="waiting until CoreDNS is ready",
        )

    def load(self, images: Sequence[str]) -> None:
        """Put images of the Docker engine into every node's store; those that are there stay."""
        self.run(
            "kind",
            *("load", "docker-image", "--name", self.name, *images),
            saying=f"loading {', '.join(images)} into the nodes",
        )

    def get(self, *arguments: str) -> Any:
        """Ask the API server for objects, e.g. ``"nodes"``; give what it answers.

        Raises
        ------
        DeployError
            If it doesn't answer, or not in time.
        """
        timeout = f"--request-timeout={KUBECTL_TIMEOUT_SECONDS:.0f}s"
        try:
            done = subprocess.run(
                [str(self._programs["kubectl"]), "get", *arguments, "--output=json", timeout],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=KUBECTL_TIMEOUT_SECONDS + 5,
                check=False,
                env=self._environment(),
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DeployError(f"kubectl get: {error}") from error
        if done.returncode != 0:
            raise DeployError(f"kubectl get {arguments[0]}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def command(self, program: str) -> str:
        """Name a program as a person would type it: its path, unless PATH has that very one."""
        path = self._programs[program]
        found = shutil.which(program)
        return program if found and Path(found).absolute() == path else shlex.quote(str(path))

    def run(self, program: str, *arguments: str | Path, saying: str) -> None:
        """Run kind, kubectl or helm on this cluster; what it prints goes to its log."""
        run_logged(
            [self._programs[program], *arguments],
            log=self.directory.log(program),
            saying=saying,
            reporter=self._reporter,
            environment=self._environment(),
        )

    def _environment(self) -> dict[str, str]:
        # Never the user's own kubeconfig. kind goes by Docker even where podman is set up.
        return {
            **os.environ,
            "KUBECONFIG": str(self.directory.kubeconfig),
            "KIND_EXPERIMENTAL_PROVIDER": "docker",
        }

    def _wait_for_pod_ranges(self) -> dict[str, str]:
        deadline_seconds = time.monotonic() + POD_RANGES_TIMEOUT_SECONDS
        expected = {container.name for container in self.containers()}
        while True:
            self._reporter.progress("waiting until the nodes have addresses for their Pods")
            ranges = network.read_pod_ranges(self.get("nodes"))
            if ranges is not None and expected <= ranges.keys():
                return ranges
            if time.monotonic() > deadline_seconds:
                raise DeployError("the nodes have no addresses for their Pods")
            time.sleep(POLL_SECONDS)

    def _write(self, node: str, path: str, content: str) -> None:
        """Write a file on a node, complete or not at all."""
        script = 'mkdir -p "$(dirname "$0")" && cat > "$0.new" && mv "$0.new" "$0"'
        run_docker("exec", "-i", node, "sh", "-euc", script, path, given=content.encode())
