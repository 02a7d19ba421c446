"""Explains a list of scoring strategies with weights, as tutorials show it.

Kubernetes has no such list. NodeResourcesFit scores by one strategy, and balance is a
plugin of its own: what such a list wants is written as one `scoringStrategy.type` and
as the weights of two plugins. The explanation writes it, with the author's weights.
"""

from typing import Final

from scheduler_svc.shell.config.document import MappingNode, Node, ScalarNode, SequenceNode

STRATEGIES: Final = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
"""What `scoringStrategy.type` can be."""

_BALANCED: Final = frozenset({"BalancedAllocation", "NodeResourcesBalancedAllocation"})
_RULE: Final = (
    "NodeResourcesFit scores by one strategy, and BalancedAllocation is a plugin of its own, "
    "so the weights belong to the plugins; write in the profile"
)
_NAME_KEYS: Final = ("type", "name", "strategy")


def explain_scoring_strategies(node: Node) -> str:
    """Return how to write what the list at `node` wants."""
    weights = dict(_read_entries(node))
    strategies = [name for name in weights if name in STRATEGIES]
    balanced = next((weights[name] for name in weights if name in _BALANCED), None)
    strategy = strategies[0] if strategies else STRATEGIES[0]
    lines = [
        _RULE,
        "plugins:",
        "  multiPoint:",
        "    enabled:",
        "    - name: NodeResourcesFit",
        f"      weight: {weights.get(strategy, 1)}",
    ]
    if balanced is not None or not weights:
        lines += [
            "    - name: NodeResourcesBalancedAllocation",
            f"      weight: {balanced if balanced is not None else 1}",
        ]
    lines += [
        "pluginConfig:",
        "- name: NodeResourcesFit",
        "  args:",
        "    scoringStrategy:",
        f"      type: {strategy}",
    ]
    if len(strategies) > 1:
        rest = ", ".join(strategies[1:])
        lines.append(f"one profile has one strategy: {rest} cannot be added to {strategy}")
    return "\n".join(lines)


def is_list_of_strategies(node: Node) -> bool:
    """Whether a list names scoring strategies."""
    names = {name for name, _ in _read_entries(node)}
    return bool(names & (_BALANCED | set(STRATEGIES)))


def _read_entries(node: Node) -> list[tuple[str, int]]:
    items = node.items if isinstance(node, SequenceNode) else ()
    entries = [_read_entry(item) for item in items]
    return [entry for entry in entries if entry is not None]


def _read_entry(item: Node) -> tuple[str, int] | None:
    if isinstance(item, ScalarNode):
        return item.text, 1
    if not isinstance(item, MappingNode):
        return None
    weight = _integer(item.fields.get("weight"))
    for key in _NAME_KEYS:
        named = item.fields.get(key)
        if isinstance(named, ScalarNode):
            return named.text, weight
    if len(item.fields) == 1:
        name, value = next(iter(item.fields.items()))
        return name, _integer(value)
    return None


def _integer(node: Node | None) -> int:
    value = node.value if isinstance(node, ScalarNode) else None
    return value if type(value) is int and value > 0 else 1
