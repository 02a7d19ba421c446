"""The labels and names that a Pod demands of its Node: nodeSelector and required node affinity.

Source: staging/src/k8s.io/component-helpers/scheduling/corev1/nodeaffinity, v1.36.3.
"""

import msgspec
import numpy as np

from scheduler_svc.core.columns import NodeView
from scheduler_svc.core.label_syntax import term_faults
from scheduler_svc.core.labels import BoolArray, matches_field, matches_term
from scheduler_svc.core.objects import NodeSelectorTerm, Requirement
from scheduler_svc.core.pods import PodShape

Terms = tuple[NodeSelectorTerm, ...]


class RequiredAffinity(msgspec.Struct, frozen=True):
    """A nodeSelector, all of which must hold, and terms of which one must; None: not given."""

    selector: tuple[Requirement, ...]
    terms: Terms | None

    @property
    def is_given(self) -> bool:
        """Whether anything is demanded."""
        return bool(self.selector) or self.terms is not None

    def matches(self, labels: dict[str, str], node_name: str) -> bool:
        """Whether one Node satisfies both."""
        if not all(labels.get(r.key) == r.values[0] for r in self.selector):
            return False
        return self.terms is None or any(matches_term(t, labels, node_name) for t in self.terms)

    def mask(self, nodes: NodeView) -> BoolArray:
        """Give bool `(K,)`: which Nodes of the view satisfy both. O(requirements x K)."""
        mask = np.ones(nodes.count, dtype=np.bool_)
        for requirement in self.selector:
            mask &= nodes.columns.label_column(requirement.key).match(requirement, nodes.rows)
        if self.terms is not None:
            any_term = np.zeros(nodes.count, dtype=np.bool_)
            for term in self.terms:
                any_term |= term_mask(term, nodes)
            mask &= any_term
        return mask


def required_affinity(shape: PodShape) -> RequiredAffinity:
    """Give what Pods of a shape demand of a Node; a faulty term is met by none."""
    rules = shape.affinity.node_affinity if shape.affinity else None
    required = rules.required if rules else None
    return RequiredAffinity(
        selector=tuple(
            Requirement(key, "In", (value,)) for key, value in shape.node_selector or ()
        ),
        terms=sound_terms(required.node_selector_terms) if required else None,
    )


def sound_terms(terms: Terms) -> Terms:
    """Leave out the terms that nothing can be made of."""
    return tuple(term for term in terms if not term_faults(term))


def term_mask(term: NodeSelectorTerm, nodes: NodeView) -> BoolArray:
    """Give bool `(K,)`: which Nodes of the view meet all of a term; an empty one none."""
    if not term.match_expressions and not term.match_fields:
        return np.zeros(nodes.count, dtype=np.bool_)
    mask = np.ones(nodes.count, dtype=np.bool_)
    for requirement in term.match_expressions:
        mask &= nodes.columns.label_column(requirement.key).match(requirement, nodes.rows)
    for requirement in term.match_fields:
        mask &= _field_mask(requirement, nodes)
    return mask


def _field_mask(requirement: Requirement, nodes: NodeView) -> BoolArray:
    # All Nodes but the one named fare alike: judge that one and a name that is not its own.
    other = "".join((*requirement.values, "-"))
    mask = np.full(nodes.columns.capacity, matches_field(requirement, other), dtype=np.bool_)
    for name in requirement.values:
        row = nodes.columns.rows.get(name)
        if row is not None:
            mask[row] = matches_field(requirement, name)
    return mask[nodes.rows]
