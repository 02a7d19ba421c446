"""A manifest becomes the Pod that the kubelet makes of it (pkg/kubelet/config/common_test.go)."""

from typing import Any

import pytest

from node_agent.core.objects import Pod, Toleration, Volume
from node_agent.core.operations import HASH_ANNOTATION, Source
from node_agent.core.static_pods import Origin, Refusal, RefusalReason, static_pod, static_pods

FILE = Origin(Source.FILE, "/etc/kubernetes/manifests/a.yaml")
URL = Origin(Source.HTTP, "https://manifests/a")


def manifest(**fields: Any) -> dict[str, Any]:
    """Give a manifest; `name` and other fields of its metadata, and `spec`."""
    spec = fields.pop("spec", {"containers": [{"name": "c", "image": "i"}]})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", **fields},
        "spec": spec,
    }


def made(document: object, origin: Origin = FILE, node: str = "node1") -> Pod:
    """Give the Pod that must come of a document."""
    pod = static_pod(document, origin, node)
    assert isinstance(pod, Pod), pod
    return pod


def refused(document: object) -> tuple[str, str]:
    """Give reason and message of the refusal that must come of a document."""
    refusal = static_pod(document, FILE, "node1")
    assert isinstance(refusal, Refusal), refusal
    return refusal.reason.value, refusal.message


def test_the_defaults_of_a_file() -> None:
    pod = made(manifest(uid="12345", namespace="mine"))
    assert pod.full_name == "a-node1_mine"
    assert pod.metadata.uid == "12345"
    assert pod.metadata.annotations == {HASH_ANNOTATION: "12345"}
    assert pod.spec.node_name == "node1"
    assert pod.spec.tolerations == (Toleration(operator="Exists", effect="NoExecute"),)
    assert pod.spec.restart_policy == "Always"
    assert pod.spec.scheduler_name == "default-scheduler"
    assert pod.spec.termination_grace_period_seconds == 30
    assert pod.status.phase == "Pending"


def test_the_defaults_of_a_url_have_no_toleration() -> None:
    assert made(manifest(), URL).spec.tolerations == ()


@pytest.mark.parametrize(
    ("node", "name"), [("node1", "a-node1"), ("Node1", "a-node1"), ("NODE1", "a-node1")]
)
def test_the_name_gets_the_node_in_lower_case(node: str, name: str) -> None:
    pod = made(manifest(), node=node)
    assert (pod.metadata.name, pod.spec.node_name) == (name, node)
    assert pod.metadata.namespace == "default"


def test_what_is_given_stays() -> None:
    toleration = {"operator": "Exists", "effect": "NoExecute"}
    spec = {
        "containers": [{"name": "c", "image": "i"}],
        "tolerations": [{"key": "x"}, toleration],
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "schedulerName": None,
    }
    pod = made(manifest(spec=spec, annotations={"x": "1"}))
    assert pod.spec.tolerations == (Toleration("x"), Toleration("", "Exists", "", "NoExecute"))
    assert pod.spec.restart_policy == "Never"
    assert pod.spec.termination_grace_period_seconds == 0
    assert pod.spec.scheduler_name == "default-scheduler"
    assert (pod.metadata.annotations or {})["x"] == "1"


def test_what_cannot_be_is_mended_as_the_api_server_would() -> None:
    toleration = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    spec = {
        "containers": [{"name": "c", "image": "i"}],
        "terminationGracePeriodSeconds": -1,
        "tolerations": [toleration, {"key": "x", "operator": "Exists"}],
        "volumes": [{"name": "v"}, {"name": "w", "hostPath": {"path": "/w"}}],
    }
    pod = made(manifest(spec=spec))
    assert pod.spec.termination_grace_period_seconds == 1
    assert pod.spec.tolerations == (
        Toleration(operator="Exists", effect="NoExecute"),
        Toleration("x", "Exists"),
    )
    assert pod.spec.volumes == (Volume("v", "emptyDir"), Volume("w", "hostPath"))


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("i", "Always"),
        ("host:5000/i", "Always"),
        ("i:latest", "Always"),
        ("i:latest@sha256:0", "Always"),
        ("i:1", "IfNotPresent"),
        ("host:5000/i:1", "IfNotPresent"),
        ("i@sha256:0", "IfNotPresent"),
    ],
)
def test_images_without_a_version_are_pulled_always(image: str, policy: str) -> None:
    filled_in = {
        "name": "c",
        "image": image,
        "imagePullPolicy": policy,
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "resources": {},
    }
    given = made(manifest(uid="u", spec={"containers": [{"name": "c", "image": image}]}))
    filled = made(manifest(uid="u", spec={"containers": [filled_in]}))
    assert given == filled
    assert [container.image for container in given.spec.containers] == [image]


def test_the_uid_follows_content_place_and_node() -> None:
    uid = made(manifest()).metadata.uid
    assert len(uid) == 32
    assert int(uid, 16) >= 0
    assert made(manifest()).metadata.uid == uid
    others = [
        made(manifest(labels={"x": "1"})),
        made(manifest(), Origin(Source.FILE, "/b")),
        made(manifest(), Origin(Source.HTTP, FILE.location)),
        made(manifest(), node="node2"),
    ]
    assert len({uid, *(pod.metadata.uid for pod in others)}) == 5


def test_order_and_empty_fields_do_not_change_the_uid() -> None:
    turned = dict(reversed(manifest().items())) | {"status": {}}
    assert made(turned).metadata.uid == made(manifest()).metadata.uid


def test_null_is_absent_in_the_metadata_too() -> None:
    nothing = dict.fromkeys(("generation", "labels", "namespace", "uid", "creationTimestamp"))
    assert made(manifest(**nothing)) == made(manifest())


def test_labels_and_annotations_without_a_value_are_empty() -> None:
    """As `critical-pod:` in a manifest is: Go reads null into a text as the empty one."""
    pod = made(manifest(labels={"a": None, "b": "x"}, annotations={"critical-pod": None}))
    assert pod.metadata.labels == {"a": "", "b": "x"}
    assert pod.metadata.annotations is not None
    assert pod.metadata.annotations["critical-pod"] == ""


def test_a_path_may_have_any_bytes() -> None:
    assert made(manifest(), Origin(Source.FILE, "/\udcff")).metadata.uid


@pytest.mark.parametrize(
    ("document", "reason", "message"),
    [
        (None, "wrong_kind", "a Pod is required, not NoneType"),
        ([manifest()], "wrong_kind", "a Pod is required, not list"),
        (
            {"apiVersion": "v1", "kind": "List"},
            "wrong_kind",
            "apiVersion v1 and kind Pod are required, not 'v1' and 'List'",
        ),
        (
            {"metadata": {"name": "a"}},
            "wrong_kind",
            "apiVersion v1 and kind Pod are required, not None and None",
        ),
        (
            manifest() | {"apiVersion": "v2"},
            "wrong_kind",
            "apiVersion v1 and kind Pod are required, not 'v2' and 'Pod'",
        ),
        (manifest(name=""), "invalid", "metadata.name: a name is required"),
        (manifest(name=None), "invalid", "metadata.name: a name is required"),
        (manifest() | {"metadata": None}, "invalid", "metadata.name: a name is required"),
        (
            manifest() | {"metadata": "x"},
            "invalid",
            "Expected `object`, got `str` - at `$.metadata`",
        ),
        (
            {"apiVersion": "v1", "kind": "Pod"},
            "invalid",
            "metadata.name: a name is required",
        ),
        (
            manifest(labels={"x": 1}),
            "invalid",
            "Expected `str`, got `int` - at `$.metadata.labels[...]`",
        ),
        (
            manifest(spec={"containers": [{"name": "c", "image": 1}]}),
            "invalid",
            "Expected `str`, got `int` - at `$.spec.containers[0].image`",
        ),
        (manifest(spec={}), "invalid", "spec.containers: at least one is required"),
        (
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}},
            "invalid",
            "spec.containers: at least one is required",
        ),
        (
            manifest(spec={"containers": [{"name": "c", "image": ""}] * 4}),
            "invalid",
            (
                "spec.containers[0].image: an image is required; "
                "spec.containers[1].name: 'c' is taken already; "
                "spec.containers[1].image: an image is required; "
                "spec.containers[2].name: 'c' is taken already; "
                "spec.containers[2].image: an image is required; and 2 more"
            ),
        ),
        (
            manifest(
                spec={
                    "serviceAccountName": "x",
                    "containers": [{"name": "c", "image": "i"}],
                    "volumes": [{"name": "v", "secret": {}}],
                }
            ),
            "api_reference",
            (
                "spec.serviceAccountName, spec.volumes[0].secret: "
                "a static Pod may not refer to other API objects"
            ),
        ),
    ],
)
def test_what_is_no_pod_is_refused(document: object, reason: str, message: str) -> None:
    assert refused(document) == (reason, message)


def test_a_list_gives_all_its_pods() -> None:
    bare = {"metadata": {"name": "b"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    document = {"apiVersion": "v1", "kind": "PodList", "items": [manifest(), bare]}
    pods = static_pods(document, URL, "node1")
    assert not isinstance(pods, Refusal)
    assert [pod.metadata.name for pod in pods] == ["a-node1", "b-node1"]
    assert pods[0] == made(manifest(), URL)


@pytest.mark.parametrize("items", [[], None])
def test_a_list_may_be_empty(items: object) -> None:
    assert static_pods({"apiVersion": "v1", "kind": "PodList", "items": items}, URL, "n") == ()


def test_one_pod_is_a_list_of_one() -> None:
    assert static_pods(manifest(), URL, "node1") == (made(manifest(), URL),)


@pytest.mark.parametrize(
    ("document", "reason", "message"),
    [
        (manifest(name=""), RefusalReason.INVALID, "metadata.name: a name is required"),
        ("x", RefusalReason.WRONG_KIND, "a Pod is required, not str"),
        (
            {"apiVersion": "v2", "kind": "PodList"},
            RefusalReason.WRONG_KIND,
            "apiVersion v1 and kind PodList are required, not 'v2' and 'PodList'",
        ),
        (
            {"apiVersion": "v1", "kind": "PodList", "items": "x"},
            RefusalReason.INVALID,
            "items: a list of Pods is required",
        ),
        (
            {"apiVersion": "v1", "kind": "PodList", "items": [manifest(), manifest(name="")]},
            RefusalReason.INVALID,
            "items[1]: metadata.name: a name is required",
        ),
        (
            {"apiVersion": "v1", "kind": "PodList", "items": ["x"]},
            RefusalReason.INVALID,
            "items[0]: Expected `object`, got `str`",
        ),
    ],
)
def test_one_bad_pod_spoils_a_list(document: object, reason: RefusalReason, message: str) -> None:
    assert static_pods(document, URL, "node1") == Refusal(reason, message)
