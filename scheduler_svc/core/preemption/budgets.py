"""PodDisruptionBudgets: which evictions would break a promise.

Source: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go
(`filterPodsWithPDBViolation`), v1.36.3.
"""

from collections.abc import Iterable, Sequence

from scheduler_svc.core.disruption_objects import PodDisruptionBudget
from scheduler_svc.core.label_selectors import Selector, compile_selector
from scheduler_svc.core.pods import Labels, PodInfo


class Budgets:
    """All budgets, by namespace; a budget without a selector, or with an empty one, is of no Pod.

    Which budgets a Pod is of is found once for all Pods alike in namespace and labels.
    """

    def __init__(self, budgets: Iterable[PodDisruptionBudget]) -> None:
        self._budgets: dict[str, list[tuple[Selector, PodDisruptionBudget]]] = {}
        self._matching: dict[tuple[str, Labels], list[PodDisruptionBudget]] = {}
        for budget in budgets:
            selector = compile_selector(budget.spec.selector)
            if selector is not None and selector.requirements:
                known = self._budgets.setdefault(budget.metadata.namespace, [])
                known.append((selector, budget))

    def split(self, pods: Sequence[PodInfo]) -> tuple[list[PodInfo], list[PodInfo]]:
        """Split the Pods of a Node into those whose eviction breaks a budget, and the others.

        The budgets are spent in the order of `pods`, which both parts keep.
        """
        if not self._budgets:
            return [], list(pods)
        spent: dict[str, int] = {}
        violating: list[PodInfo] = []
        others: list[PodInfo] = []
        for pod in pods:
            (violating if self._violates(pod, spent) else others).append(pod)
        return violating, others

    def _violates(self, pod: PodInfo, spent: dict[str, int]) -> bool:
        violates = False
        for budget in self._of(pod):
            if pod.name in budget.status.disrupted_pods:
                continue
            key = f"{pod.namespace}/{budget.metadata.name}"
            spent[key] = spent.get(key, 0) + 1
            violates |= spent[key] > budget.status.disruptions_allowed
        return violates

    def _of(self, pod: PodInfo) -> list[PodDisruptionBudget]:
        if not pod.labels or pod.namespace not in self._budgets:
            return []
        key = (pod.namespace, pod.labels)
        matching = self._matching.get(key)
        if matching is None:
            labels = dict(pod.labels)
            matching = self._matching[key] = [
                budget
                for selector, budget in self._budgets[pod.namespace]
                if selector.matches(labels)
            ]
        return matching
