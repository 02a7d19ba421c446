"""A cluster around a scheduler with the default profile: people, controllers, writers, watches.

Everything takes its time: each kind's watch is told one event at a time, effects are carried
out one by one, in any order, and their outcomes told later still.
"""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from scheduler_svc.core.columns import NodeColumns
from scheduler_svc.core.effects import (
    BindPod,
    Effect,
    EvictPods,
    PatchNomination,
    PatchPodCondition,
    RunCleanup,
    RunPreBind,
)
from scheduler_svc.core.events import Event, ProfileSet
from scheduler_svc.core.framework.cluster_evaluation import ClassEvaluation
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.scheduler import Scheduler
from scheduler_svc.core.storage_objects import BIND_COMPLETED, SELECTED_NODE
from scheduler_svc.shell.config import default_configuration, rename_for_live
from scheduler_svc.shell.profiles import make_profiles
from tests.builders import SCHEDULER, at
from tests.property.whole_effects import Writers, release
from tests.property.whole_objects import (
    Manifest,
    fixed_objects,
    made_volume,
    node_manifest,
    pod_manifest,
)
from tests.property.whole_server import ApiServer, key_of

KINDS: Final = (
    "Node",
    "Pod",
    "Namespace",
    "Service",
    "PodDisruptionBudget",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "StorageClass",
    "CSINode",
    "DeviceClass",
    "ResourceSlice",
    "ResourceClaim",
)
_T = TypeVar("_T")
Witness = Callable[[PodInfo, ClassEvaluation, NodeColumns, int], None]


def make_default_profiles() -> Sequence[Profile]:
    """Make the profiles that the scheduler has without any configuration."""
    return make_profiles(rename_for_live(default_configuration(), SCHEDULER)).profiles


class World:
    """The cluster. Choices are indices: any integer will do."""

    def __init__(self, seed: int, witness: Callable[["World", PodInfo, str], None]) -> None:
        self.server = ApiServer()
        self.writers = Writers(self.server)
        self.scheduler = Scheduler(make_default_profiles(), seed=seed, witness=self._see)
        self._witness = witness
        # What a scheduler that starts now would begin with.
        self.make_profiles: Callable[[], Sequence[Profile]] = make_default_profiles
        self.seconds = 0.0
        self.created = 0
        self.changed_nodes: set[str] = set()
        self.bindings: list[BindPod] = []
        self.works: list[RunPreBind] = []
        self.cleanups: list[RunCleanup] = []
        self.evictions: list[EvictPods] = []
        self.patches: deque[PatchPodCondition | PatchNomination] = deque()
        self.outcomes: list[Event] = []
        for kind, manifest in fixed_objects():
            self.server.put(kind, manifest)

    def _see(
        self, pod: PodInfo, evaluation: ClassEvaluation, columns: NodeColumns, row: int
    ) -> None:
        del evaluation
        self._witness(self, pod, columns.names[row])

    # The scheduler.

    def handle(self, event: Event) -> None:
        """Tell the scheduler of something."""
        self._take(self.scheduler.handle(event, at(self.seconds)))

    def step(self) -> bool:
        """Let the scheduler decide a Pod; False if there is none."""
        effects = self.scheduler.step(at(self.seconds))
        self._take(effects or [])
        return effects is not None

    def pass_time(self, seconds: float) -> None:
        """Let time go by, and what is due be done."""
        self.seconds += seconds
        self._take(self.scheduler.expire(at(self.seconds)))

    def _take(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            match effect:
                case BindPod():
                    self.bindings.append(effect)
                case RunPreBind():
                    self.works.append(effect)
                case RunCleanup():
                    self.cleanups.append(effect)
                case EvictPods():
                    self.evictions.append(effect)
                case PatchPodCondition() | PatchNomination():
                    self.patches.append(effect)
                case _:
                    pass

    def serve(self, make: Callable[[], Sequence[Profile]]) -> None:
        """Have a profile changed, or one that was removed be back."""
        self.make_profiles = make
        for profile in make():
            self.handle(ProfileSet(profile))

    # Watches and writers.

    def watch(self, kind: str, count: int = 1) -> None:
        """Tell the next changes of a kind."""
        for _ in range(count):
            event = self.server.take(kind)
            if event is None:
                return
            self.handle(event)

    def write(self, choice: int, *, fails: bool = False, fails_after: int | None = None) -> None:
        """Carry out one effect; its outcome is told later."""
        pending: list[Any] = [*self.bindings, *self.works, *self.cleanups, *self.evictions]
        if self.patches:
            pending.append(self.patches[0])
        if not pending:
            return
        effect = choose(pending, choice)
        match effect:
            case BindPod():
                self.bindings.remove(effect)
                self.outcomes.append(self.writers.bind(effect, refuses=fails))
            case RunPreBind():
                self.works.remove(effect)
                outcome = self.writers.prepare(effect, fails_after=fails_after)
                self.outcomes.append(outcome)
            case RunCleanup():
                self.cleanups.remove(effect)
                if not fails:
                    self.writers.clean_up(effect)
            case EvictPods():
                self.evictions.remove(effect)
                self.outcomes.append(self.writers.evict(effect, fails=fails))
            case _:
                self.writers.patch(self.patches.popleft())

    def tell_outcome(self, choice: int) -> None:
        """Tell what became of an effect."""
        if self.outcomes:
            self.handle(self.outcomes.pop(choice % len(self.outcomes)))

    @property
    def has_writes(self) -> bool:
        """Whether anything is being written."""
        written = (self.bindings, self.works, self.cleanups, self.evictions, self.patches)
        return any(written) or bool(self.outcomes)

    # People.

    def set_node(self, name: str, kind: str) -> None:
        """Create or change a Node."""
        if self.server.get("Node", name) is not None:
            self.changed_nodes.add(name)
        self.server.put("Node", node_manifest(name, kind))

    def delete_node(self, name: str) -> None:
        """Delete a Node; its Pods stay for now."""
        self.changed_nodes.add(name)
        self.server.delete("Node", name)

    def set_object(self, kind: str, manifest: Manifest, *, exists: bool) -> None:
        """Create an object unless it is there, or delete it."""
        if exists and self.server.get(kind, key_of(manifest)) is None:
            self.server.put(kind, manifest)
        elif not exists:
            self.server.delete(kind, key_of(manifest))

    def replace_object(self, kind: str, manifest: Manifest, *, exists: bool = True) -> None:
        """Create or change an object, or delete it."""
        if exists:
            self.server.put(kind, manifest)
        else:
            self.server.delete(kind, key_of(manifest))

    def create_pod(self, kind: str, *, app: str, space: str, priority: int, node: str = "") -> None:
        """Create a Pod of ours, or with a Node one that somebody else has placed."""
        self.created += 1
        manifest = pod_manifest(f"p{self.created}", kind, app=app, space=space, priority=priority)
        if node:
            manifest["spec"] |= {"nodeName": node, "schedulerName": "other"}
        self.server.put("Pod", manifest)

    def delete_pod(self, choice: int) -> None:
        """Begin to delete a Pod."""
        pods = self.server.all("Pod")
        if pods:
            self.writers.terminate(choose(pods, choice))

    def relabel_pod(self, choice: int, app: str) -> None:
        """Change a Pod's labels."""
        pods = self.server.all("Pod")
        if pods:
            pod = choose(pods, choice)
            self.server.change("Pod", pod, lambda it: it["metadata"]["labels"].update(app=app))

    def steal_pod(self, choice: int, node: str) -> None:
        """Let another scheduler bind a Pod of ours."""
        pods = [pod for pod in self.server.all("Pod") if is_pending(pod)]
        if pods:
            pod = choose(pods, choice)
            self.server.change("Pod", pod, lambda it: it["spec"].update(nodeName=node))

    # Controllers.

    def end_pods(self) -> None:
        """Let Pods that are being deleted, and those of Nodes that are gone, be gone."""
        nodes = self.server.objects.get("Node", {})
        for pod in self.server.all("Pod"):
            node = pod["spec"].get("nodeName")
            if "deletionTimestamp" in pod["metadata"] or (node and node not in nodes):
                self.server.delete("Pod", key_of(pod))

    def bind_volumes(self) -> None:
        """Bind claims whose volume is kept for them; make volumes where that is asked for."""
        for claim in self.server.all("PersistentVolumeClaim"):
            if claim["spec"].get("volumeName"):
                continue
            node = claim["metadata"].get("annotations", {}).get(SELECTED_NODE)
            kept = [v for v in self.server.all("PersistentVolume") if _is_for(v, claim)]
            volume = kept[0] if kept else None
            if volume is None and node and claim["spec"]["storageClassName"] == "made":
                volume = self._make_volume(claim, node)
            if volume is not None:
                self.server.change("PersistentVolumeClaim", claim, partial(_bind, volume))
                self.server.change("PersistentVolume", volume, _set_bound)

    def _make_volume(self, claim: Manifest, node: str) -> Manifest | None:
        if self.server.get("Node", node) is None:
            self.server.change(
                "PersistentVolumeClaim",
                claim,
                lambda it: it["metadata"]["annotations"].pop(SELECTED_NODE),
            )
            return None
        name = f"made-{self.server.next_number()}"
        return self.server.put("PersistentVolume", made_volume(name, claim, node))

    def make_ready(self, *, breaks: bool = False) -> None:
        """Make devices that are waited for ready, or not."""
        for claim in self.server.all("ResourceClaim"):
            allocation = claim["status"].get("allocation")
            results = allocation["devices"]["results"] if allocation else []
            slow = [r for r in results if r.get("bindingConditions")]
            if slow and not claim["status"].get("devices"):
                condition = {"type": "broken" if breaks else "ready", "status": "True"}
                names = ("driver", "pool", "device")
                devices = [{n: r[n] for n in names} | {"conditions": [condition]} for r in slow]
                self.server.change("ResourceClaim", claim, partial(_set_devices, devices))

    def release_claims(self) -> None:
        """Release claims of Pods that are gone, deallocate those that nobody uses any more."""
        uids = {pod["metadata"]["uid"] for pod in self.server.all("Pod")}
        for claim in self.server.all("ResourceClaim"):
            users = {user["uid"] for user in claim["status"].get("reservedFor", [])}
            if {owner["uid"] for owner in claim["metadata"].get("ownerReferences", [])} - uids:
                self.server.delete("ResourceClaim", key_of(claim))
            elif users and not users & uids:
                self.server.change("ResourceClaim", claim, lambda it: it.update(status={}))
            elif users - uids:
                release(self.server, claim, users - uids)


def choose(candidates: Sequence[_T], choice: int) -> _T:
    """Give one of several."""
    return candidates[choice % len(candidates)]


def is_pending(pod: Manifest) -> bool:
    """Tell whether a Pod waits for us."""
    return not pod["spec"].get("nodeName") and pod["spec"]["schedulerName"] == SCHEDULER


def _is_for(volume: Manifest, claim: Manifest) -> bool:
    reference = volume["spec"].get("claimRef")
    return reference is not None and reference["uid"] == claim["metadata"]["uid"]


def _bind(volume: Manifest, claim: Manifest) -> None:
    claim["spec"]["volumeName"] = volume["metadata"]["name"]
    claim["metadata"].setdefault("annotations", {})[BIND_COMPLETED] = "yes"
    claim["status"] = {"phase": "Bound"}


def _set_bound(volume: Manifest) -> None:
    volume["status"] = {"phase": "Bound"}


def _set_devices(devices: list[Manifest], claim: Manifest) -> None:
    claim["status"]["devices"] = devices
