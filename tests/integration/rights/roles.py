"""The rights that the manifest gives, one by one, and ServiceAccounts that lack one of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from deploy.controlplane import ControlPlane
from tests.integration.rest import create, request, wait_for

MANIFEST: Final = Path(__file__).parents[3] / "deploy/manifests/berthmaster.yaml"
NAMESPACE: Final = "default"
_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
_GROUP: Final = "rbac.authorization.k8s.io"
_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class Right(NamedTuple):
    """One verb on one resource, or on one path that is no resource."""

    verb: str
    group: str = ""
    resource: str = ""
    name: str = ""
    path: str = ""

    def __str__(self) -> str:
        # Of two groups; of all others the resource's name tells.
        group = f".{self.group}" if self.resource.startswith("podgroups") else ""
        return f"{self.verb} {self.path or self.resource}{group}"

    @property
    def refusal(self) -> str:
        """What the API server says where it is missing."""
        if self.resource == "resourceclaims/binding":  # asked for beside the one to the status
            return f'requires resource="{self.resource}", verb="{self.verb}" permission'
        if self.path:
            return f'cannot {self.verb} path "{self.path.removesuffix("*")}'
        return f'cannot {self.verb} resource "{self.resource}" in API group "{self.group}"'

    def as_rule(self) -> dict[str, Any]:
        """Give the rule that gives this right alone."""
        if self.path:
            return {"nonResourceURLs": [self.path], "verbs": [self.verb]}
        rule = {"apiGroups": [self.group], "resources": [self.resource], "verbs": [self.verb]}
        return rule | ({"resourceNames": [self.name]} if self.name else {})

    def as_question(self) -> dict[str, str]:
        """Give the attributes by which a SelfSubjectAccessReview asks for it."""
        resource, _, subresource = self.resource.partition("/")
        return {
            "verb": self.verb,
            "group": self.group,
            "resource": resource,
            "subresource": subresource,
            "name": self.name,
        }


def rights_of(kind: str, name: str) -> list[Right]:
    """Give what a role of the manifest allows."""
    documents = yaml.safe_load_all(MANIFEST.read_text())
    [role] = [d for d in documents if (d["kind"], d["metadata"]["name"]) == (kind, name)]
    found = []
    for rule in role["rules"]:
        for verb in rule["verbs"]:
            found += [Right(verb, path=path) for path in rule.get("nonResourceURLs", ())]
            found += [
                Right(verb, group, resource, name)
                for group in rule.get("apiGroups", ())
                for resource in rule["resources"]
                for name in rule.get("resourceNames", [""])
            ]
    return found


@dataclass(frozen=True)
class Account:
    """A ServiceAccount and a login of it."""

    name: str
    token: str
    kubeconfig_path: Path

    @property
    def user(self) -> str:
        """What the API server calls it."""
        return f"system:serviceaccount:{NAMESPACE}:{self.name}"


def create_account(
    plane: ControlPlane,
    folder: Path,
    name: str,
    rights: list[Right],
    lease_rights: list[Right] | None = None,
) -> Account:
    """Make a ServiceAccount with these rights, and wait until the API server knows them.

    Parameters
    ----------
    lease_rights
        In kube-system.
    """
    accounts = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
    create(plane, accounts, {"metadata": {"name": name}})
    token = create(plane, f"{accounts}/{name}/token", {"spec": {}})["status"]["token"]
    _bind(plane, "ClusterRole", name, rights, _RBAC)
    if lease_rights:
        _bind(plane, "Role", name, lease_rights, f"{_RBAC}/namespaces/kube-system")
    configuration = yaml.safe_load(plane.kubeconfig_path.read_text())
    for user in configuration["users"]:
        user["user"] = {"token": token}
    path = folder / f"{name}.kubeconfig"
    path.write_text(yaml.safe_dump(configuration))
    _wait_known(plane, token, next(right for right in rights if right.resource), "")
    if lease_rights:
        _wait_known(plane, token, lease_rights[-1], "kube-system")
    return Account(name, token, path)


def _bind(plane: ControlPlane, kind: str, name: str, rights: list[Right], path: str) -> None:
    plural = f"{kind.lower()}s"
    metadata = {"metadata": {"name": name}}
    create(plane, f"{path}/{plural}", {**metadata, "rules": [r.as_rule() for r in rights]})
    subject = {"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}
    role = {"apiGroup": _GROUP, "kind": kind, "name": name}
    binding = {**metadata, "roleRef": role, "subjects": [subject]}
    create(plane, f"{path}/{kind.lower()}bindings", binding)


def _wait_known(plane: ControlPlane, token: str, right: Right, namespace: str) -> None:
    question = {"resourceAttributes": right.as_question() | {"namespace": namespace}}

    def is_allowed() -> bool:
        status, review = request(plane, "POST", _REVIEWS, {"spec": question}, token=token)
        return status == 201 and bool(review["status"]["allowed"])

    wait_for(f"the right to {right} is known", is_allowed)
