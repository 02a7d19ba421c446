import pytest

from berthmaster.cli.diagnosis.amounts import allocatable_of, format_age, format_amount
from berthmaster.cli.diagnosis.daemons import component_of, daemon_pod
from berthmaster.cli.diagnosis.declared import declared, flag_value
from berthmaster.cli.diagnosis.facts import LeaseState, Scope
from berthmaster.cli.diagnosis.installations import expected_lease, installations_of
from berthmaster.cli.diagnosis.wire import (
    ConfigMapSource,
    Container,
    ContainerState,
    ContainerStatus,
    Daemon,
    DaemonSpec,
    DaemonStatus,
    KeyToPath,
    Metadata,
    State,
    Volume,
    VolumeMount,
)
from scheduler_svc.shell.options import SchedulerOptions
from scheduler_svc.shell.startup import effective_configuration
from tests.unit.berthmaster.diagnosis.clusters import NOW, replica

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


@pytest.mark.parametrize(
    ("arguments", "names", "lease_key"),
    [
        ((), ("berthmaster",), "kube-system/berthmaster"),
        (("scheduler", "--scheduler-name", "gpu"), ("gpu",), "kube-system/berthmaster-gpu"),
        (("--scheduler-name=gpu", "--leader-elect=false"), ("gpu",), ""),
        (("--no-leader-elect",), ("berthmaster",), ""),
        (("--no-leader-elect", "--leader-elect"), ("berthmaster",), "kube-system/berthmaster"),
        (("--dry-run",), ("berthmaster",), ""),
        (
            ("--leader-elect-resource-namespace=a", "--leader-elect-resource-name", "b"),
            ("berthmaster",),
            "a/b",
        ),
    ],
)
def test_arguments_say_names_and_lease(
    arguments: tuple[str, ...], names: tuple[str, ...], lease_key: str
) -> None:
    told = declared(arguments)
    assert (told.names, told.lease_key) == (names, lease_key)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "profiles: [{schedulerName: default-scheduler}]\n",
        "profiles: [{schedulerName: a}, {schedulerName: b}]\n",
        "profiles: [{}]\n",
        "leaderElection: {resourceName: x, resourceNamespace: ns}\n",
        "profiles: [{schedulerName: gpu}, {schedulerName: berthmaster}]\n",
        "profiles: [{schedulerName: default-scheduler}, {schedulerName: berthmaster}]\n",
    ],
)
@pytest.mark.parametrize("own_name", ["berthmaster", "gpu", "default-scheduler"])
def test_a_file_says_the_same_as_to_the_scheduler_itself(
    tmp_path_factory: pytest.TempPathFactory, text: str, own_name: str
) -> None:
    path = tmp_path_factory.mktemp("config") / "c.yaml"
    path.write_text(HEAD + text)
    options = SchedulerOptions(version="1", config_path=str(path), scheduler_name=own_name)
    real = effective_configuration(options)
    told = declared(("--scheduler-name", own_name), HEAD + text)
    assert set(told.names) == {profile.scheduler_name for profile in real.profiles}
    election = real.leader_election
    assert told.lease_key == f"{election.resource_namespace}/{election.resource_name}"


@pytest.mark.parametrize("text", ["{", "- a", "a: &a [*a]", "profiles: 3", "leaderElection: []"])
def test_a_file_that_is_none_counts_as_not_there(text: str) -> None:
    assert declared((), text) == declared(())


def test_flags_are_read_in_both_ways_and_the_last_counts() -> None:
    assert flag_value(("--a", "1", "--a=2"), "--a") == "2"
    assert flag_value(("--a",), "--a") == ""
    assert flag_value(("--ab=1",), "--a") == ""


def daemon(**fields: object) -> Daemon:
    container = Container(
        name="c",
        image="registry:5000/x/berthmaster:1.2.3",
        args=("scheduler", "--config=/etc/b/own.yaml"),
        volume_mounts=(VolumeMount(name="config", mount_path="/etc/b"),),
    )
    source = ConfigMapSource(name="map", items=(KeyToPath(key="key", path="own.yaml"),))
    values: dict[str, object] = {
        "node_name": "n1",
        "containers": (container,),
        "volumes": (Volume(name="config", config_map=source),),
        **fields,
    }
    return Daemon(metadata=Metadata(name="a" * 70, namespace="ns"), spec=DaemonSpec(**values))  # type: ignore[arg-type]


def test_a_pod_of_ours_is_read() -> None:
    pod = daemon_pod(daemon())
    assert pod is not None
    assert pod.version == "1.2.3"
    assert pod.config_map == ("map", "key")
    # The kubelet cuts a host's name to 63 characters.
    assert pod.host_name == "a" * 63
    on_host = daemon_pod(daemon(host_network=True))
    assert on_host is not None
    assert on_host.host_name == "n1"
    by_digest = Container(name="c", image="x/berthmaster@sha256:0123456789abcdef")
    pod = daemon_pod(daemon(containers=(by_digest,)))
    assert pod is not None
    assert (pod.version, pod.config_map) == ("0123456789ab", None)


def test_a_pod_that_only_looks_like_ours_is_not() -> None:
    other = Container(name="c", image="registry/volcano:1")
    assert daemon_pod(daemon(containers=(other,))) is None
    assert component_of({"app.kubernetes.io/component": "scheduler"}) == "scheduler"
    assert component_of({"app.kubernetes.io/component": "db"}) is None
    assert component_of(None) is None


def test_the_trouble_of_a_pod_is_what_its_container_waits_for() -> None:
    waiting = ContainerState(waiting=State(reason="CrashLoopBackOff", message="back-off"))
    status = DaemonStatus(
        phase="Running", container_statuses=(ContainerStatus(name="c", state=waiting),)
    )
    sick = Daemon(metadata=Metadata(name="a"), spec=daemon().spec, status=status)
    pod = daemon_pod(sick)
    assert pod is not None
    assert pod.trouble == "CrashLoopBackOff: back-off"


def test_the_lease_that_is_expected() -> None:
    assert expected_lease(Scope()) == "kube-system/berthmaster"
    assert expected_lease(Scope(scheduler_name="gpu")) == "kube-system/berthmaster-gpu"
    assert expected_lease(Scope(scheduler_name="gpu", lease="a/b")) == "a/b"


def lease(name: str, holder: str) -> LeaseState:
    return LeaseState(namespace="kube-system", name=name, holder=holder, renewed=NOW)


def test_an_old_lease_counts_only_where_nothing_else_is_there() -> None:
    leases = {"kube-system/berthmaster": lease("berthmaster", "")}
    [outside] = installations_of([], leases, (), Scope())
    assert (outside.names, outside.replicas) == (("berthmaster",), ())
    told = declared(("--leader-elect-resource-name=x", "--scheduler-name=x"))
    [there] = installations_of([(replica("x"), told)], leases, (), Scope())
    assert there.lease_key == "kube-system/x"
    assert there.lease is None
    [unknown] = installations_of([], {}, ("kube-system/berthmaster",), Scope())
    assert not unknown.lease_is_known
    assert installations_of([], {}, (), Scope()) == ()


def test_the_scope_chooses_among_installations() -> None:
    own, gpu = declared(()), declared(("--scheduler-name=gpu",))
    replicas = [(replica("a"), own), (replica("b"), gpu)]
    assert len(installations_of(replicas, {}, (), Scope())) == 2
    [found] = installations_of(replicas, {}, (), Scope(scheduler_name="gpu"))
    assert found.names == ("gpu",)
    [found] = installations_of(replicas, {}, (), Scope(lease="kube-system/berthmaster"))
    assert found.names == ("berthmaster",)


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 1500, "1.5"),
        ("cpu", 0, "0"),
        ("cpu", 10000, "10"),
        ("memory", 2**30, "1Gi"),
        ("memory", 2**30 + 2**29, "1.5Gi"),
        ("memory", 100, "100"),
        ("hugepages-2Mi", 2**21, "2Mi"),
        ("pods", 110, "110"),
        ("example.com/gpu", 8, "8"),
    ],
)
def test_amounts_as_people_write_them(resource: str, amount: int, text: str) -> None:
    assert format_amount(resource, amount) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0 s"),
        (5.4, "5 s"),
        (119, "119 s"),
        (180, "3 m"),
        (7200, "2 h"),
        (7500, "2 h 5 m"),
        (86400 * 3, "3 d"),
    ],
)
def test_ages(seconds: float, text: str) -> None:
    assert format_age(seconds) == text


def test_what_a_node_offers() -> None:
    written: dict[str, str | int | float] = {"cpu": "3920m", "memory": "1Gi", "odd": "much"}
    assert allocatable_of(written) == {"cpu": 3920, "memory": 2**30}
