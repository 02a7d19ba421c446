"""What a Pod takes of its Node: the steady state, each step of the start, and resizes in place."""

import pytest

from scheduler_svc.core.errors import InputError
from scheduler_svc.core.objects import (
    Container,
    ContainerStatus,
    PodCondition,
    ResourceRequirements,
)
from scheduler_svc.core.resources import (
    Requests,
    is_extended,
    is_scalar,
    pod_limits,
    pod_requests,
)
from tests.builders import GPU, MIB, Amounts, PodFields, make_container, make_pod

DEFAULT_MILLI_CPU = 100
DEFAULT_MEMORY = 200 * MIB


def cpu(amount: str | int, *, name: str = "c", is_sidecar: bool = False) -> Container:
    return make_container(name, {"cpu": amount}, is_sidecar=is_sidecar)


def granted(name: str, in_use: Amounts | None, allocated: Amounts | None = None) -> ContainerStatus:
    return ContainerStatus(
        name,
        None if in_use is None else ResourceRequirements(dict(in_use)),
        None if allocated is None else dict(allocated),
    )


@pytest.mark.parametrize(
    ("name", "extended", "scalar"),
    [
        ("example.com/gpu", True, True),
        ("hugepages-2Mi", False, True),
        ("attachable-volumes-aws-ebs", False, True),
        ("kubernetes.io/batch", False, True),
        ("sub.kubernetes.io/batch", False, True),
        ("requests.example.com/gpu", False, False),
        # Those could be in no quota.
        ("NVIDIA.com/gpu", False, False),
        ("example.com/", False, False),
        ("/gpu", False, False),
        ("example.com/gpu/1", False, False),
        (f"example.com/{'g' * 63}", True, True),
        (f"example.com/{'g' * 64}", False, False),
        ("cpu", False, False),
        ("memory", False, False),
        ("ephemeral-storage", False, False),
        ("pods", False, False),
        ("storage", False, False),
    ],
)
def test_which_resources_are_counted(name: str, extended: bool, scalar: bool) -> None:
    assert is_extended(name) is extended
    assert is_scalar(name) is scalar


def test_every_kind_of_resource_in_its_unit() -> None:
    pod = make_pod(
        requests={
            "cpu": "1.0001",
            "memory": "1000000001m",
            "ephemeral-storage": "1Ki",
            "storage": "5Gi",
            GPU: "2",
            "attachable-volumes-x": 1,
            "hugepages-2Mi": "4Mi",
            "requests.example.com/gpu": 3,
        }
    )
    assert pod_requests(pod) == Requests(
        milli_cpu=1001,
        memory_bytes=1000001,
        ephemeral_storage_bytes=1024,
        scalars=(("attachable-volumes-x", 1), (GPU, 2), ("hugepages-2Mi", 4 * MIB)),
        nonzero_milli_cpu=1001,
        nonzero_memory_bytes=1000001,
    )


def test_the_sum_is_rounded_and_not_each_container() -> None:
    pod = make_pod(containers=[cpu("0.4m"), cpu("0.4m")])
    assert pod_requests(pod).milli_cpu == 1


@pytest.mark.parametrize(
    ("containers", "init_containers", "milli_cpu"),
    [
        pytest.param([cpu(1), cpu(2)], [], 3000, id="containers run together"),
        pytest.param([cpu(1)], [cpu(2), cpu(4)], 4000, id="init containers run one by one"),
        pytest.param([cpu(5)], [cpu(2), cpu(4)], 5000, id="the steady state is larger"),
        pytest.param([cpu(1)], [cpu(2, is_sidecar=True)], 3000, id="a sidecar keeps running"),
        pytest.param(
            [cpu(1)],
            [cpu(2, is_sidecar=True), cpu(3)],
            5000,
            id="an init container beside an earlier sidecar",
        ),
        pytest.param(
            [cpu(1)],
            [cpu(4), cpu(2, is_sidecar=True)],
            4000,
            id="an init container before the sidecar",
        ),
        pytest.param(
            [cpu(1)],
            [cpu(1, is_sidecar=True), cpu(1, is_sidecar=True), cpu(2)],
            4000,
            id="sidecars add up",
        ),
        pytest.param([make_container()], [], 0, id="nothing is requested"),
    ],
)
def test_init_containers_and_sidecars(
    containers: list[Container], init_containers: list[Container], milli_cpu: int
) -> None:
    pod = make_pod(containers=containers, init_containers=init_containers)
    assert pod_requests(pod).milli_cpu == milli_cpu


def test_each_resource_has_its_own_peak() -> None:
    pod = make_pod(
        containers=[make_container("c", {"cpu": 3, "memory": 10})],
        init_containers=[make_container("i", {"cpu": 1, "memory": 70, GPU: 1})],
    )
    requests = pod_requests(pod)
    assert (requests.milli_cpu, requests.memory_bytes) == (3000, 70)
    assert requests.scalars == ((GPU, 1),)


def test_overhead_comes_on_top_of_everything() -> None:
    pod = make_pod(
        requests={"cpu": 1},
        pod_requests={"cpu": 2},
        overhead={"cpu": "250m", "memory": 7, GPU: 1},
    )
    requests = pod_requests(pod)
    assert (requests.milli_cpu, requests.memory_bytes) == (2250, 7)
    assert requests.scalars == ((GPU, 1),)


def test_pod_level_requests_override_the_sum_of_the_resources_that_may_be_pod_level() -> None:
    fields: PodFields = {
        "requests": {"cpu": 1, "memory": 100, "hugepages-2Mi": "2Mi", GPU: 1},
        "pod_requests": {"cpu": "500m", "hugepages-2Mi": "4Mi", GPU: 9, "ephemeral-storage": 5},
    }
    pod = make_pod(**fields)
    requests = pod_requests(pod)
    assert (requests.milli_cpu, requests.memory_bytes) == (500, 100)
    assert requests.ephemeral_storage_bytes == 0
    assert requests.scalars == ((GPU, 1), ("hugepages-2Mi", 4 * MIB))
    assert pod_requests(pod, with_pod_level=False) == pod_requests(
        make_pod(requests=fields["requests"])
    )


@pytest.mark.parametrize(
    ("fields", "milli_cpu", "memory"),
    [
        pytest.param({}, DEFAULT_MILLI_CPU, DEFAULT_MEMORY, id="nothing requested"),
        pytest.param({"requests": {"cpu": 0, "memory": 0}}, 0, 0, id="zero requested"),
        pytest.param(
            {"containers": [cpu(1), make_container("d", {"memory": 5})]},
            1000 + DEFAULT_MILLI_CPU,
            DEFAULT_MEMORY + 5,
            id="each container for itself",
        ),
        pytest.param(
            {"init_containers": [make_container("i", is_sidecar=True)]},
            2 * DEFAULT_MILLI_CPU,
            2 * DEFAULT_MEMORY,
            id="a sidecar as a container",
        ),
        pytest.param(
            {"requests": {"cpu": 0, "memory": 0}, "init_containers": [make_container("i")]},
            DEFAULT_MILLI_CPU,
            DEFAULT_MEMORY,
            id="an init container as a step",
        ),
        pytest.param(
            {"overhead": {"cpu": "10m"}},
            DEFAULT_MILLI_CPU + 10,
            DEFAULT_MEMORY,
            id="overhead takes no default away",
        ),
        pytest.param(
            {"pod_requests": {"cpu": "10m"}},
            10,
            DEFAULT_MEMORY,
            id="pod-level: a default for what is missing in the total",
        ),
        pytest.param(
            {"containers": [cpu(1), make_container("d")], "pod_requests": {"memory": 7}},
            1000,
            7,
            id="pod-level: none for what one container requests",
        ),
        pytest.param(
            {"pod_requests": {"cpu": 1}, "overhead": {"memory": 3}},
            1000,
            3,
            id="pod-level: none for what is in the overhead",
        ),
    ],
)
def test_what_scoring_counts(fields: PodFields, milli_cpu: int, memory: int) -> None:
    requests = pod_requests(make_pod(**fields))
    assert requests.nonzero_milli_cpu == milli_cpu
    assert requests.nonzero_memory_bytes == memory


@pytest.mark.parametrize(
    ("in_use", "allocated", "milli_cpu"),
    [
        pytest.param({"cpu": 1}, {"cpu": 1}, 2000, id="to be enlarged"),
        pytest.param({"cpu": 3}, {"cpu": 1}, 3000, id="still in use"),
        pytest.param({"cpu": 1}, {"cpu": 4}, 4000, id="allocated already"),
        pytest.param({"cpu": 1}, None, 2000, id="nothing allocated"),
        pytest.param(None, {"cpu": 4}, 2000, id="nothing known of the use"),
        pytest.param({"memory": 1}, None, 2000, id="another resource in use"),
    ],
)
def test_a_resize_counts_the_largest_of_all(
    in_use: Amounts | None, allocated: Amounts | None, milli_cpu: int
) -> None:
    pod = make_pod(
        containers=[cpu(2)],
        container_statuses=[granted("other", {"cpu": 90}), granted("c", in_use, allocated)],
    )
    assert pod_requests(pod, with_status=True).milli_cpu == milli_cpu
    assert pod_requests(pod).milli_cpu == 2000


INFEASIBLE = PodCondition("PodResizePending", "True", reason="Infeasible")
DEFERRED = PodCondition("PodResizePending", "True", reason="Deferred")


@pytest.mark.parametrize(
    ("conditions", "milli_cpu"),
    [
        pytest.param([INFEASIBLE], 1000, id="infeasible: the specification does not count"),
        pytest.param([DEFERRED], 5000, id="deferred: it does"),
        pytest.param([PodCondition("Ready", "True", reason="Infeasible")], 5000, id="other"),
    ],
)
def test_an_infeasible_resize(conditions: list[PodCondition], milli_cpu: int) -> None:
    pod = make_pod(
        containers=[cpu(5)],
        container_statuses=[granted("c", {"cpu": 1}, {"cpu": 1})],
        conditions=conditions,
    )
    assert pod_requests(pod, with_status=True).milli_cpu == milli_cpu


def test_sidecars_are_resized_and_init_containers_are_not() -> None:
    pod = make_pod(
        containers=[cpu(1)],
        init_containers=[cpu(1, name="sidecar", is_sidecar=True), cpu(1, name="init")],
        init_container_statuses=[granted("sidecar", {"cpu": 3}), granted("init", {"cpu": 90})],
    )
    # The container and the sidecar; the init container beside the sidecar takes as much.
    assert pod_requests(pod, with_status=True).milli_cpu == 4000


@pytest.mark.parametrize(
    ("status", "milli_cpu", "memory"),
    [
        pytest.param({}, 2000, 100, id="no status"),
        pytest.param({"granted": {"cpu": 3}}, 3000, 100, id="in use"),
        pytest.param({"granted": {"cpu": 1}, "allocated": {"cpu": 4}}, 4000, 100, id="allocated"),
        pytest.param({"allocated": {"cpu": 4}}, 2000, 100, id="nothing known of the use"),
        pytest.param(
            {"granted": {"cpu": 1, GPU: 5}, "conditions": [INFEASIBLE]},
            1000,
            0,
            id="infeasible",
        ),
    ],
)
def test_pod_level_resizes(status: PodFields, milli_cpu: int, memory: int) -> None:
    fields: PodFields = {**status, "pod_requests": {"cpu": 2, "memory": 100}}
    pod = make_pod(**fields)
    requests = pod_requests(pod, with_status=True)
    assert (requests.milli_cpu, requests.memory_bytes) == (milli_cpu, memory)
    assert requests.scalars == ()
    assert pod_requests(pod).milli_cpu == 2000


def limited(name: str, limits: Amounts | None, *, is_sidecar: bool = False) -> Container:
    return make_container(name, limits=limits, is_sidecar=is_sidecar)


@pytest.mark.parametrize(
    ("fields", "limits"),
    [
        pytest.param({}, {}, id="no limits"),
        pytest.param(
            {"containers": [limited("a", {"cpu": "0.7"}), limited("b", {"cpu": 1, "memory": 5})]},
            {"cpu": 1_700_000_000, "memory": 5 * 10**9},
            id="containers run together",
        ),
        pytest.param(
            {
                "containers": [limited("a", {"cpu": 1})],
                "init_containers": [
                    limited("i", {"cpu": 2}),
                    limited("s", {"cpu": 3}, is_sidecar=True),
                    limited("j", {"cpu": 2}),
                ],
            },
            {"cpu": 5 * 10**9},
            id="an init container beside an earlier sidecar",
        ),
        pytest.param(
            {"containers": [limited("a", {"memory": 5})], "overhead": {"cpu": 1, "memory": 2}},
            {"memory": 7 * 10**9},
            id="overhead only where there is a limit",
        ),
        pytest.param(
            {
                "containers": [limited("a", {"cpu": 2, GPU: 1})],
                "pod_limits": {"cpu": 1, GPU: 5, "memory": 9},
            },
            {"cpu": 10**9, "memory": 9 * 10**9, GPU: 10**9},
            id="of the Pod as a whole, for what may be so",
        ),
    ],
)
def test_limits(fields: PodFields, limits: dict[str, int]) -> None:
    assert pod_limits(make_pod(**fields).spec) == tuple(sorted(limits.items()))


def test_a_quantity_that_cannot_be_read_is_said() -> None:
    with pytest.raises(InputError, match="'lots' is no quantity"):
        pod_requests(make_pod(requests={"cpu": "lots"}))
