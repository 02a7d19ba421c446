"""What is made of a kubelet's answers."""

import msgspec
import pytest
from aiohttp import web

from kubeio.errors import ForbiddenError, MalformedResponseError
from node_agent.shell.kubelet.client import KubeletClient, KubeletConfiguration, decode_pods
from tests.unit.kubeio.fake_api import client_of
from tests.unit.node_agent.shell.kubelet.stub import StubKubelet, shown


async def test_all_endpoints() -> None:
    stub = StubKubelet(pods=[shown("a")], running=["u1", "u2"])
    async with client_of(stub.answer) as client:
        kubelet = KubeletClient(client)
        (pod,) = await kubelet.pods()
        assert pod.metadata.name == "a"
        assert await kubelet.running_uids() == {"u1", "u2"}
        configuration = await kubelet.configuration()
        assert configuration.static_pod_path == "/etc/kubernetes/manifests"
        assert configuration.manifest_seconds == 40
        assert (await kubelet.metrics()).process_start_seconds == 1.78031e9
    assert stub.asked == ["/pods", "/runningpods/", "/configz", "/metrics"]


async def test_a_node_without_pods() -> None:
    async with client_of(StubKubelet().answer) as client:
        assert await KubeletClient(client).pods() == []
        assert await KubeletClient(client).running_uids() == frozenset()


def test_nulls_are_as_good_as_nothing() -> None:
    pod = shown("a", spec={"containers": [{"name": "c"}], "tolerations": None})
    pod["metadata"]["creationTimestamp"] = None
    (decoded,) = decode_pods(msgspec.json.encode({"items": [pod]}))
    assert decoded.spec.containers[0].name == "c"
    assert decode_pods(b'{"items": null}') == []


@pytest.mark.parametrize(
    "body",
    [b"<html>", b"", b'{"items": 3}', b'{"items": [{"spec": {}}]}', b'{"x":' + b"[" * 200_000],
)
def test_what_is_no_list_of_pods(body: bytes) -> None:
    with pytest.raises(MalformedResponseError, match="GET /pods"):
        decode_pods(body)


async def test_refused_and_malformed() -> None:
    async with client_of(StubKubelet(refused={"/pods"}).answer) as client:
        with pytest.raises(ForbiddenError):
            await KubeletClient(client).pods()

    async def page(_: web.Request) -> web.Response:
        return web.Response(text="<html>")

    async with client_of(page) as client:
        with pytest.raises(MalformedResponseError, match="GET /configz"):
            await KubeletClient(client).configuration()

    async def abyss(_: web.Request) -> web.Response:
        return web.Response(text='{"x":' + "[" * 200_000)

    async with client_of(abyss) as client:
        with pytest.raises(MalformedResponseError, match="GET /runningpods"):
            await KubeletClient(client).running_uids()


def test_a_period_that_cannot_be_read_counts_as_none() -> None:
    configuration = KubeletConfiguration(file_check_frequency="often")
    assert configuration.manifest_seconds == 20
