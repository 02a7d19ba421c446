"""What a Pod takes from its Node, by values worked out from Kubernetes' documentation."""

from __future__ import annotations

import pytest

from deploy.demo.resources import Container, Resources, pod_requests


def container(milli_cpu: int, memory_mib: int = 0, *, is_sidecar: bool = False) -> Container:
    requests = Resources(milli_cpu=milli_cpu, memory_mib=memory_mib)
    return Container(requests=requests, is_sidecar=is_sidecar)


@pytest.mark.parametrize(
    ("containers", "init_containers", "milli_cpu"),
    [
        pytest.param([container(100), container(200)], [], 300, id="containers run together"),
        pytest.param([container(100)], [container(1000)], 1000, id="an init container runs alone"),
        pytest.param([container(100)], [container(50)], 100, id="and may need less"),
        pytest.param(
            [container(100)], [container(700), container(800)], 800, id="one after another"
        ),
        pytest.param(
            [container(200)], [container(100, is_sidecar=True)], 300, id="a sidecar stays"
        ),
        pytest.param(
            [container(200)],
            [container(100, is_sidecar=True), container(250)],
            350,
            id="an init container runs beside the sidecar before it",
        ),
        pytest.param(
            [container(200)],
            [container(250), container(100, is_sidecar=True)],
            300,
            id="and not beside one after it",
        ),
    ],
)
def test_a_pod_takes_the_most_that_runs_at_once(
    containers: list[Container], init_containers: list[Container], milli_cpu: int
) -> None:
    assert pod_requests(containers, init_containers) == Resources(milli_cpu=milli_cpu)


def test_resources_are_compared_one_by_one() -> None:
    requests = pod_requests([container(100, 512)], [container(1000, 64)])

    assert requests == Resources(milli_cpu=1000, memory_mib=512)
    assert requests.fits_in(Resources(milli_cpu=1000, memory_mib=512))
    assert not requests.fits_in(Resources(milli_cpu=4000, memory_mib=511))


def test_quantities_are_written_as_kubernetes_does() -> None:
    amounts = Resources(milli_cpu=250, memory_mib=64, gpu_count=2)

    assert amounts.quantities() == {"cpu": "250m", "memory": "64Mi", "nvidia.com/gpu": "2"}
    assert Resources(milli_cpu=5).quantities() == {"cpu": "5m"}
