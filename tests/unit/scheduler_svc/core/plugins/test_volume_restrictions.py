"""VolumeRestrictions: disks of one Pod a Node, claims of one Pod alone."""

import pytest

from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.framework.verdict import judge
from scheduler_svc.core.plugins.volume_restrictions import RestrictedVolumes, VolumeRestrictions
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import SKIP, Status
from scheduler_svc.core.volume_objects import GCEPersistentDiskVolumeSource, Volume
from tests.builders import make_node_info, make_profile
from tests.storage import (
    claiming,
    ephemeral,
    make_claim,
    make_storage_cache,
    make_storage_cluster,
    pod_claiming,
    pod_with,
    tell,
)
from tests.unit.scheduler_svc.core.plugins.asking import (
    NODE_ADD,
    POD_DELETE,
    UNRESOLVABLE,
    UNSCHEDULABLE,
    is_queued,
    registered,
)
from tests.unit.scheduler_svc.core.plugins.storage_asking import CLAIM_ADD, Answer

NODES = [make_node_info("a"), make_node_info("b")]
NO_DISK = (UNSCHEDULABLE, ["node(s) had no available disk"])
TAKEN = (
    UNSCHEDULABLE,
    [
        (
            "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
            "already in-use by another pod"
        )
    ],
)
EXCLUSIVE = make_claim(access_modes=("ReadWriteOncePod",))
POD = pod_claiming("data")
ANY_STATE = RestrictedVolumes(make_storage_cluster().volumes, "default", [], (), 0, 0)


def disk(name: str, *, read_only: bool = False) -> Volume:
    return Volume(gce_persistent_disk=GCEPersistentDiskVolumeSource(name, read_only))


def test_a_disk_that_is_in_use() -> None:
    holders = [
        pod_with(disk("d"), name="h1", node="a"),
        pod_with(disk("d", read_only=True), name="h2", node="b"),
    ]
    cluster = make_storage_cluster(NODES, [], holders)
    writer, reader = pod_with(disk("d")), pod_with(disk("d", read_only=True))
    assert Answer(VolumeRestrictions(), writer, cluster).nodes == {"a": NO_DISK, "b": NO_DISK}
    assert Answer(VolumeRestrictions(), reader, cluster).nodes == {"a": NO_DISK, "b": None}
    other = Answer(VolumeRestrictions(), pod_with(disk("e")), cluster)
    assert other.nodes == {"a": None, "b": None}


def test_a_claim_of_another_pod() -> None:
    users = [pod_claiming("data", name="u", node="a")]
    assert (
        Answer(VolumeRestrictions(), POD, make_storage_cluster(NODES, [EXCLUSIVE])).status == SKIP
    )
    taken = make_storage_cluster(NODES, [EXCLUSIVE], users)
    assert Answer(VolumeRestrictions(), POD, taken).nodes == {"a": TAKEN, "b": TAKEN}
    shared = make_storage_cluster(NODES, [make_claim()], users)
    assert Answer(VolumeRestrictions(), POD, shared).status == SKIP
    elsewhere = [pod_claiming("data", name="u", node="a", namespace="team")]
    free = make_storage_cluster(NODES, [EXCLUSIVE], elsewhere)
    assert Answer(VolumeRestrictions(), POD, free).status == SKIP


def test_the_disk_is_looked_at_first() -> None:
    pod = pod_with(*claiming("data"), disk("d"))
    users = [pod_with(*claiming("data"), disk("d"), name="u", node="a")]
    cluster = make_storage_cluster(NODES, [EXCLUSIVE], users)
    assert Answer(VolumeRestrictions(), pod, cluster).nodes == {"a": NO_DISK, "b": TAKEN}


def test_without_the_user_the_claim_would_be_free() -> None:
    user = pod_claiming("data", name="u", node="a")
    cache = make_storage_cache(NODES, [EXCLUSIVE], [user])
    plugin, columns = VolumeRestrictions(), cache.columns
    prepared = prepare(
        make_profile({"preFilter": [plugin], "filter": [plugin]}), POD, cache.cluster
    )
    assert len(judge(prepared, columns).rows) == 0
    with cache.speculation() as speculation:
        speculation.remove(user, columns.rows["a"])
        assert len(judge(prepared, columns).rows) == 2
    assert len(judge(prepared, columns).rows) == 0


def test_each_use_that_goes_takes_a_conflict_away_as_upstream() -> None:
    users = [pod_claiming("data", name=name, node="a") for name in ("u", "v")]
    cache = make_storage_cache(NODES, [EXCLUSIVE], users)
    plugin, columns = VolumeRestrictions(), cache.columns
    prepared = prepare(
        make_profile({"preFilter": [plugin], "filter": [plugin]}), POD, cache.cluster
    )
    with cache.speculation() as speculation:
        speculation.remove(users[0], columns.rows["a"])
        assert len(judge(prepared, columns).rows) == 2


def test_a_claim_that_is_missing() -> None:
    reason = 'persistentvolumeclaim "data" not found'
    missing = Answer(VolumeRestrictions(), POD, make_storage_cluster(NODES))
    assert missing.status == Status(UNRESOLVABLE, (reason,))
    made = Answer(VolumeRestrictions(), pod_with(ephemeral()), make_storage_cluster(NODES))
    assert made.status == SKIP


def test_what_is_read_shows_what_matters() -> None:
    plugin = VolumeRestrictions()
    cache = make_storage_cache(NODES)
    cluster, pod = cache.cluster, pod_with(*claiming("data"), ephemeral(), disk("d"))
    read = [plugin.projection(pod, cluster)]
    tell(cluster, EXCLUSIVE)
    read.append(plugin.projection(pod, cluster))
    cache.upsert(pod_claiming("data", name="u", node="a"))
    read.append(plugin.projection(pod, cluster))
    read.append(plugin.projection(pod_claiming("data"), cluster))
    assert len(set(read)) == 4
    tell(cluster, make_claim())
    shared = plugin.projection(pod, cluster)
    cache.upsert(pod_claiming("data", name="v", node="a"))
    assert plugin.projection(pod, cluster) == shared
    assert plugin.projection(pod_with(), cluster) is None


def test_events() -> None:
    assert registered(VolumeRestrictions()) == {"Node add", "Pod delete"}
    assert is_queued(VolumeRestrictions(), NODE_ADD, POD, None, NODES[0])


@pytest.mark.parametrize(
    ("gone", "queued"),
    [
        (pod_claiming("data", name="g", node="a"), True),
        (pod_claiming("data", name="g", nominated="a"), True),
        (pod_claiming("data", name="g"), False),
        (pod_claiming("data", name="g", node="a", namespace="team"), False),
        (pod_claiming("other", name="g", node="a"), False),
        (pod_with(disk("d"), name="g", node="a"), True),
        (pod_with(disk("d"), name="g", node="a", namespace="team"), True),
        (pod_with(disk("e"), name="g", node="a"), False),
        (pod_with(ephemeral("data"), name="g", node="a"), False),
    ],
)
def test_pods_whose_end_calls_the_pod(gone: PodInfo, queued: bool) -> None:
    pod = pod_with(*claiming("data"), disk("d"))
    assert is_queued(VolumeRestrictions(), POD_DELETE, pod, gone, None) is queued


@pytest.mark.parametrize(("name", "queued"), [("data", True), ("other", False)])
def test_claims_that_call_the_pod(name: str, queued: bool) -> None:
    assert is_queued(VolumeRestrictions(), CLAIM_ADD, POD, None, make_claim(name)) is queued


def test_pods_without_volumes_do_not_concern_it() -> None:
    assert VolumeRestrictions().is_concerned_by(ANY_STATE, pod_claiming("x", node="a"))
    assert not VolumeRestrictions().is_concerned_by(ANY_STATE, pod_with(node="a"))
