"""The affinity terms of Pods that are on Nodes: which of them speak of a Pod, and where they are.

Terms alike are one, with the number of its holders by Node. Only terms that some Pod holds are
looked at; what a Pod of some namespace and labels is met by is remembered and brought up to date
by the terms that have come and gone since.

Source: staging/src/k8s.io/kube-scheduler/framework/types.go (`AffinityTerm.Matches`), v1.36.3.
"""

import weakref
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, auto
from operator import attrgetter
from typing import Any, Final

import msgspec

from scheduler_svc.core.affinity_rules import AffinityRule
from scheduler_svc.core.cluster_objects import ObjectStore
from scheduler_svc.core.label_selectors import Selector
from scheduler_svc.core.pod_counts import Tally
from scheduler_svc.core.pods import Labels, PodInfo, PodShape

_LOG_CAPACITY: Final = 1024
# Pods of a StatefulSet have labels of their own: all are forgotten beyond that.
_MAX_REMEMBERED: Final = 65536
# Stands for the terms that ask for no label of a certain value; no label has an empty key.
_ANY_LABEL: Final = ("", "")


class TermKind(Enum):
    """What a term of a Pod on a Node means to a Pod that it matches."""

    AFFINITY = auto()
    ANTI_AFFINITY = auto()
    PREFERENCE = auto()


class ExistingTerm(msgspec.Struct, frozen=True):
    """A term that Pods on Nodes may hold; `weight` as in `AffinityRule`."""

    kind: TermKind
    topology_key: str
    namespaces: frozenset[str]
    namespace_selector: Selector | None
    selector: Selector
    weight: int = 0

    def matches(
        self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]
    ) -> bool:
        """Whether the term speaks of Pods with `labels`, in a namespace with labels of its own."""
        is_in_namespace = namespace in self.namespaces or (
            self.namespace_selector is not None
            and self.namespace_selector.matches(namespace_labels)
        )
        return is_in_namespace and self.selector.matches(labels)


class TermCounter:
    """A hold on the number of a term's holders by row: it is kept up to date while it lives."""

    __slots__ = ("__weakref__", "holders", "tally")

    def __init__(self, holders: "TermHolders", tally: Tally) -> None:
        self.holders, self.tally = holders, tally


class TermHolders:
    """A term and how many times Pods hold it, by row; `number` orders terms."""

    __slots__ = ("__weakref__", "_counter", "number", "rows", "term")

    def __init__(self, term: ExistingTerm, number: int) -> None:
        self.term = term
        self.number = number
        self.rows: dict[int, int] = {}
        self._counter: weakref.ref[TermCounter] | None = None

    def counter(self, row_count: int) -> TermCounter:
        """Give a hold on the counts. O(rows with holders) for the first."""
        counter = self._counted()
        if counter is None:
            counter = TermCounter(self, Tally(row_count))
            counter.tally.add_unread(self.rows)
            self._counter = weakref.ref(counter)
        return counter

    def count(self, row: int, sign: int) -> None:
        """Count one Pod in (`sign` 1) or out (-1)."""
        count = self.rows.get(row, 0) + sign
        if count:
            self.rows[row] = count
        else:
            del self.rows[row]
        counter = self._counted()
        if counter is not None:
            counter.tally.add(row, sign)

    def grow(self, row_count: int) -> None:
        """Make room for more rows."""
        counter = self._counted()
        if counter is not None:
            counter.tally.grow(row_count)

    def _counted(self) -> TermCounter | None:
        return None if self._counter is None else self._counter()


class TermMatch:
    """The terms that speak of a Pod; the same object for the same terms.

    `excludes`: whether one of them demands to be away from it. `namespace` and `labels` are
    for whoever asks to note of which of the Pods that it is the same for it speaks now.
    """

    __slots__ = ("__weakref__", "excludes", "holders", "labels", "namespace")

    def __init__(self, holders: tuple[TermHolders, ...]) -> None:
        self.holders = holders
        self.excludes = any(each.term.kind is TermKind.ANTI_AFFINITY for each in holders)
        self.namespace = ""
        self.labels: Labels = ()


class _Remembered:
    """What Pods of some namespace and labels are met by, as of a version."""

    __slots__ = ("found", "match", "version")

    def __init__(self, found: dict[TermHolders, None], match: TermMatch, version: int) -> None:
        self.found, self.match, self.version = found, match, version


class AffinityTerms:
    """All terms of Pods on Nodes; `version` changes when one gets its first or loses its last."""

    def __init__(self, row_count: int, namespaces: ObjectStore) -> None:
        self.version = 0
        self.no_terms = TermMatch(())
        self._row_count = row_count
        self._namespaces = namespaces
        self._term_count = 0
        self._known: weakref.WeakValueDictionary[ExistingTerm, TermHolders] = (
            weakref.WeakValueDictionary()
        )
        self._of_shapes: weakref.WeakKeyDictionary[PodShape, dict[str, tuple[TermHolders, ...]]] = (
            weakref.WeakKeyDictionary()
        )
        self._held: dict[TermHolders, None] = {}
        # Held terms by a label that they ask for, so that most need not be looked at.
        self._by_label: dict[tuple[str, str], dict[TermHolders, None]] = {}
        self._changes: deque[TermHolders] = deque(maxlen=_LOG_CAPACITY)
        self._remembered: dict[str, dict[Labels, _Remembered]] = {}
        self._remembered_count = 0
        self._matches: weakref.WeakValueDictionary[tuple[TermHolders, ...], TermMatch] = (
            weakref.WeakValueDictionary()
        )
        namespaces.listeners.append(self._forget_namespace)

    def count(self, pod: PodInfo, row: int, sign: int) -> None:
        """Count the terms of one Pod in (`sign` 1) or out (-1). O(its terms)."""
        for holders in self._terms_of(pod):
            was_held = bool(holders.rows)
            holders.count(row, sign)
            if was_held != bool(holders.rows):
                self._appear_or_vanish(holders, is_held=not was_held)

    def match(self, namespace: str, labels: Labels) -> TermMatch:
        """Give the terms that speak of Pods in `namespace` with `labels`.

        Cost: two look-ups while no term comes or goes; O(those that did) after; O(terms that
        ask for one of the labels, or for none) for new labels.
        """
        if not self._held:
            return self.no_terms
        of_namespace = self._remembered.get(namespace)
        remembered = None if of_namespace is None else of_namespace.get(labels)
        if remembered is None:
            return self._remember(namespace, labels).match
        if remembered.version != self.version:
            self._update(remembered, namespace, labels)
        return remembered.match

    def counter(self, holders: TermHolders) -> TermCounter:
        """Give a hold on the number of a term's holders by row."""
        return holders.counter(self._row_count)

    def changed_since(self, version: int) -> dict[TermHolders, None]:
        """Give the terms that have come or gone since `version`, perhaps others as well."""
        count = self.version - version
        if count > len(self._changes):
            return self._held
        return dict.fromkeys(self._changes[i] for i in range(-count, 0))

    def speaks_of(self, holders: TermHolders, namespace: str, labels: Labels) -> bool:
        """Whether some Pod holds the term and it matches."""
        return bool(holders.rows) and holders.term.matches(
            namespace, dict(labels), self._labels_of(namespace)
        )

    def grow(self, row_count: int) -> None:
        """Make room for more rows."""
        self._row_count = row_count
        for holders in self._known.values():
            holders.grow(row_count)

    def held(self) -> Iterator[tuple[ExistingTerm, dict[int, int]]]:
        """Give the terms and their holders by row, for comparison with a recount."""
        return ((holders.term, holders.rows) for holders in self._held)

    def _terms_of(self, pod: PodInfo) -> tuple[TermHolders, ...]:
        by_namespace = self._of_shapes.get(pod.shape)
        if by_namespace is None:
            by_namespace = self._of_shapes[pod.shape] = {}
        terms = by_namespace.get(pod.namespace)
        if terms is None:
            terms = by_namespace[pod.namespace] = tuple(
                self._holders_of(term) for term in _existing_terms(pod)
            )
        return terms

    def _holders_of(self, term: ExistingTerm) -> TermHolders:
        """Give what is known of a term: the same object for as long as somebody needs it."""
        holders = self._known.get(term)
        if holders is None:
            self._term_count += 1
            holders = self._known[term] = TermHolders(term, self._term_count)
        return holders

    def _appear_or_vanish(self, holders: TermHolders, *, is_held: bool) -> None:
        self.version += 1
        self._changes.append(holders)
        if is_held:
            self._held[holders] = None
        else:
            del self._held[holders]
        for label in _demanded_labels(holders.term.selector):
            bucket = self._by_label.setdefault(label, {})
            if is_held:
                bucket[holders] = None
            else:
                del bucket[holders]
                if not bucket:
                    del self._by_label[label]

    def _remember(self, namespace: str, labels: Labels) -> _Remembered:
        if self._remembered_count == _MAX_REMEMBERED:
            self._remembered.clear()
            self._remembered_count = 0
        candidates = [*self._by_label.get(_ANY_LABEL, ())]
        for label in labels:
            candidates += self._by_label.get(label, ())
        known, namespace_labels = dict(labels), self._labels_of(namespace)
        found = {
            holders: None
            for holders in candidates
            if holders.term.matches(namespace, known, namespace_labels)
        }
        remembered = _Remembered(found, self._match_of(found), self.version)
        self._remembered.setdefault(namespace, {})[labels] = remembered
        self._remembered_count += 1
        return remembered

    def _update(self, remembered: _Remembered, namespace: str, labels: Labels) -> None:
        changed = self.changed_since(remembered.version)
        if changed is self._held:
            remembered.found = dict.fromkeys(
                h for h in self._held if self.speaks_of(h, namespace, labels)
            )
        for holders in changed:
            if self.speaks_of(holders, namespace, labels):
                remembered.found[holders] = None
            else:
                remembered.found.pop(holders, None)
        remembered.match = self._match_of(remembered.found)
        remembered.version = self.version

    def _match_of(self, found: dict[TermHolders, None]) -> TermMatch:
        if not found:
            return self.no_terms
        holders = tuple(sorted(found, key=attrgetter("number")))
        match = self._matches.get(holders)
        if match is None:
            match = self._matches[holders] = TermMatch(holders)
        return match

    def _labels_of(self, namespace: str) -> Mapping[str, str]:
        known = self._namespaces.get("", namespace)
        return {} if known is None else known.metadata.labels or {}

    def _forget_namespace(self, old: Any, new: Any) -> None:
        """Forget what Pods of a namespace whose labels have changed are met by."""
        before = {} if old is None else old.metadata.labels or {}
        after = {} if new is None else new.metadata.labels or {}
        if before != after:
            forgotten = self._remembered.pop((old or new).metadata.name, {})
            self._remembered_count -= len(forgotten)


def _existing_terms(pod: PodInfo) -> Iterator[ExistingTerm]:
    """Give the terms that a Pod would hold on a Node; one that matches nothing is none."""
    rules = pod.shape.affinity_rules
    if rules is None:
        return
    for kind, of_kind in (
        (TermKind.AFFINITY, rules.affinity),
        (TermKind.ANTI_AFFINITY, rules.anti_affinity),
        (TermKind.PREFERENCE, rules.preferred),
    ):
        for rule in of_kind:
            if rule.selector is not None:
                yield _existing_term(kind, rule, rule.selector, pod.namespace)


def _existing_term(
    kind: TermKind, rule: AffinityRule, selector: Selector, namespace: str
) -> ExistingTerm:
    return ExistingTerm(
        kind=kind,
        topology_key=rule.topology_key,
        namespaces=rule.named_namespaces(namespace),
        namespace_selector=rule.namespace_selector,
        selector=selector,
        weight=rule.weight,
    )


def _demanded_labels(selector: Selector) -> Sequence[tuple[str, str]]:
    """Give labels of which a Pod has to have one to be matched; `_ANY_LABEL` if it need not."""
    for requirement in selector.requirements:
        if requirement.operator == "In":
            return [(requirement.key, value) for value in dict.fromkeys(requirement.values)]
    return [_ANY_LABEL]
