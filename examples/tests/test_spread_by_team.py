from berthmaster.testing import cluster, node, pod
from examples.spread_by_team import TEAM, SpreadByTeam


def test_a_team_is_spread() -> None:
    world = cluster(nodes=[node("a"), node("b"), node("c")], plugins=[SpreadByTeam()])
    placed = [world.schedule(pod(f"p{i}", annotations={TEAM: "data"})).node for i in range(3)]
    assert sorted(placed) == ["a", "b", "c"]


def test_other_teams_do_not_count() -> None:
    crowd = [pod(f"q{i}", on="a", annotations={TEAM: "web"}) for i in range(5)]
    mine = pod("mine", on="b", annotations={TEAM: "data"})
    world = cluster(nodes=[node("a"), node("b")], pods=[*crowd, mine], plugins=[SpreadByTeam()])
    assert world.schedule(pod("new", annotations={TEAM: "data"})).node == "a"


def test_without_the_annotation_the_namespace_is_the_team() -> None:
    there = pod("there", on="a", namespace="shop")
    world = cluster(nodes=[node("a"), node("b")], pods=[there], plugins=[SpreadByTeam()])
    assert world.schedule(pod("new", namespace="shop")).node == "b"
