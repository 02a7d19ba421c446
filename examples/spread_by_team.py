"""Keeps the Pods of a team apart, so that one broken Node does not hit a whole team.

The team is the Pod's annotation `example.com/team`, or else its namespace.
"""

from typing import Any

from berthmaster.plugin import Node, NodePlugin, Normalize, Pod

TEAM = "example.com/team"


class SpreadByTeam(NodePlugin[Any]):
    """Prefers Nodes with fewer Pods of the same team: one Node at a time, in plain Python."""

    pod_fields = frozenset({"annotations", "namespace"})
    pod_annotations = frozenset({TEAM})
    normalize = Normalize.LOWER_IS_BETTER

    def score(self, pod: Pod, node: Node) -> float:
        """Count the team's Pods on the Node."""
        team = team_of(pod)
        return sum(team_of(other) == team for other in node.pods)


def team_of(pod: Pod) -> str:
    """Give the team that a Pod belongs to."""
    return pod.annotations.get(TEAM, pod.namespace)
