"""The cluster that the tests share, with Berthmaster in it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from deploy.image.engine import run_docker
from deploy.kind.chart import NAMESPACE, RELEASE
from deploy.programs.errors import DeployError
from tests.kind.api import Api, ApiAwayError, Object, RefusedError

SCHEDULER_PORT: Final = 10259
AGENT_PORT: Final = 10260
CONTROLLER_PORT: Final = 10261
READER: Final = "reader"
LEASE_PATH: Final = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{RELEASE}"
COMMAND_TIMEOUT_SECONDS = 120.0
_MARK: Final = "\nstatus "


class CommandError(AssertionError):
    """A program has failed; the message is what it wrote."""


class KindCluster:
    """A cluster of one control plane and two workers, and what is installed in it.

    Parameters
    ----------
    name
        As kind has it: nodes and their containers are named after it.
    kubeconfig
        The administrator's.
    programs
        Where kubectl and helm are.
    """

    def __init__(self, name: str, kubeconfig: Path, programs: Mapping[str, Path]) -> None:
        self.kubeconfig = kubeconfig
        self.api = Api(kubeconfig)
        self.control_plane = f"{name}-control-plane"
        self.workers = (f"{name}-worker", f"{name}-worker2")
        self._programs = programs

    def kubectl(self, *arguments: str, given: str | None = None) -> str:
        """Run kubectl as the administrator; give what it prints."""
        return self.run(self._programs["kubectl"], *arguments, given=given)

    def helm(self, *arguments: str) -> str:
        """Run helm as the administrator; give what it prints."""
        return self.run(self._programs["helm"], *arguments)

    def berthmaster(self, *arguments: str, codes: Collection[int] = (0,)) -> str:
        """Run our command line on this machine as the administrator; give what it prints."""
        return self.run(sys.executable, "-m", "berthmaster", *arguments, codes=codes)

    def typed(self, line: str) -> str:
        """Run a line in a shell that has our programs; give what it prints."""
        folders = [Path(sys.executable).parent, *(path.parent for path in self._programs.values())]
        path = ":".join([*map(str, dict.fromkeys(folders)), os.environ["PATH"]])
        return self.run("/bin/sh", "-euc", f"PATH={shlex.quote(path)}; {line}")

    def run(
        self,
        program: str | Path,
        *arguments: str,
        given: str | None = None,
        codes: Collection[int] = (0,),
    ) -> str:
        """Run a program with this cluster's kubeconfig; give what it prints.

        Parameters
        ----------
        codes
            One of them it has to exit with.

        Raises
        ------
        CommandError
            If it fails or takes too long.
        """
        try:
            done = subprocess.run(
                [program, *arguments],
                input=given or "",
                capture_output=True,
                text=True,
                check=False,
                timeout=COMMAND_TIMEOUT_SECONDS,
                env={**os.environ, "KUBECONFIG": str(self.kubeconfig), "NO_COLOR": "1"},
            )
        except subprocess.TimeoutExpired as error:
            raise CommandError(f"{Path(program).name} {' '.join(arguments)}: {error}") from error
        if done.returncode not in codes:
            raise CommandError(
                f"{Path(program).name} {' '.join(arguments)}: exit {done.returncode}\n"
                f"{done.stdout}{done.stderr}"
            )
        return done.stdout

    def on_node(self, node: str, *command: str, given: str | None = None) -> str:
        """Run a command on a node; give what it prints."""
        content = None if given is None else given.encode()
        options = ("-i",) if given is not None else ()
        return run_docker("exec", *options, node, *command, given=content)

    def pods_of(self, component: str) -> list[Object]:
        """List those Pods of a ``scheduler``, ``controller`` or ``agent`` that stay."""
        selector = f"app.kubernetes.io/instance={RELEASE},app.kubernetes.io/component={component}"
        found = self.api.items(f"/api/v1/namespaces/{NAMESPACE}/pods", labelSelector=selector)
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def agent_of(self, node: str) -> Object:
        """Give the agent's Pod of a node."""
        [agent] = [pod for pod in self.pods_of("agent") if pod["spec"].get("nodeName") == node]
        return agent

    def leader(self) -> str | None:
        """Name the Pod of the scheduler that holds the Lease; None if none does."""
        holder = (self.api.find(LEASE_PATH) or {}).get("spec", {}).get("holderIdentity") or ""
        # Its host's name, which is the Pod's, and a uuid.
        return holder.rpartition("_")[0] or None

    def log_of(self, pod_name: str, *options: str) -> str:
        """Give the log of one of Berthmaster's Pods."""
        return self.kubectl("logs", pod_name, f"--namespace={NAMESPACE}", *options)

    @cached_property
    def _reader_token(self) -> str:
        return self.api.token(NAMESPACE, READER, seconds=24 * 3600)

    def ask(self, pod: Object, port: int, path: str) -> str:
        """Give what one of Berthmaster's Pods serves, asked from within the cluster with a token.

        Raises
        ------
        ApiAwayError
            If it does not answer, or cannot now.
        RefusedError
            If its answer isn't 200.
        """
        url = f"https://{pod['status']['podIP']}:{port}{path}"
        given = f'header = "Authorization: Bearer {self._reader_token}"\n'
        options = ("--silent", "--show-error", "--insecure", "--max-time", "20", "--config", "-")
        command = ("curl", *options, "--write-out", f"{_MARK}%{{http_code}}", url)
        try:
            answer = self.on_node(self.control_plane, *command, given=given)
        except DeployError as error:
            raise ApiAwayError(f"GET {url}: {error}") from error
        text, _, status = answer.rpartition(_MARK)
        if status == "503":
            raise ApiAwayError(f"GET {url}: {text}")
        if status != "200":
            raise RefusedError(f"GET {url}", int(status), {"message": text})
        return text

    def ask_agent(self, node: str, path: str) -> Any:
        """Give what the agent of a node serves as JSON."""
        return json.loads(self.ask(self.agent_of(node), AGENT_PORT, path))

    def events_of(self, namespace: str, name: str, *, reason: str) -> list[Object]:
        """List the Events about an object with this reason."""
        selector = f"involvedObject.name={name},reason={reason}"
        return self.api.items(f"/api/v1/namespaces/{namespace}/events", fieldSelector=selector)
