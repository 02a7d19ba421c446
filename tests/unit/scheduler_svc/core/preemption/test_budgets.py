"""Which evictions break a PodDisruptionBudget."""

from scheduler_svc.core.disruption_objects import PodDisruptionBudget
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.preemption.budgets import Budgets
from tests.unit.scheduler_svc.core.preemption.building import budget, pod

WEB = {"app": "web"}


def split(pods: list[PodInfo], *budgets: PodDisruptionBudget) -> tuple[list[str], list[str]]:
    violating, others = Budgets(budgets).split(pods)
    return [p.name for p in violating], [p.name for p in others]


def webs(*names: str) -> list[PodInfo]:
    return [pod(name, labels=WEB) for name in names]


def test_without_budgets_nothing_is_broken() -> None:
    assert split(webs("a", "b")) == ([], ["a", "b"])


def test_a_budget_is_spent_in_order() -> None:
    assert split(webs("a", "b", "c"), budget("web", 2, WEB)) == (["c"], ["a", "b"])
    assert split(webs("a"), budget("web", 0, WEB)) == (["a"], [])


def test_every_budget_of_a_pod_must_allow_it() -> None:
    budgets = [budget("wide", 5, WEB), budget("narrow", 1, WEB)]
    assert split(webs("a", "b"), *budgets) == (["b"], ["a"])


def test_a_pod_that_is_on_its_way_already_costs_nothing() -> None:
    assert split(webs("a", "b"), budget("web", 1, WEB, disrupted=["a"])) == ([], ["a", "b"])


def test_a_budget_is_of_its_namespace_and_its_selector() -> None:
    others = [budget("db", 0, {"app": "db"}), budget("web", 0, WEB, namespace="shop")]
    assert split(webs("a"), *others) == ([], ["a"])


def test_a_budget_without_a_selector_or_with_an_empty_one_is_of_no_pod() -> None:
    assert split(webs("a"), budget("none", 0, None), budget("empty", 0, {})) == ([], ["a"])


def test_a_pod_without_labels_has_no_budget() -> None:
    assert split([pod("a")], budget("web", 0, WEB)) == ([], ["a"])


def test_what_is_spent_is_counted_anew_for_each_node() -> None:
    budgets = Budgets([budget("web", 1, WEB)])
    for name in ("a", "b"):
        assert [len(part) for part in budgets.split(webs(name))] == [0, 1]
