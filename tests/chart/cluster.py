"""A real API server, as a release's processes and its neighbours see it."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import yaml

from deploy.controlplane import ControlPlane
from tests.chart.rendering import Document, Helm, find, parse
from tests.integration.rest import TIMEOUT_SECONDS, create, read, request, wait_for
from tests.integration.scheduler_process import SchedulerProcess

_CRDS: Final = Path(__file__).parent / "crds"
_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
# What others write all the time.
_RESTLESS: Final = frozenset({"events", "componentstatuses", "leases/kube-system"})

Key = tuple[str, str, str]


def add_kinds(plane: ControlPlane) -> None:
    """Have the API server know the kinds of the CustomResourceDefinitions in ``crds``."""
    definitions = [yaml.safe_load(path.read_text()) for path in sorted(_CRDS.iterdir())]
    for definition in definitions:
        create(plane, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    for definition in definitions:
        names = definition["spec"]["names"]
        version = f"apis/{definition['spec']['group']}/v1"
        wait_for(f"{names['kind']} is served", partial(_is_served, plane, version, names))


def _is_served(plane: ControlPlane, version: str, names: dict[str, Any]) -> bool:
    """Whether objects can be listed, and their schema read: the one does not follow the other."""
    if request(plane, "GET", f"/{version}/{names['plural']}?limit=1")[0] != 200:
        return False
    if version not in read(plane, "/openapi/v3")["paths"]:
        return False
    schemas = read(plane, f"/openapi/v3/{version}")["components"]["schemas"]
    return any(name.endswith(f".{names['kind']}") for name in schemas)


def all_objects(plane: ControlPlane) -> set[Key]:
    """Give every object there is, but for Events and the control plane's Leases."""
    found: set[Key] = set()
    for path in ("/api/v1", *_group_versions(plane)):
        for resource in read(plane, path)["resources"]:
            name = resource["name"]
            if "list" in resource["verbs"] and name not in _RESTLESS:
                for item in read(plane, f"{path}/{name}")["items"]:
                    metadata = item["metadata"]
                    found.add((name, metadata.get("namespace", ""), metadata["name"]))
    return {key for key in found if f"{key[0]}/{key[1]}" not in _RESTLESS}


def _group_versions(plane: ControlPlane) -> Iterator[str]:
    for group in read(plane, "/apis")["groups"]:
        yield f"/apis/{group['preferredVersion']['groupVersion']}"


def objects_of(helm: Helm, release: str, namespace: str) -> list[Document]:
    """Give the objects that a release was installed with."""
    return parse(helm.run("get", "manifest", release, f"--namespace={namespace}"))


def token_of(plane: ControlPlane, namespace: str, account: str) -> str:
    """Give a token as a Pod of this account gets one."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    token: str = create(plane, path, {"spec": {}})["status"]["token"]
    return token


def write_kubeconfig(plane: ControlPlane, token: str, path: Path) -> None:
    """Write a kubeconfig by which somebody comes with this token."""
    kubeconfig = yaml.safe_load(plane.kubeconfig_path.read_text())
    for user in kubeconfig["users"]:
        user["user"] = {"token": token}
    path.write_text(yaml.safe_dump(kubeconfig))


def is_allowed(plane: ControlPlane, user: str, right: tuple[str, ...], namespace: str = "") -> bool:
    """Ask whether a user has one verb (group, resource, path, verb)."""
    group, resource, path, verb = right
    spec: dict[str, Any] = {"user": user}
    if path:
        spec["nonResourceAttributes"] = {"path": path.replace("*", "x"), "verb": verb}
    else:
        plural, _, subresource = resource.partition("/")
        spec["resourceAttributes"] = {
            "group": group,
            "resource": plural,
            "subresource": subresource,
            "verb": verb,
            "namespace": namespace,
        }
    allowed: bool = create(plane, _REVIEWS, {"spec": spec})["status"]["allowed"]
    return allowed


def flow_schema_of(plane: ControlPlane, token: str, path: str) -> str:
    """Give the uid of the FlowSchema under which a request for a path is queued."""
    context = ssl.create_default_context(cafile=plane.ca_path)
    host = plane.url.removeprefix("https://")
    connection = http.client.HTTPSConnection(host, context=context, timeout=TIMEOUT_SECONDS)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        answer.read()
        return answer.getheader("X-Kubernetes-PF-FlowSchema-UID", "")
    finally:
        connection.close()


def start_scheduler(
    plane: ControlPlane, documents: list[Document], folder: Path
) -> SchedulerProcess:
    """Prepare the process of a release's Deployment, with its account's token and its flags."""
    deployment = find(documents, "Deployment", component="scheduler")
    metadata, pod = deployment["metadata"], deployment["spec"]["template"]["spec"]
    folder.mkdir()
    configuration = find(documents, "ConfigMap", metadata["name"])["data"]["scheduler.yaml"]
    (folder / "scheduler.yaml").write_text(configuration)
    token = token_of(plane, metadata["namespace"], pod["serviceAccountName"])
    write_kubeconfig(plane, token, folder / "kubeconfig")
    subcommand, *flags = pod["containers"][0]["args"]
    assert subcommand == "scheduler"
    told = [flag.replace("/etc/berthmaster/config", str(folder)) for flag in flags]
    here = ["--secure-port=0", "--bind-address=127.0.0.1", f"--kubeconfig={folder}/kubeconfig"]
    return SchedulerProcess(folder / "log", *told, *here)


def delete(plane: ControlPlane, path: str) -> None:
    """Delete an object, or all of a kind, at once: there is no kubelet to end containers."""
    request(plane, "DELETE", path, {"kind": "DeleteOptions", "gracePeriodSeconds": 0})
