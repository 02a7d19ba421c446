"""The whole scheduler while its profile changes, goes and comes back, whatever else happens.

At each decision what is kept equals what a scheduler finds that was started with the profile as
it is now; in the end such a scheduler would place nobody that this one has left waiting.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from msgspec.structs import replace

from scheduler_svc.core.effects import BindPod, RecordEvent
from scheduler_svc.core.events import ProfileRemoved
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.scheduler import Scheduler
from scheduler_svc.shell.config import load_configuration
from scheduler_svc.shell.profiles import make_profiles
from tests.builders import SCHEDULER, at
from tests.property.test_whole_scheduler import WholeSchedulerMachine
from tests.property.whole_objects import (
    NODE_KINDS,
    NODE_NAMES,
    POD_KINDS,
    fixed_objects,
    node_manifest,
    pod_manifest,
)
from tests.property.whole_server import ApiServer


def _arguments(**plugins: Any) -> dict[str, Any]:
    return {"pluginConfig": [{"name": name, "args": args} for name, args in plugins.items()]}


def _only(*nodes: str) -> dict[str, Any]:
    """Let Pods go to some Nodes alone."""
    expression = {"key": "metadata.name", "operator": "In", "values": list(nodes)}
    terms = [{"matchFields": [expression]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return _arguments(NodeAffinity={"addedAffinity": required})


_PROFILES: dict[str, dict[str, Any]] = {
    "default": {},
    "nowhere": _only("unheard-of"),
    "one node": _only(NODE_NAMES[0]),
    "packing": _arguments(NodeResourcesFit={"scoringStrategy": {"type": "MostAllocated"}}),
    "other weights": {
        "plugins": {
            "score": {
                "enabled": [{"name": "PodTopologySpread", "weight": 50}],
                "disabled": [{"name": "ImageLocality"}],
            }
        }
    },
    "patient": _arguments(
        VolumeBinding={"bindTimeoutSeconds": 601}, DynamicResources={"bindingTimeout": "601s"}
    ),
    "heedless": {
        "plugins": {
            "multiPoint": {
                "disabled": [{"name": "InterPodAffinity"}, {"name": "DefaultPreemption"}]
            }
        }
    },
}


def maker(kind: str) -> Callable[[], Sequence[Profile]]:
    """Give what makes one of the profiles, with plugins of its own each time."""
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": SCHEDULER, **_PROFILES[kind]}],
    }
    configuration = load_configuration(json.dumps(document), path="x.json", known_plugins={})
    return lambda: make_profiles(configuration).profiles


class ProfileChangesMachine(WholeSchedulerMachine):
    """Changes the profile besides."""

    is_served = True

    @rule(kind=st.sampled_from(list(_PROFILES)))
    def profile_changes(self, kind: str) -> None:
        self.world.serve(maker(kind))
        self.is_served = True

    @rule(kind=st.sampled_from(list(_PROFILES)), count=st.integers(1, 4))
    def profile_is_corrected(self, kind: str, count: int) -> None:
        """Pods are turned away by a mistake, which is found."""
        self.world.serve(maker("nowhere"))
        for _ in range(count):
            self.world.step()
        self.world.serve(maker(kind))
        self.is_served = True

    @rule()
    @precondition(lambda self: self.is_served)
    def profile_goes(self) -> None:
        scheduler = self.world.scheduler
        scheduler.keep_unserved()
        waiting = {
            uid
            for uid, pod in scheduler.pending.items()
            if uid not in scheduler.cache and not pod.is_terminating
        }
        effects: Any = scheduler.handle(ProfileRemoved(SCHEDULER, "gone"), at(self.world.seconds))
        self.is_served = False
        told = {effect.pod.uid for effect in effects if isinstance(effect, RecordEvent)}
        assert told == waiting
        assert set(scheduler.pending) == {
            uid for uid in scheduler.pending if uid in scheduler.cache
        }
        statistics = scheduler.statistics().queue
        assert statistics.active_count == statistics.backoff_count == 0
        assert statistics.unschedulable_count == statistics.gated_count == 0
        assert len(scheduler.nominator) == 0

    def teardown(self) -> None:
        if hasattr(self, "world") and not self.is_served:
            self.world.serve(self.world.make_profiles)
        super().teardown()


TestProfileChanges = ProfileChangesMachine.TestCase
TestProfileChanges.settings = settings(max_examples=25, stateful_step_count=50, deadline=None)


def started_with(kind: str, nodes: Sequence[str], pods: Sequence[str]) -> Scheduler:
    """Make a scheduler that knows of Nodes and Pods."""
    scheduler = Scheduler(maker(kind)())
    server = ApiServer()
    for kind_, manifest in fixed_objects():
        scheduler.handle(server.event(kind_, manifest), at(0))
    for name, node in zip(NODE_NAMES, nodes, strict=False):
        scheduler.handle(server.event("Node", node_manifest(name, node)), at(0))
    for number, pod in enumerate(pods):
        manifest = pod_manifest(f"p{number}", pod, app="web", space="default", priority=number % 2)
        manifest["metadata"]["uid"] = f"uid-{number}"
        scheduler.handle(server.event("Pod", manifest), at(number))
    return scheduler


def effects_of(scheduler: Scheduler, seconds: float) -> list[Any]:
    """Give what all attempts come to; the ids of decisions tell profiles apart."""
    found: list[Any] = []
    while (effects := scheduler.step(at(seconds))) is not None:
        found += [replace(e, decision_id="") if isinstance(e, BindPod) else e for e in effects]
    return found


@given(
    before=st.sampled_from(list(_PROFILES)),
    after=st.sampled_from(list(_PROFILES)),
    nodes=st.lists(st.sampled_from(NODE_KINDS), min_size=1, max_size=3),
    pods=st.lists(st.sampled_from(POD_KINDS), min_size=1, max_size=6),
)
def test_what_comes_of_pods_is_as_if_the_scheduler_had_begun_with_the_new_profile(
    before: str, after: str, nodes: list[str], pods: list[str]
) -> None:
    changed, begun = started_with(before, nodes, pods), started_with(after, nodes, pods)
    for profile in maker(after)():
        assert changed.set_profile(profile, at(50)) == []
    assert effects_of(changed, 100) == effects_of(begun, 100)
    changed.validate()
