"""Which Nodes can reach a volume.

Source: staging/src/k8s.io/component-helpers/storage/volume/helpers.go
(`CheckNodeAffinity`), scheduling/corev1/nodeaffinity and
pkg/scheduler/framework/plugins/volumebinding/binder.go (`tryTranslatePVToCSI`), v1.36.3.
As there, fields in a volume's node affinity are not looked at.
"""

import weakref
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from scheduler_svc.core.labels import matches_value, parse_int64
from scheduler_svc.core.objects import NodeSelectorTerm, Requirement
from scheduler_svc.core.storage_objects import PersistentVolume
from scheduler_svc.core.volumes.migration import (
    Untranslatable,
    csi_volume,
    in_tree_plugin,
    migrated_terms,
)
from scheduler_svc.core.volumes.node_rows import Conjunction

Terms = Sequence[Conjunction] | None


class Reach(msgspec.Struct, frozen=True, eq=False, gc=True, weakref=True):
    """Terms of which a Node must meet one; None: every Node will do."""

    terms: Terms

    def includes(self, labels: Mapping[str, str]) -> bool:
        """Whether a Node with these labels reaches the volume."""
        return self.terms is None or any(
            all(matches_value(r, labels.get(r.key)) for r in term) for term in self.terms
        )


class VolumeReach(msgspec.Struct, frozen=True, eq=False):
    """How a volume is reached: `migrated` where a CSI driver has taken over `plugin`.

    `error` is set where the CSI driver could not make sense of the volume.
    """

    own: Reach
    plugin: str | None = None
    migrated: Reach | None = None
    error: str = ""


_EVERYWHERE: Final = VolumeReach(Reach(None))
_known: Final[weakref.WeakKeyDictionary[PersistentVolume, VolumeReach]] = (
    weakref.WeakKeyDictionary()
)


def reach_of(volume: PersistentVolume) -> VolumeReach:
    """Give how a volume is reached; computed once for each version of it."""
    reach = _known.get(volume)
    if reach is None:
        reach = _known[volume] = _reach_of(volume)
    return reach


def _reach_of(volume: PersistentVolume) -> VolumeReach:
    affinity = volume.spec.node_affinity
    required = None if affinity is None else affinity.required
    plugin = in_tree_plugin(volume)
    if required is None and plugin is None:
        return _EVERYWHERE
    terms = None if required is None else _conjunctions(required.node_selector_terms)
    own = Reach(terms)
    if plugin is None:
        return VolumeReach(own)
    translated = csi_volume(volume)
    if isinstance(translated, Untranslatable):
        return VolumeReach(own, plugin, error=f"could not translate pv: {translated.reason}")
    return VolumeReach(own, plugin, Reach(migrated_terms(volume, plugin, terms)))


def _conjunctions(terms: Sequence[NodeSelectorTerm]) -> list[Conjunction]:
    return [
        term.match_expressions
        for term in terms
        if (term.match_expressions or term.match_fields)
        and all(map(_is_valid, term.match_expressions))
        and all(len(r.values) == 1 and r.operator in ("In", "NotIn") for r in term.match_fields)
    ]


def _is_valid(requirement: Requirement) -> bool:
    count = len(requirement.values)
    match requirement.operator:
        case "In" | "NotIn":
            return count > 0
        case "Exists" | "DoesNotExist":
            return count == 0
        case "Gt" | "Lt":
            return count == 1 and parse_int64(requirement.values[0]) is not None
        case _:
            return False
