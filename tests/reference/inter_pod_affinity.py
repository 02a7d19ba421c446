"""InterPodAffinity, every Pod looked at for every Node."""

from collections.abc import Iterator

from scheduler_svc.core.affinity_objects import LabelSelector, PodAffinity, PodAffinityTerm
from scheduler_svc.core.objects import Namespace, Pod
from tests.reference.cluster import Cluster, HostedNode

FAR = "node(s) didn't match pod affinity rules"
NEAR = "node(s) didn't match pod anti-affinity rules"
UNWANTED = "node(s) didn't satisfy existing pods anti-affinity rules"

Labels = dict[str, str]
Verdict = str | int | None


def selects(selector: LabelSelector | None, labels: Labels) -> bool:
    """Whether labels meet a selector; none selects nothing."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in (selector.match_labels or {}).items()):
        return False
    for expression in selector.match_expressions:
        has, value = expression.key in labels, labels.get(expression.key)
        met = {
            "In": has and value in expression.values,
            "NotIn": not has or value not in expression.values,
            "Exists": has,
            "DoesNotExist": not has,
        }
        if not met[expression.operator]:
            return False
    return True


class Rules:
    """Decides for one Pod.

    `spaces` are the Namespaces that are known. Upstream asks a selector of namespaces about one
    without labels as well, unless not `quirks`.
    """

    def __init__(
        self,
        pod: Pod,
        cluster: Cluster,
        spaces: list[Namespace],
        *,
        hard_weight: int = 1,
        ignores_others: bool = False,
        quirks: bool = True,
    ) -> None:
        self.pod, self.cluster = pod, cluster
        self.labels_of = {space.metadata.name: space.metadata.labels or {} for space in spaces}
        self.hard_weight, self.ignores_others, self.quirks = hard_weight, ignores_others, quirks

    def verdicts(self) -> dict[str, Verdict]:
        """Give by Node's name a reason, or the score, None where it is skipped."""
        verdicts: dict[str, Verdict] = {n.name: self._reason(n) for n in self.cluster.nodes}
        feasible = [node for node in self.cluster.nodes if verdicts[node.name] is None]
        if feasible:
            verdicts |= self._scores(feasible)
        return verdicts

    def _reason(self, node: HostedNode) -> str | None:
        terms = _near(self.pod).required
        if terms:
            placed = [p for p in self._pods_near_terms() if self._meets_all(terms, p[1])]
            is_first = not placed and self._meets_all(terms, self.pod)
            for term in terms:
                value = node.labels.get(term.topology_key)
                here = any(other.labels.get(term.topology_key) == value for other, _ in placed)
                if value is None or not (here or is_first):
                    return FAR
        for term in _away(self.pod).required:
            if any(self._means(term, p) for p in self._pods_in_domain(node, term.topology_key)):
                return NEAR
        for other, pod in self._pods():
            for term in _away(pod).required:
                if self._speaks_of_it(term, pod) and _share(node, other, term.topology_key):
                    return UNWANTED
        return None

    def _scores(self, feasible: list[HostedNode]) -> dict[str, Verdict]:
        own = [*_near(self.pod).preferred, *_away(self.pod).preferred]
        if self.ignores_others and not own:
            return dict.fromkeys((node.name for node in feasible), None)
        pulls = list(self._pulls())
        if not pulls:
            return dict.fromkeys((node.name for node in feasible), None)
        sums = {
            node.name: sum(w for other, key, w in pulls if _share(node, other, key))
            for node in feasible
        }
        lowest, highest = min(sums.values()), max(sums.values())
        if lowest == highest:
            return dict.fromkeys(sums, 0)
        return {
            name: int(100.0 * (float(total - lowest) / float(highest - lowest)))
            for name, total in sums.items()
        }

    def _pulls(self) -> Iterator[tuple[HostedNode, str, int]]:
        """Give where something draws or repels the Pod, within what, and how much."""
        for node, pod in self._pods():
            wishes = [
                *((w, 1, self._means(w.pod_affinity_term, pod)) for w in _near(self.pod).preferred),
                *(
                    (w, -1, self._means(w.pod_affinity_term, pod))
                    for w in _away(self.pod).preferred
                ),
                *(
                    (w, 1, self._speaks_of_it(w.pod_affinity_term, pod))
                    for w in _near(pod).preferred
                ),
                *(
                    (w, -1, self._speaks_of_it(w.pod_affinity_term, pod))
                    for w in _away(pod).preferred
                ),
            ]
            for wish, sign, is_met in wishes:
                if is_met and wish.pod_affinity_term.topology_key in node.labels:
                    yield node, wish.pod_affinity_term.topology_key, sign * wish.weight
            for term in _near(pod).required if self.hard_weight else ():
                if self._speaks_of_it(term, pod) and term.topology_key in node.labels:
                    yield node, term.topology_key, self.hard_weight

    def _pods(self) -> Iterator[tuple[HostedNode, Pod]]:
        for node in self.cluster.nodes:
            for pod in node.pods:
                yield node, pod

    def _pods_near_terms(self) -> list[tuple[HostedNode, Pod]]:
        """Give the Pods on Nodes that have one of the keys of what the Pod demands."""
        keys = {term.topology_key for term in _near(self.pod).required}
        return [(node, pod) for node, pod in self._pods() if keys & node.labels.keys()]

    def _pods_in_domain(self, node: HostedNode, key: str) -> Iterator[Pod]:
        return (pod for other, pod in self._pods() if _share(node, other, key))

    def _meets_all(self, terms: tuple[PodAffinityTerm, ...], pod: Pod) -> bool:
        return all(self._means(term, pod) for term in terms)

    def _means(self, term: PodAffinityTerm, pod: Pod) -> bool:
        """Whether a term of the Pod that is to be placed is about another one."""
        space, selector = pod.metadata.namespace, term.namespace_selector
        is_meant = space in _named(term, self.pod)
        if selector is not None:
            is_meant |= space in self.labels_of and selects(selector, self.labels_of[space])
            is_meant |= selects(selector, {}) if self.quirks else selector == LabelSelector()
        return is_meant and selects(term.label_selector, pod.metadata.labels or {})

    def _speaks_of_it(self, term: PodAffinityTerm, owner: Pod) -> bool:
        """Whether a term of a Pod on a Node is about the Pod that is to be placed."""
        space = self.pod.metadata.namespace
        is_meant = space in _named(term, owner) or selects(
            term.namespace_selector, self.labels_of.get(space, {})
        )
        return is_meant and selects(term.label_selector, self.pod.metadata.labels or {})


def _named(term: PodAffinityTerm, owner: Pod) -> set[str]:
    if not term.namespaces and term.namespace_selector is None:
        return {owner.metadata.namespace}
    return set(term.namespaces)


def _share(one: HostedNode, other: HostedNode, key: str) -> bool:
    return key in one.labels and one.labels[key] == other.labels.get(key)


def _near(pod: Pod) -> PodAffinity:
    return (pod.spec.affinity and pod.spec.affinity.pod_affinity) or PodAffinity()


def _away(pod: Pod) -> PodAffinity:
    return (pod.spec.affinity and pod.spec.affinity.pod_anti_affinity) or PodAffinity()
