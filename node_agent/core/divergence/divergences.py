"""Which differences last, since when, and what is to be told of them.

A finding counts once two comparisons in a row have made it, of a Pod that its kubelet has had
time for. Causes of Pods that do not run are kept with the moment each began.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from node_agent.core.clock import NANOSECONDS, Now
from node_agent.core.divergence.causes import Diagnosis, KubeletEvidence, diagnose
from node_agent.core.divergence.comparison import DivergenceKind, Finding, compare
from node_agent.core.divergence.kubelet_view import KubeletView
from node_agent.core.journey.journey import FileTimes
from node_agent.core.known_pods import KnownPods
from node_agent.core.objects import Pod, without_status
from node_agent.core.operations import (
    SEEN_ANNOTATION,
    Operation,
    Source,
    annotation,
    is_static,
)
from node_agent.core.timestamps import unix_nanoseconds

CONFIRMING_COMPARISONS: Final = 2
_MIRROR_KINDS: Final = frozenset(
    (DivergenceKind.MIRROR_MISSING, DivergenceKind.MIRROR_STALE, DivergenceKind.MIRROR_DELETING)
)


class DivergenceLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How long things may differ, in seconds.

    Attributes
    ----------
    not_seen
        From the agent's sight of a bound Pod until the kubelet ought to have seen it.
    manifest
        The same for a manifest: a file or HTTP check period of the kubelet.
    mirror
        For a mirror to be made anew: the kubelet may need its next sync.
    tell_after
        For a finding to last until an Event may be written.
    tell_again_after
        Between two Events of one finding.
    tell_per_minute
        Events altogether.
    """

    not_seen: float = 5.0
    manifest: float = 30.0
    mirror: float = 120.0
    tell_after: float = 60.0
    tell_again_after: float = 3600.0
    tell_per_minute: int = 6


class Divergence(msgspec.Struct, gc=False):
    """A finding that is followed; times are monotonic seconds."""

    finding: Finding
    since_seconds: float
    comparison_count: int = 1
    told_at_seconds: float | None = None

    @property
    def is_confirmed(self) -> bool:
        """Whether it has been found often enough to count."""
        return self.comparison_count >= CONFIRMING_COMPARISONS


class PodCause(msgspec.Struct, frozen=True, gc=False):
    """Why a Pod does not run, since when (monotonic seconds)."""

    namespace: str
    name: str
    diagnosis: Diagnosis
    since_seconds: float


class Divergences:
    """Follows what differs; a `PodObserver`, which is how it knows the agent's Pods.

    Parameters
    ----------
    sources
        The agent's; what the kubelet has from others is not compared.
    limits
        How long things may differ.
    """

    def __init__(self, sources: Iterable[Source], limits: DivergenceLimits | None = None) -> None:
        self._known = KnownPods()
        self._sources = frozenset(sources)
        self._listed: set[Source] = set()
        self.limits = limits or DivergenceLimits()
        self._known_since: dict[str, float] = {}
        self._followed: dict[tuple[DivergenceKind, str], Divergence] = {}
        self._causes: dict[str, PodCause] = {}
        self._view: KubeletView | None = None
        self._is_reachable: bool | None = None
        self._files: dict[str, FileTimes] = {}
        self._event_reasons: dict[str, frozenset[str]] = {}
        self._told_at: list[float] = []

    def pod_operation(self, operation: Operation, source: Source, pod: Pod, now: Now) -> None:
        """Note a Pod's newest state, and since when it is known."""
        if operation is not Operation.REMOVE:
            self._known.put(pod)
            self._known_since.setdefault(pod.metadata.uid, now.monotonic_seconds)
            return
        self._known.remove(pod)
        uid = pod.metadata.uid
        self._known_since.pop(uid, None)
        self._causes.pop(uid, None)
        self._files.pop(uid, None)
        self._event_reasons.pop(uid, None)

    def pod_observed(self, pod: Pod, now: Now) -> None:
        """Do nothing: `pod_operation` has told."""

    def pod_gone(self, uid: str, now: Now) -> None:
        """Do nothing: `pod_operation` has told."""

    def source_listed(self, source: Source, now: Now) -> None:
        """Compare this source's Pods from now on: before, it had not told of all."""
        self._listed.add(source)

    def next_deadline(self) -> float | None:
        """Give None: nothing falls due here; whoever asks the kubelet sets the pace."""
        return None

    def expire(self, now: Now) -> None:
        """Do nothing."""

    def kubelet_read(self, view: KubeletView, now: Now) -> None:
        """Compare with what the kubelet has just shown."""
        self._view, self._is_reachable = view, True
        findings = compare(self._known, view, self._sources & self._listed)
        found = {f.key: f for f in findings if self._is_old_enough(f, view)}
        for key in [key for key in self._followed if key not in found]:
            del self._followed[key]
        for key, finding in found.items():
            followed = self._followed.get(key)
            if followed is None:
                self._followed[key] = Divergence(finding, now.monotonic_seconds)
            else:
                followed.finding = finding
                followed.comparison_count += 1
        self.judge(now)

    def kubelet_failed(self, now: Now, *, is_reachable: bool) -> None:
        """Note that the kubelet showed nothing; what was found before stays.

        Parameters
        ----------
        is_reachable
            Whether it answered all the same, if only that the agent may not ask.
        """
        self._is_reachable = is_reachable
        if is_reachable:
            self._view = None
        self.judge(now)

    def files_read(self, uid: str, times: FileTimes) -> None:
        """Note the times of a Pod's directories."""
        if uid in self._known_since:
            self._files[uid] = times

    def events_read(self, uid: str, reasons: Iterable[str]) -> None:
        """Note the reasons of the Events about a Pod."""
        if uid in self._known_since:
            self._event_reasons[uid] = frozenset(reasons)

    def judge(self, now: Now) -> None:
        """Say anew of each Pod why it does not run."""
        causes = {}
        for pod in self._known.pods():
            diagnosis = self._diagnose(pod)
            if diagnosis is None:
                continue
            uid = pod.metadata.uid
            before = self._causes.get(uid)
            is_same = before is not None and before.diagnosis.cause is diagnosis.cause
            since = before.since_seconds if before and is_same else now.monotonic_seconds
            causes[uid] = PodCause(pod.metadata.namespace, pod.metadata.name, diagnosis, since)
        self._causes = causes

    def confirmed(self) -> list[Divergence]:
        """Give what differs and lasts."""
        return [divergence for divergence in self._followed.values() if divergence.is_confirmed]

    def causes(self) -> dict[str, PodCause]:
        """Give the Pods that do not run, by uid, as of the last `judge`."""
        return self._causes

    def cause_of(self, uid: str) -> PodCause | None:
        """Give why a Pod does not run; None where it does, or is not known."""
        return self._causes.get(uid)

    def take_untold(self, now: Now) -> list[Divergence]:
        """Give what an Event may be written of now, and note that it is.

        Each finding once it has lasted, then again at long intervals; all together only so
        many a minute. What is held back for that comes at a later call.
        """
        seconds, limits = now.monotonic_seconds, self.limits
        self._told_at = [at for at in self._told_at if seconds - at < 60]
        untold = []
        for divergence in self.confirmed():
            if len(self._told_at) >= limits.tell_per_minute:
                break
            told_at = divergence.told_at_seconds
            is_due = seconds - divergence.since_seconds >= limits.tell_after
            if is_due and (told_at is None or seconds - told_at >= limits.tell_again_after):
                divergence.told_at_seconds = seconds
                self._told_at.append(seconds)
                untold.append(divergence)
        return untold

    def _is_old_enough(self, finding: Finding, view: KubeletView) -> bool:
        """Whether the kubelet, or the agent, has had time for the Pod."""
        limits = self.limits
        if finding.kind in _MIRROR_KINDS:
            return self._kubelet_age(finding, view) >= limits.mirror
        if finding.kind is DivergenceKind.UNKNOWN_TO_AGENT:
            return self._kubelet_age(finding, view) >= limits.not_seen
        since = self._known_since.get(finding.uid)
        if since is None or finding.kind is not DivergenceKind.MISSING_IN_KUBELET:
            return True
        limit = limits.not_seen if finding.source == Source.API else limits.manifest
        return view.asked.monotonic_seconds - since >= limit

    def _kubelet_age(self, finding: Finding, view: KubeletView) -> float:
        """Give for how many seconds the kubelet had had a Pod; without end if it does not say."""
        for copy in view.pods:
            if copy.metadata.uid == finding.uid:
                seen = unix_nanoseconds(annotation(copy, SEEN_ANNOTATION))
                if seen is not None:
                    return (view.asked.wall_nanoseconds - seen) / NANOSECONDS
        return float("inf")

    def _diagnose(self, pod: Pod) -> Diagnosis | None:
        uid = pod.metadata.uid
        copy = None if self._view is None else self._view.counterpart(pod)
        if is_static(pod):
            pod = without_status(pod)
            if copy is not None:
                pod = msgspec.structs.replace(pod, status=copy.status)
        evidence = KubeletEvidence(
            is_reachable=self._is_reachable,
            has_seen=None if self._view is None else self._has_seen(uid, copy),
            files=self._files.get(uid),
            event_reasons=self._event_reasons.get(uid, frozenset()),
        )
        return diagnose(pod, evidence)

    def _has_seen(self, uid: str, copy: Pod | None) -> bool | None:
        """Whether the kubelet has the Pod; None where it was asked before the Pod came."""
        if copy is not None:
            return True
        since = self._known_since.get(uid, float("-inf"))
        asked = self._view.asked.monotonic_seconds if self._view is not None else 0.0
        return None if asked < since else False
