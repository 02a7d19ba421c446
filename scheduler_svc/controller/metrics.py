"""What a scrape shows, computed from who knows it at that moment."""

import platform
from collections import Counter
from itertools import product
from typing import Final

from prometheus_client import Metric

from kubeio import metric_table as shared
from kubeio.instruments import counter, gauge
from kubeio.watch_metrics import WatchMetrics
from scheduler_svc.controller import metric_table as table
from scheduler_svc.controller.census import Census
from scheduler_svc.controller.custom_resources import ALL_RESOURCES
from scheduler_svc.controller.events import EventWriter
from scheduler_svc.controller.operator.thread import OperatorThread
from scheduler_svc.controller.pod_groups.judgement import Phase
from scheduler_svc.controller.pod_groups.members import Member
from scheduler_svc.controller.pod_watch import PodWatch
from scheduler_svc.controller.reconciliation import CONFLICT, Reconciliation
from scheduler_svc.controller.status_writer import StatusWriter, WriteResult
from scheduler_svc.shell.lease import LeaseElection
from scheduler_svc.shell.metrics.metric_table import LEADER

_STATES: Final = ("pending", "unschedulable", "scheduled", "running", "succeeded", "failed")
_VALIDITY: Final = {True: "true", False: "false", None: "unknown"}
_RESOURCES: Final = tuple(resource.name for resource in ALL_RESOURCES)
_RESULTS: Final = tuple(str(each) for each in WriteResult if each is not WriteResult.STANDBY)


class ObjectMetrics:
    """Groups, their members, and profiles."""

    def __init__(self, reconciliation: Reconciliation) -> None:
        self._reconciliation = reconciliation

    def collect(self) -> list[Metric]:
        """Give the families. O(members)."""
        known = self._reconciliation
        phases = Counter(dict.fromkeys(map(str, Phase), 0))
        phases.update(known.groups.phases.values())
        states = Counter(dict.fromkeys(_STATES, 0))
        states.update(member_state(member) for member in known.members.all())
        validity = Counter(dict.fromkeys(_VALIDITY.values(), 0))
        validity.update(_VALIDITY[valid] for valid in known.profiles.is_valid.values())
        return [
            gauge(table.POD_GROUPS, [((phase,), n) for phase, n in phases.items()]),
            gauge(table.POD_GROUP_MEMBERS, [((state,), n) for state, n in states.items()]),
            gauge(table.PROFILES, [((valid,), n) for valid, n in validity.items()]),
        ]


class WorkMetrics:
    """What is done about them.

    Writes, and failures by conflict, are shown from the beginning: a rate sees a rise from 0,
    and not a first count.
    """

    def __init__(
        self,
        reconciliation: Reconciliation,
        writer: StatusWriter,
        events: EventWriter,
    ) -> None:
        self._reconciliation = reconciliation
        self._writer = writer
        self._events = events

    def collect(self) -> list[Metric]:
        """Give the families."""
        known = self._reconciliation
        writes = dict.fromkeys(product(_RESOURCES, _RESULTS), 0)
        errors = dict.fromkeys(product(_RESOURCES, (CONFLICT,)), 0)
        return [
            counter(table.STATUS_WRITES, {**writes, **self._writer.counts}.items()),
            counter(table.RECONCILE_ERRORS, {**errors, **known.error_counts}.items()),
            known.seconds.collect(),
            gauge(table.QUEUE_DEPTH, [((), len(known.queue))]),
            counter(table.EVENTS_WRITTEN, [((), self._events.written_count)]),
            counter(
                table.EVENTS_DROPPED,
                [((reason,), n) for reason, n in self._events.dropped_counts.items()],
            ),
        ]


class ProcessMetrics:
    """What runs, whether it leads, and how its watches do."""

    def __init__(
        self,
        version: str,
        election: LeaseElection | None,
        operator: OperatorThread,
        census: Census,
        pods: PodWatch,
    ) -> None:
        self._version = version
        self._election = election
        self._operator = operator
        self._census = census
        self._pods = pods

    def collect(self) -> list[Metric]:
        """Give the families."""
        families = [
            gauge(shared.BUILD, [((self._version, platform.python_version()), 1)]),
            counter(table.OPERATOR_STARTS, [((), self._operator.start_count)]),
            gauge(table.UNTOLD_OBJECTS, [((), len(self._census.lagging))]),
        ]
        if self._election is not None:
            leads = float(self._election.is_leader)
            families.append(gauge(LEADER, [((self._election.name,), leads)]))
        reflector = self._pods.reflector
        if reflector is not None:
            families += WatchMetrics({"pods": reflector}).collect()
        return families


def member_state(member: Member) -> str:
    """Name what has become of a member."""
    match member.phase:
        case "Running" | "Succeeded" | "Failed":
            return member.phase.lower()
        case _ if member.has_node:
            return "scheduled"
        case _:
            return "unschedulable" if member.obstacle == "Unschedulable" else "pending"
