"""What is read from a kubelet, as far as it lets us.

Source: pkg/kubelet/server/server.go and auth.go (``/pods`` and ``/runningpods/`` need
``nodes/pods``, ``/configz`` needs ``nodes/configz``, ``/metrics`` needs ``nodes/metrics``),
v1.36.3.
"""

from typing import Final, TypeVar

import msgspec

from kubeio.client import KubeClient
from kubeio.errors import MalformedResponseError, shorten
from node_agent.core.journey.pulls import go_duration_nanoseconds
from node_agent.core.objects import Pod, WirePodList, read_pod
from node_agent.shell.kubelet.start_metrics import KubeletMetrics, parse_metrics

T = TypeVar("T")

TIMEOUT_SECONDS: Final = 10.0
PODS: Final = "/pods"
RUNNING_PODS: Final = "/runningpods/"
CONFIGZ: Final = "/configz"
METRICS: Final = "/metrics"


class KubeletConfiguration(msgspec.Struct, rename="camel", frozen=True):
    """What of a kubelet's configuration matters here; durations as Go writes them."""

    static_pod_path: str = ""
    static_pod_url: str = msgspec.field(default="", name="staticPodURL")
    file_check_frequency: str = "20s"
    http_check_frequency: str = "20s"
    sync_frequency: str = "1m0s"

    @property
    def manifest_seconds(self) -> float:
        """The longer of the two periods at which it looks for manifests."""
        periods = (self.file_check_frequency, self.http_check_frequency)
        return max(go_duration_nanoseconds(text) or 0 for text in periods) / 1e9


class _Configz(msgspec.Struct, frozen=True):
    kubeletconfig: KubeletConfiguration


class _PodList(msgspec.Struct, frozen=True):
    items: tuple[Pod, ...] | None = None


class _RunningMetadata(msgspec.Struct, frozen=True, gc=False):
    uid: str = ""


class _Running(msgspec.Struct, frozen=True, gc=False):
    metadata: _RunningMetadata


class _RunningList(msgspec.Struct, frozen=True):
    items: tuple[_Running, ...] | None = None


_decode_pods: Final = msgspec.json.Decoder(_PodList).decode
_decode_any_pods: Final = msgspec.json.Decoder(WirePodList).decode


class KubeletClient:
    """Asks one kubelet.

    Every method raises a `KubeError` where nothing, or nothing of use, was answered.
    """

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def pods(self) -> list[Pod]:
        """Give its Pods. Cost: 20 µs for each."""
        return decode_pods(await self._read(PODS))

    async def running_uids(self) -> frozenset[str]:
        """Give the uids of the Pods that the container runtime has."""
        body = await self._read(RUNNING_PODS)
        items = _decoded(body, _RunningList, RUNNING_PODS).items or ()
        return frozenset(pod.metadata.uid for pod in items)

    async def configuration(self) -> KubeletConfiguration:
        """Give its configuration."""
        return _decoded(await self._read(CONFIGZ), _Configz, CONFIGZ).kubeletconfig

    async def metrics(self) -> KubeletMetrics:
        """Give what of its metrics is shown beside ours. Cost: 3 ms for each megabyte."""
        return parse_metrics(await self._read(METRICS))

    async def _read(self, path: str) -> bytes:
        response = await self._client.call("GET", path, timeout_seconds=TIMEOUT_SECONDS)
        return response.body


def decode_pods(body: bytes) -> list[Pod]:
    """Read a PodList as the kubelet writes it.

    Raises
    ------
    MalformedResponseError
        It is none.
    """
    try:
        return list(_decode_pods(body).items or ())
    except (msgspec.DecodeError, RecursionError):
        pass  # a null where Go writes none today: read it the long way
    try:
        return [read_pod(wire) for wire in _decode_any_pods(body).items or ()]
    except (msgspec.DecodeError, RecursionError) as error:
        raise _malformed(PODS, error, body) from error


def _decoded(body: bytes, kind: type[T], path: str) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _malformed(path, error, body) from error


def _malformed(path: str, error: Exception, body: bytes) -> MalformedResponseError:
    return MalformedResponseError(f"GET {path}: {error}: {shorten(body) or 'nothing came'}")
