"""Static Pods from a folder of manifests, or from one: events of the kernel, and listings.

The whole content is handed over with every change. A listing without one good manifest says
that there are no Pods but keeps what single files gave: the next event tells of it again, as
the kubelet's does. A file that becomes bad keeps its Pod until the next listing of its folder;
if the path is that file, until it is good again. Of two files with the same Pod the later in
the order of their names counts, or the one that has changed since; the other is told of.

Source: pkg/kubelet/config/{file,file_linux}.go, v1.36.3. Difference: what the watch missed
while there was none is listed as soon as there is one.
"""

import asyncio
import logging
import os
import threading
from collections.abc import Callable
from typing import Final

from kubeio.logs import fields
from node_agent.core.clock import Now
from node_agent.core.events import PodsListed
from node_agent.core.objects import Pod
from node_agent.core.operations import Source
from node_agent.core.static_pods import Refusal, RefusalReason
from node_agent.shell.clock import read_now
from node_agent.shell.folder_watch import FileEvent, FileEventKind, FolderWatch
from node_agent.shell.manifest_files import (
    Listing,
    Manifest,
    PathKind,
    list_manifests,
    read_manifest,
)
from node_agent.shell.pod_source import Emit, RefusedManifests, shown_place

DEFAULT_PERIOD_SECONDS: Final = 20.0
FIRST_RETRY_SECONDS: Final = 1.0
_KEPT: Final = "what it gave before stays"

_logger = logging.getLogger(__name__)


class FileSource:
    """Reads manifests from disk.

    Parameters
    ----------
    path
        A folder or a file; it may be missing, now or later.
    emit
        Takes the lists.
    period_seconds
        From one listing to the next.

    Attributes
    ----------
    refused
        Files that give no Pod.
    """

    source: Final = Source.FILE

    def __init__(
        self,
        path: str,
        node_name: str,
        emit: Emit,
        *,
        period_seconds: float = DEFAULT_PERIOD_SECONDS,
        retry_seconds: float = FIRST_RETRY_SECONDS,
        read_now: Callable[[], Now] = read_now,
    ) -> None:
        self._path = path.rstrip("/") or "/"
        self._node_name = node_name
        self._emit = emit
        self._period_seconds = period_seconds
        self._first_retry_seconds = self._retry_seconds = retry_seconds
        self._read_now = read_now
        self._pods: dict[str, Pod] = {}
        self._keys: dict[str, str] = {}
        self._givers: dict[str, str] = {}
        self._watch: FolderWatch | None = None
        self._problem = "not listed yet"
        self._watch_problem = ""
        self.refused = RefusedManifests(Source.FILE)

    def problem(self) -> str | None:
        """Say why the last list is missing or may be old."""
        return f"{shown_place(self._path)}: {self._problem}" if self._problem else None

    async def run(self) -> None:
        """List and watch until cancelled."""
        try:
            while True:
                self._arm()
                await self.list_all()
                await self._watch_until(self._read_now().monotonic_seconds + self._period_seconds)
        finally:
            self._disarm()

    async def list_all(self) -> None:
        """Read everything, and hand it over where that is what the kubelet does."""
        received = self._read_now()
        listing = await self._list()
        pods = self._take(listing)
        problem = _problem_of(listing) if not pods else ""
        self._note_problem(problem)
        if problem:
            return
        if pods:
            self._pods = {_key(pod): pod for pod in pods}
        listed = tuple(self._pods.values()) if pods else ()
        await self._emit(PodsListed(Source.FILE, listed, received))

    async def _list(self) -> Listing:
        """Have a thread list; one that is in it when the process ends must not hold that up."""
        over = threading.Event()
        try:
            return await asyncio.to_thread(list_manifests, self._path, self._node_name, over.is_set)
        finally:
            over.set()

    async def take(self, event: FileEvent) -> None:
        """Act on a file's event."""
        received = self._read_now()
        if event.kind is FileEventKind.DELETED:
            self.refused.forget(event.path)
            key = self._keys.pop(event.path, None)
            if key is not None and self._pods.pop(key, None) is not None:
                await self._emit_kept(received)
            return
        manifest = await asyncio.to_thread(read_manifest, event.path, self._node_name)
        if manifest is None:
            return
        self._give_way(manifest)
        pod = self._accepted(manifest)
        if pod is not None:
            self._pods[_key(pod)] = pod
            await self._emit_kept(received)

    async def _emit_kept(self, received: Now) -> None:
        await self._emit(PodsListed(Source.FILE, tuple(self._pods.values()), received))

    def _take(self, listing: Listing) -> list[Pod]:
        """Note what a listing says of each file; give its Pods."""
        self.refused.keep_only({manifest.path for manifest in listing.manifests})
        self._givers = {
            _key(manifest.outcome): manifest.path
            for manifest in listing.manifests
            if isinstance(manifest.outcome, Pod)
        }
        accepted = [self._accepted(manifest) for manifest in listing.manifests]
        return [pod for pod in accepted if pod is not None]

    def _accepted(self, manifest: Manifest) -> Pod | None:
        if isinstance(manifest.outcome, Refusal):
            kept = _KEPT if manifest.path in self._keys else ""
            self.refused.note(manifest.path, manifest.outcome, next_step=kept)
            return None
        self._keys[manifest.path] = key = _key(manifest.outcome)
        if self._givers[key] != manifest.path:
            self.refused.note(manifest.path, _replaced(key, by=self._givers[key]))
            return None
        self.refused.accept(manifest.path, manifest.notice)
        return manifest.outcome

    def _give_way(self, manifest: Manifest) -> None:
        """Have a manifest that has changed take its Pod's name from another file."""
        if isinstance(manifest.outcome, Refusal):
            return
        key = _key(manifest.outcome)
        former = self._givers.get(key, manifest.path)
        self._givers[key] = manifest.path
        has_it_still = self._keys.get(former) == key and former not in self.refused.by_place
        if former != manifest.path and has_it_still:
            self.refused.note(former, _replaced(key, by=manifest.path))

    async def _watch_until(self, due: float) -> None:
        """Take events until it is time to list, or until a watch has been begun anew."""
        while (left := due - self._read_now().monotonic_seconds) > 0:
            if self._watch is None:
                await asyncio.sleep(min(left, self._retry_seconds))
                if self._arm():
                    return
                if not os.path.exists(self._path):  # noqa: ASYNC240 - as quick as the sleep
                    await self._emit(PodsListed(Source.FILE, (), self._read_now()))
                continue
            event = await self._watch.next_event(left)
            if event is None or event.kind is FileEventKind.OVERFLOWN:
                return
            if event.kind is FileEventKind.LOST:
                self._disarm()
                await self.take(FileEvent(FileEventKind.DELETED, event.path))
            else:
                await self.take(event)

    def _arm(self) -> bool:
        """Have a watch of what the path leads to now; tell whether there is one."""
        if self._watch is not None and not self._watch.is_of_path():
            self._disarm()
        if self._watch is None:
            try:
                self._watch = FolderWatch(self._path)
            except FileNotFoundError:
                self._retry_seconds = self._first_retry_seconds
            except OSError as error:
                self._retry_seconds = min(2 * self._retry_seconds, self._period_seconds)
                self._complain(error.strerror or str(error))
            else:
                self._retry_seconds = self._first_retry_seconds
                self._watch_problem = ""
        return self._watch is not None

    def _disarm(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def _complain(self, problem: str) -> None:
        if problem != self._watch_problem:
            self._watch_problem = problem
            _logger.warning(
                "Cannot watch manifests; they are listed only",
                extra=fields(path=shown_place(self._path), err=problem),
            )

    def _note_problem(self, problem: str) -> None:
        if problem and problem != self._problem:
            _logger.error(
                "Cannot list manifests", extra=fields(path=shown_place(self._path), err=problem)
            )
        self._problem = problem


def _problem_of(listing: Listing) -> str:
    """Say why a listing without Pods is none at all; "" where there are simply none."""
    if listing.kind is PathKind.UNUSABLE:
        return listing.problem
    if listing.kind is PathKind.FILE:
        return "; ".join(
            manifest.outcome.message
            for manifest in listing.manifests
            if isinstance(manifest.outcome, Refusal)
        )
    return ""


def _replaced(key: str, *, by: str) -> Refusal:
    return Refusal(
        RefusalReason.DUPLICATE,
        f"its Pod {key} is in {shown_place(by)}, too, which came later and counts; "
        "give one of them another name",
    )


def _key(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"
