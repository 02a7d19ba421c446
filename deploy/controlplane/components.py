"""The programs of the control plane: their command lines, files and readiness probes.

etcd listens on sockets in the state directory and on no port: without authentication of its own, a
port would show every Secret to every user of the machine. The other servers listen on 127.0.0.1 and
serve a certificate of the control plane's own authority, so that a probe can't be answered by
somebody else's server on the same port.
"""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass
from pathlib import Path

import yaml

from deploy.controlplane import pki
from deploy.controlplane.layout import ETCD_SOCKET, StateDirectory
from deploy.controlplane.probes import Probe
from deploy.controlplane.record import Record
from deploy.programs.private_files import write_private

STAGES = Path(__file__).resolve().parents[1] / "kwok"
KWOK_NODE_ANNOTATION = "kwok.x-k8s.io/node=fake"
SERVICE_CIDR = "10.96.0.0/16"
SERVICE_ACCOUNT_ISSUER = "https://kubernetes.default.svc"
DEFAULT_PORTS = {"kube-apiserver": 18443, "kube-controller-manager": 18457, "kwok": 18447}
# A file name with a port: etcd and grpc insist on host:port even where the "host" is a path.
ETCD_CLIENT_SOCKET = f"{ETCD_SOCKET}:1"
ETCD_PEER_SOCKET = f"{ETCD_SOCKET}:2"


@dataclass(frozen=True, slots=True)
class Component:
    """How to run one program and ask it whether it is ready."""

    name: str
    arguments: tuple[str, ...]
    probe: Probe


def describe(name: str, record: Record, directory: StateDirectory) -> Component:
    """Describe a component of the control plane that ``record`` tells of."""
    return _DESCRIBERS[name](record, directory)


def write_files(record: Record, directory: StateDirectory) -> None:
    """Write certificates (once: they outlive a restart), tokens and kubeconfigs."""
    if not directory.service_account_public_key.exists():
        _write_certificates(directory)
    write_private(
        directory.tokens,
        f"{record.token},admin,admin,system:masters\n"
        f"{record.controller_manager_token},system:kube-controller-manager,kcm\n",
    )
    write_private(directory.kubeconfig, kubeconfig(record, directory, {"token": record.token}))
    write_private(
        _controller_manager_kubeconfig(directory),
        kubeconfig(record, directory, {"token": record.controller_manager_token}),
    )


def kubeconfig(record: Record, directory: StateDirectory, user: dict[str, str]) -> str:
    """Write a kubeconfig's text for ``user``, the content of its ``user`` field."""
    authority = base64.b64encode(directory.authority.read_bytes()).decode()
    name = "berthmaster-local"
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": name,
                    "cluster": {"server": record.url, "certificate-authority-data": authority},
                }
            ],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        },
        sort_keys=False,
    )


def new_token() -> str:
    """Make a bearer token of 256 random bits."""
    return secrets.token_urlsafe(32)


def _write_certificates(directory: StateDirectory) -> None:
    authority = pki.create_authority()
    serving = pki.create_serving(authority)
    front_proxy_authority = pki.create_authority()
    service_account_key, service_account_public_key = pki.create_service_account_key()
    write_private(directory.authority, authority.certificate)
    write_private(directory.authority_key, authority.key)
    # Its key is thrown away: no one can act as an aggregating proxy. Servers that delegate their
    # authentication to the API server look for the certificate and complain without one.
    write_private(directory.front_proxy_authority, front_proxy_authority.certificate)
    write_private(directory.serving, serving.certificate)
    write_private(directory.serving_key, serving.key)
    write_private(directory.service_account_key, service_account_key)
    # Last: write_files takes it as the sign that all are there.
    write_private(directory.service_account_public_key, service_account_public_key)


def _etcd(record: Record, directory: StateDirectory) -> Component:
    client, peer = f"unix://{ETCD_CLIENT_SOCKET}", f"unix://{ETCD_PEER_SOCKET}"
    arguments = (
        "--name=berthmaster-local",
        f"--data-dir={directory.etcd_data}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=berthmaster-local={peer}",
        "--quota-backend-bytes=8589934592",  # the default of 2 GiB is too little for 50,000 Pods
        "--unsafe-no-fsync",  # the data needn't outlive a power failure
        "--log-level=warn",
    )
    del record
    return Component(
        "etcd", arguments, Probe("/readyz", socket=directory.path / ETCD_CLIENT_SOCKET)
    )


def _apiserver(record: Record, directory: StateDirectory) -> Component:
    port = record.ports["kube-apiserver"]
    arguments = [
        f"--etcd-servers=unix://{ETCD_CLIENT_SOCKET}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",  # else it looks for a default route, and fails offline
        f"--tls-cert-file={directory.serving}",
        f"--tls-private-key-file={directory.serving_key}",
        f"--client-ca-file={directory.authority}",
        f"--requestheader-client-ca-file={directory.front_proxy_authority}",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--token-auth-file={directory.tokens}",
        f"--service-account-key-file={directory.service_account_public_key}",
        f"--service-account-signing-key-file={directory.service_account_key}",
        f"--service-account-issuer={SERVICE_ACCOUNT_ISSUER}",
        f"--service-cluster-ip-range={SERVICE_CIDR}",
        "--authorization-mode=Node,RBAC",
        "--endpoint-reconciler-type=none",
        "--allow-privileged=true",
        "--max-requests-inflight=4000",
        "--max-mutating-requests-inflight=2000",
    ]
    if not record.shape.with_kwok:
        # It taints each new Node as not ready, and without kwok nothing would make it ready.
        arguments.append("--disable-admission-plugins=TaintNodesByCondition")
    if not record.shape.with_controller_manager:
        # It refuses Pods until a controller has made their namespace's service account.
        arguments.append("--disable-admission-plugins=ServiceAccount")
    probe = Probe(
        "/readyz",
        port=port,
        authority=directory.authority,
        headers={"Authorization": f"Bearer {record.token}"},
    )
    return Component("kube-apiserver", (*arguments, *record.shape.apiserver_args), probe)


def _controller_manager(record: Record, directory: StateDirectory) -> Component:
    port = record.ports["kube-controller-manager"]
    controllers = record.shape.controllers or (
        # Without kwok no Node has heartbeats, and node-lifecycle would taint them all.
        "*,-node-ipam-controller"
        if record.shape.with_kwok
        else "*,-node-ipam-controller,-node-lifecycle-controller"
    )
    configuration = _controller_manager_kubeconfig(directory)
    arguments = (
        f"--kubeconfig={configuration}",
        f"--authentication-kubeconfig={configuration}",
        f"--authorization-kubeconfig={configuration}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        f"--tls-cert-file={directory.serving}",
        f"--tls-private-key-file={directory.serving_key}",
        f"--root-ca-file={directory.authority}",
        f"--service-account-private-key-file={directory.service_account_key}",
        "--leader-elect=false",
        "--use-service-account-credentials=true",  # each controller has RBAC rules of its own
        f"--controllers={controllers}",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    )
    probe = Probe("/healthz", port=port, authority=directory.authority)
    return Component("kube-controller-manager", arguments, probe)


def _kwok(record: Record, directory: StateDirectory) -> Component:
    port = record.ports["kwok"]
    arguments = (
        f"--kubeconfig={directory.kubeconfig}",
        f"--manage-nodes-with-annotation-selector={KWOK_NODE_ANNOTATION}",
        f"--server-address=127.0.0.1:{port}",
        f"--tls-cert-file={directory.serving}",
        f"--tls-private-key-file={directory.serving_key}",
        "--node-ip=127.0.0.1",
        f"--node-port={port}",
        "--cidr=10.64.0.0/10",
        "--node-lease-duration-seconds=40",
        *(f"--config={stage}" for stage in sorted(STAGES.glob("*.yaml"))),
    )
    return Component("kwok", arguments, Probe("/healthz", port=port, authority=directory.authority))


def _controller_manager_kubeconfig(directory: StateDirectory) -> Path:
    return directory.component_kubeconfigs / "kube-controller-manager"


_DESCRIBERS = {
    "etcd": _etcd,
    "kube-apiserver": _apiserver,
    "kube-controller-manager": _controller_manager,
    "kwok": _kwok,
}
