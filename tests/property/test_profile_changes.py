"""The whole scheduler while its profile changes, goes and comes back, whatever else happens.

At each decision what is kept equals what a scheduler finds that was started with the profile as
it is now; in the end such a scheduler would place nobody that this one has left waiting.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from scheduler_svc.core.effects import RecordEvent
from scheduler_svc.core.events import ProfileRemoved
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.shell.config import load_configuration
from scheduler_svc.shell.profiles import make_profiles
from tests.builders import SCHEDULER, at
from tests.property.test_whole_scheduler import WholeSchedulerMachine
from tests.property.whole_objects import NODE_NAMES


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
