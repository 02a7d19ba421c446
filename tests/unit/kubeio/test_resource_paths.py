"""Paths of resources, and what a path is about."""

import pytest

from kubeio.resources import ResourcePath, describe_path

PODS = ResourcePath("", "v1", "pods")
LEASES = ResourcePath("coordination.k8s.io", "v1", "leases")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (PODS.collection, "/api/v1/pods"),
        (PODS.in_namespace("a").collection, "/api/v1/namespaces/a/pods"),
        (PODS.in_namespace("a").object("p"), "/api/v1/namespaces/a/pods/p"),
        (PODS.in_namespace("a").object("p", "binding"), "/api/v1/namespaces/a/pods/p/binding"),
        (ResourcePath("", "v1", "nodes").object("n"), "/api/v1/nodes/n"),
        (
            LEASES.in_namespace("kube-system").object("berthmaster"),
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berthmaster",
        ),
        (
            ResourcePath("rbac.authorization.k8s.io", "v1", "clusterroles").object("system:a/b c"),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:a%2Fb%20c",
        ),
    ],
)
def test_paths(path: str, expected: str) -> None:
    assert path == expected


def test_name_is_as_kubectl_says_it() -> None:
    assert str(PODS) == "pods"
    assert str(LEASES) == "leases.coordination.k8s.io"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/v1/pods", "pods"),
        ("/api/v1/pods?limit=5", "pods"),
        ("/api/v1/namespaces/a/pods", "pods"),
        ("/api/v1/namespaces/a/pods/p", "pods"),
        ("/api/v1/namespaces/a/pods/p/binding", "pods/binding"),
        ("/api/v1/nodes/n/status", "nodes/status"),
        ("/api/v1/namespaces", "namespaces"),
        ("/api/v1/namespaces/a", "namespaces"),
        ("/api/v1/namespaces/a/status", "namespaces/status"),
        ("/api/v1/namespaces/a/finalize", "namespaces/finalize"),
        ("/apis/events.k8s.io/v1/namespaces/a/events", "events"),
        ("/apis/authentication.k8s.io/v1/tokenreviews", "tokenreviews"),
        ("/readyz", "/readyz"),
        ("/api", "/api"),
        ("/", "/"),
    ],
)
def test_what_a_path_is_about(path: str, expected: str) -> None:
    assert describe_path(path) == expected
