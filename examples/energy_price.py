"""Prefers the zones where energy is cheap just now.

Enable it in a KubeSchedulerConfiguration::

    profiles:
    - schedulerName: berthmaster
      plugins:
        multiPoint:
          enabled: [{name: EnergyPrice, weight: 2}]
      pluginConfig:
      - name: EnergyPrice
        args:
          prices: {eu-west-1a: 0.21, eu-west-1b: 0.34}
"""

from berthmaster.plugin import Args, Float64Array, Nodes, Normalize, Pod, Scope, VectorPlugin


class EnergyPriceArgs(Args, frozen=True):
    """Prices by the value of a label; a Node without a price counts as the dearest."""

    prices: dict[str, float]
    label: str = "topology.kubernetes.io/zone"


class EnergyPrice(VectorPlugin[EnergyPriceArgs]):
    """Gives 100 to the cheapest of the Nodes on which the Pod may run, 0 to the dearest."""

    args_type = EnergyPriceArgs
    # It reads nothing of the Pod, and of a Node only its labels: asked once for all Pods alike.
    pod_fields = frozenset[str]()
    scope = Scope.SPEC
    normalize = Normalize.LOWER_IS_BETTER

    def score(self, pod: Pod, nodes: Nodes) -> Float64Array:
        """Give the price in thousandths, since scores are whole numbers."""
        dearest = max(self.args.prices.values(), default=0.0)
        return 1000 * nodes.by_label(self.args.label, self.args.prices, default=dearest)
