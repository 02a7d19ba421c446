"""Whom to evict so that a Pod that fits nowhere may run: candidates, victims, and the choice."""

from scheduler_svc.core.preemption.asked_victims import AskedVictims
from scheduler_svc.core.preemption.budgets import Budgets
from scheduler_svc.core.preemption.candidates import Candidate, choose, is_leaving
from scheduler_svc.core.preemption.search import Search, SearchResult

__all__ = [
    "AskedVictims",
    "Budgets",
    "Candidate",
    "Search",
    "SearchResult",
    "choose",
    "is_leaving",
]
