"""Where room is to be kept for a group that has waited too long."""

from scheduler_svc.core.objects import OwnerReference
from tests.builders import make_node_info, make_pod_info
from tests.gangs import make_group, make_member, make_members
from tests.unit.scheduler_svc.core.pod_groups.stages import FOUR_CPUS, Stage

DAEMON = OwnerReference("apps/v1", "DaemonSet", "d", "u", controller=True)


def test_the_emptiest_nodes_and_no_more_than_are_needed() -> None:
    placed = [
        make_pod_info(f"{node}-{number}", node=node, requests={"cpu": "1"})
        for node, count in (("n1", 3), ("n2", 1), ("n3", 2), ("n4", 3))
        for number in range(count)
    ]
    nodes = ["n1", "n2", "n3", "n4"]
    stage = Stage(nodes=nodes, groups=[make_group(min_count=2)], placed=placed)
    stage.add(*make_members(2, requests=FOUR_CPUS))
    stage.run()
    stage.wait(61)
    assert set(stage.scheduler.nominator.node_names.values()) == {"n2", "n3"}


def test_what_is_more_important_or_is_made_anew_at_once_is_not_waited_for() -> None:
    placed = [
        make_pod_info("daemon", node="n1", requests={"cpu": "1"}, owner=DAEMON),
        make_pod_info("urgent", node="n2", requests={"cpu": "1"}, priority=5),
        make_pod_info("low", node="n3", requests={"cpu": "2"}),
    ]
    stage = Stage(nodes=["n1", "n2", "n3"], groups=[make_group(min_count=1)], placed=placed)
    stage.add(make_member("large", requests=FOUR_CPUS))
    stage.run()
    stage.wait(61)
    assert stage.scheduler.nominator.node_names == {"uid-large": "n3"}


def test_the_nodes_of_one_domain_where_the_group_is_to_be_packed() -> None:
    nodes = [
        make_node_info(f"{zone}{number}", labels={"zone": zone})
        for zone, count in (("a", 1), ("b", 2))
        for number in range(count)
    ]
    placed = [make_pod_info(f"p-{n.name}", node=n.name, requests={"cpu": "1"}) for n in nodes]
    group = make_group(min_count=2, pack_by="zone")
    stage = Stage(nodes=nodes, groups=[group], placed=placed)
    stage.add(*make_members(2, requests=FOUR_CPUS))
    stage.run()
    stage.wait(61)
    assert set(stage.scheduler.nominator.node_names.values()) == {"b0", "b1"}
