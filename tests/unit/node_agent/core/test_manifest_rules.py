"""What a manifest is refused for, by place."""

from typing import Any, ClassVar

import pytest

from node_agent.core.manifest_rules import api_references, mistakes

META = {"name": "a-node", "namespace": "default"}


def make_spec(**fields: Any) -> dict[str, Any]:
    """Give a specification that is right but for `fields`."""
    containers = [{"name": "c", "image": "i"}]
    plain = {"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "containers": containers}
    return plain | fields


def container(**fields: Any) -> dict[str, Any]:
    """Give a specification whose one container has `fields`."""
    return make_spec(containers=[{"name": "c", "image": "i", **fields}])


@pytest.mark.parametrize(
    "spec",
    [
        make_spec(),
        make_spec(volumes=[{"name": "v", "emptyDir": {}}, {"name": "w", "hostPath": {}}]),
        make_spec(initContainers=[{"name": "d", "image": "i"}]),
        container(ports=[{"containerPort": 1}, {"containerPort": 65535}]),
        container(startupProbe={"httpGet": {"port": 80}}),
        container(resources={"requests": {"cpu": 1, "memory": "1.5Gi"}, "limits": {"a/b": "1e3"}}),
        container(resources=None),
        make_spec(
            volumes=[{"name": "v", "emptyDir": {}, "hostPath": None}],
            containers=[
                {"name": "c", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}
            ],
        ),
        # What is no object is not looked at: the kubelet's decoder refuses it in its words.
        container(env="x", ports=["y"]),
    ],
)
def test_a_good_manifest_has_no_mistakes(spec: dict[str, Any]) -> None:
    assert list(mistakes(META, spec)) == []
    assert list(api_references(spec)) == []


@pytest.mark.parametrize(
    ("metadata", "mistake"),
    [
        (
            {"name": "A", "namespace": "default"},
            "metadata.name: 'A' is no DNS subdomain (a-z, 0-9, - and ., at most 253)",
        ),
        (
            {"name": 254 * "a", "namespace": "default"},
            f"metadata.name: '{254 * 'a'}' is no DNS subdomain (a-z, 0-9, - and ., at most 253)",
        ),
        (
            {"name": "a..b", "namespace": "default"},
            "metadata.name: 'a..b' is no DNS subdomain (a-z, 0-9, - and ., at most 253)",
        ),
        (
            {"name": "a.b", "namespace": "a.b"},
            "metadata.namespace: 'a.b' is no DNS label (a-z, 0-9 and -, at most 63)",
        ),
        (
            {"name": "a", "namespace": 64 * "a"},
            f"metadata.namespace: '{64 * 'a'}' is no DNS label (a-z, 0-9 and -, at most 63)",
        ),
    ],
)
def test_names_are_checked(metadata: dict[str, Any], mistake: str) -> None:
    assert list(mistakes(metadata, make_spec())) == [mistake]


@pytest.mark.parametrize(
    ("spec", "mistake"),
    [
        (
            make_spec(restartPolicy="never"),
            "spec.restartPolicy: 'never' is not one of Always, OnFailure, Never",
        ),
        (
            make_spec(dnsPolicy=["x"]),
            (
                "spec.dnsPolicy: ['x'] is not one of ClusterFirstWithHostNet, ClusterFirst, "
                "Default, None"
            ),
        ),
        (
            make_spec(schedulingGates=[{"name": "x"}]),
            "spec.schedulingGates: a static Pod has its node, so it cannot be gated",
        ),
        (
            make_spec(ephemeralContainers=[{"name": "x"}]),
            "spec.ephemeralContainers: cannot be there from the beginning",
        ),
        (make_spec(containers=[]), "spec.containers: at least one is required"),
        (
            make_spec(volumes=[{"name": "_", "emptyDir": {}}]),
            "spec.volumes[0].name: '_' is no DNS label (a-z, 0-9 and -, at most 63)",
        ),
        (
            make_spec(volumes=[{"name": "v", "emptyDir": {}}, {"name": "v", "hostPath": {}}]),
            "spec.volumes[1].name: 'v' is taken already",
        ),
        (
            make_spec(volumes=[{"name": "v", "emptyDir": {}, "hostPath": {}}]),
            "spec.volumes[0]: a volume has one kind, not emptyDir, hostPath",
        ),
        (
            container(name="C"),
            "spec.containers[0].name: 'C' is no DNS label (a-z, 0-9 and -, at most 63)",
        ),
        (
            make_spec(initContainers=[{"name": "c", "image": "i"}]),
            "spec.containers[0].name: 'c' is taken already",
        ),
        (
            container(readinessProbe={"periodSeconds": 1}),
            "spec.containers[0].readinessProbe: one of exec, httpGet, tcpSocket, grpc is required",
        ),
        (
            container(livenessProbe={"exec": {"command": ["x"]}, "grpc": {"port": 1}}),
            "spec.containers[0].livenessProbe: one of exec, httpGet, tcpSocket, grpc is required",
        ),
        (
            container(resources={"requests": {"cpu": "1x"}}),
            "spec.containers[0].resources.requests.cpu: '1x' is no quantity (500m, 1Gi)",
        ),
        (
            container(resources={"limits": {"memory": ""}}),
            "spec.containers[0].resources.limits.memory: '' is no quantity (500m, 1Gi)",
        ),
        (container(image=" "), "spec.containers[0].image: an image is required"),
        (container(image=None), "spec.containers[0].image: an image is required"),
        (
            container(volumeMounts=[{"name": "v", "mountPath": "/v"}]),
            "spec.containers[0].volumeMounts[0].name: there is no volume 'v'",
        ),
        (
            make_spec(
                volumes=[{"name": "v", "emptyDir": {}}],
                containers=[{"name": "c", "image": "i", "volumeMounts": [{"name": "v"}]}],
            ),
            "spec.containers[0].volumeMounts[0].mountPath: a path is required",
        ),
        (
            container(volumeMounts=[{"name": ["v"], "mountPath": "/v"}]),
            "spec.containers[0].volumeMounts[0].name: there is no volume ['v']",
        ),
        (
            container(ports=[{"containerPort": 65536}]),
            "spec.containers[0].ports[0].containerPort: 65536 is not from 1 to 65535",
        ),
        (
            container(ports=[{"containerPort": "80"}]),
            "spec.containers[0].ports[0].containerPort: '80' is not from 1 to 65535",
        ),
    ],
)
def test_a_mistake_is_told_by_its_place(spec: dict[str, Any], mistake: str) -> None:
    assert list(mistakes(META, spec)) == [mistake]


class ComparedName(str):
    """A name that counts how often names are compared."""

    __slots__ = ()
    comparisons: ClassVar[int] = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        ComparedName.comparisons += 1
        return str.__eq__(self, other)


def test_a_mount_is_not_compared_with_every_volume() -> None:
    names = [f"v{number}" for number in range(300)]
    spec = make_spec(volumes=[{"name": name, "emptyDir": {}} for name in names])
    mounts = [{"name": ComparedName(name), "mountPath": "/v"} for name in names]
    spec["containers"] = [{"name": "c", "image": "i", "volumeMounts": mounts}]
    assert list(mistakes(META, spec)) == []
    assert ComparedName.comparisons < 10 * len(names)


@pytest.mark.parametrize(
    ("spec", "place"),
    [
        (make_spec(serviceAccountName="x"), "spec.serviceAccountName"),
        (make_spec(serviceAccount="x"), "spec.serviceAccount"),
        (make_spec(resourceClaims=[{"name": "x"}]), "spec.resourceClaims"),
        (make_spec(imagePullSecrets=[{"name": "x"}]), "spec.imagePullSecrets"),
        *(
            (make_spec(volumes=[{"name": "v", kind: {}}]), f"spec.volumes[0].{kind}")
            for kind in (
                "configMap",
                "secret",
                "csi",
                "glusterfs",
                "persistentVolumeClaim",
                "ephemeral",
                "azureFile",
            )
        ),
        (
            make_spec(volumes=[{"name": "v", "iscsi": {"secretRef": {"name": "s"}}}]),
            "spec.volumes[0].iscsi",
        ),
        *(
            (
                make_spec(volumes=[{"name": "v", "projected": {"sources": [{kind: {}}]}}]),
                f"spec.volumes[0].projected.sources[0].{kind}",
            )
            for kind in (
                "configMap",
                "secret",
                "serviceAccountToken",
                "clusterTrustBundle",
                "podCertificate",
            )
        ),
        *(
            (
                container(env=[{"name": "E", "valueFrom": {kind: {"name": "x"}}}]),
                f"spec.containers[0].env[0].valueFrom.{kind}",
            )
            for kind in ("secretKeyRef", "configMapKeyRef")
        ),
        *(
            (
                make_spec(initContainers=[{"name": "d", "envFrom": [{kind: {"name": "x"}}]}]),
                f"spec.initContainers[0].envFrom[0].{kind}",
            )
            for kind in ("secretRef", "configMapRef")
        ),
    ],
)
def test_what_needs_the_api_server_is_found(spec: dict[str, Any], place: str) -> None:
    assert list(api_references(spec)) == [place]


@pytest.mark.parametrize(
    "spec",
    [
        make_spec(volumes=[{"name": "v", "projected": {"sources": [{"downwardAPI": {}}]}}]),
        container(env=[{"name": "E", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}]),
        container(env=[{"name": "E", "value": "x"}], envFrom=[{"prefix": "x"}]),
        make_spec(serviceAccountName="", imagePullSecrets=[]),
    ],
)
def test_what_the_node_has_itself_is_allowed(spec: dict[str, Any]) -> None:
    assert list(api_references(spec)) == []
