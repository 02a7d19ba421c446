from berthmaster.testing import cluster, node, pod
from examples.energy_price import EnergyPrice, EnergyPriceArgs

ZONE = "topology.kubernetes.io/zone"
PRICES = EnergyPrice(EnergyPriceArgs(prices={"a": 0.10, "b": 0.20, "c": 0.30}))


def test_the_cheapest_zone_wins() -> None:
    nodes = [node(f"n-{zone}", labels={ZONE: zone}) for zone in "abc"]
    world = cluster(nodes=nodes, plugins=[PRICES])
    assert world.judge(pod()).scores["EnergyPrice"] == {"n-a": 100, "n-b": 50, "n-c": 0}
    assert world.schedule(pod()).node == "n-a"


def test_a_node_without_a_price_counts_as_the_dearest() -> None:
    world = cluster(nodes=[node("n-a", labels={ZONE: "a"}), node("unknown")], plugins=[PRICES])
    assert world.judge(pod()).scores["EnergyPrice"] == {"n-a": 100, "unknown": 0}
