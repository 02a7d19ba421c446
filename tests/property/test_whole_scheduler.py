"""The whole scheduler with its default profile, whatever happens around it."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.property.whole_laws import check, check_decision, check_settled, settle
from tests.property.whole_objects import (
    CLAIM_NAMES,
    DEVICE_CLAIM_NAMES,
    NODE_KINDS,
    NODE_NAMES,
    POD_KINDS,
    SPACES,
    budget_manifest,
    claim_manifest,
    csi_node_manifest,
    device_claim,
    namespace_manifest,
    service_manifest,
    slice_manifest,
    volume_manifest,
)
from tests.property.whole_world import KINDS, World

choices = st.integers(0, 9)
node_names = st.sampled_from(NODE_NAMES)
node_kinds = st.sampled_from(NODE_KINDS)
pod_kinds = st.sampled_from(POD_KINDS)
# Those that work is done for before they are bound.
wanting = st.sampled_from([*CLAIM_NAMES, *DEVICE_CLAIM_NAMES, "extended"])
apps = st.sampled_from(["web", "web", "db"])
spaces = st.sampled_from(["default", "default", "default", "team-a"])
kinds = st.sampled_from(KINDS)


class WholeSchedulerMachine(RuleBasedStateMachine):
    """Drives a cluster, and looks at the scheduler in it."""

    world: World

    @initialize(
        seed=st.integers(0, 3),
        nodes=st.lists(node_kinds, min_size=1, max_size=3),
        pods=st.lists(pod_kinds, min_size=2, max_size=6),
        slow=st.booleans(),
    )
    def begin(self, seed: int, nodes: list[str], pods: list[str], slow: bool) -> None:
        self.world = World(seed, check_decision)
        for name, kind in zip(NODE_NAMES, nodes, strict=False):
            self.world.set_node(name, kind)
        for kind in pods:
            self.world.create_pod(kind, app="web", space="default", priority=0)
        for name in CLAIM_NAMES:
            self.world.set_object("PersistentVolumeClaim", claim_manifest(name), exists=True)
        for name in DEVICE_CLAIM_NAMES:
            self.world.set_object("ResourceClaim", device_claim(name), exists=True)
        for name, node in zip(("pv0", "pv1"), NODE_NAMES, strict=False):
            self.world.set_object("PersistentVolume", volume_manifest(name, node), exists=True)
            self.world.replace_object("ResourceSlice", slice_manifest(node, 2, is_slow=slow))
        self.everything_is_told()

    def everything_is_told(self) -> None:
        for kind in KINDS:
            self.world.watch(kind, 99)

    @rule(name=node_names, kind=st.none() | node_kinds)
    def node_changes(self, name: str, kind: str | None) -> None:
        if kind is None:
            self.world.delete_node(name)
        else:
            self.world.set_node(name, kind)

    @rule(kind=pod_kinds | wanting, app=apps, space=spaces, priority=st.integers(0, 3))
    def pod_is_created(self, kind: str, app: str, space: str, priority: int) -> None:
        self.world.create_pod(kind, app=app, space=space, priority=priority)

    @rule(kind=pod_kinds, app=apps, space=spaces, node=node_names)
    def pod_comes_with_its_node(self, kind: str, app: str, space: str, node: str) -> None:
        self.world.create_pod(kind, app=app, space=space, priority=0, node=node)

    @rule(choice=choices, change=st.sampled_from(["delete", "web", "db", "steal"]), node=node_names)
    def pod_changes(self, choice: int, change: str, node: str) -> None:
        match change:
            case "delete":
                self.world.delete_pod(choice)
            case "steal":
                self.world.steal_pod(choice, node)
            case app:
                self.world.relabel_pod(choice, app)

    @rule(name=st.sampled_from(CLAIM_NAMES), exists=st.sampled_from([True, True, False]))
    def claim_changes(self, name: str, exists: bool) -> None:
        self.world.set_object("PersistentVolumeClaim", claim_manifest(name), exists=exists)

    @rule(name=st.sampled_from(["pv0", "pv1"]), node=node_names, exists=st.booleans())
    def volume_changes(self, name: str, node: str, exists: bool) -> None:
        self.world.set_object("PersistentVolume", volume_manifest(name, node), exists=exists)

    @rule(name=st.sampled_from(DEVICE_CLAIM_NAMES), exists=st.sampled_from([True, True, False]))
    def device_claim_changes(self, name: str, exists: bool) -> None:
        self.world.set_object("ResourceClaim", device_claim(name), exists=exists)

    @rule(node=node_names, count=st.integers(0, 2), is_slow=st.booleans())
    def devices_change(self, node: str, count: int, is_slow: bool) -> None:
        manifest = slice_manifest(node, count, is_slow=is_slow)
        self.world.replace_object("ResourceSlice", manifest, exists=count > 0)

    @rule(what=st.sampled_from(["team", "budget", "service", "limit"]), number=st.integers(0, 2))
    def surroundings_change(self, what: str, number: int) -> None:
        match what:
            case "team":
                manifest = namespace_manifest(SPACES[number % 2], "ab"[number // 2])
                self.world.replace_object("Namespace", manifest)
            case "budget":
                manifest = budget_manifest(number)
                self.world.replace_object("PodDisruptionBudget", manifest, exists=number < 2)
            case "service":
                self.world.replace_object("Service", service_manifest(), exists=number > 0)
            case _:
                manifest = csi_node_manifest(NODE_NAMES[0], number)
                self.world.replace_object("CSINode", manifest, exists=number < 2)

    @rule(kind=kinds, count=st.sampled_from([1, 2, 9]))
    def watch(self, kind: str, count: int) -> None:
        self.world.watch(kind, count)

    @rule()
    def watch_all(self) -> None:
        self.everything_is_told()

    @rule(kind=kinds)
    def list_anew(self, kind: str) -> None:
        self.world.server.list_anew(kind)

    @rule(count=st.integers(1, 4))
    def decide(self, count: int) -> None:
        for _ in range(count):
            self.world.step()

    @rule(seconds=st.sampled_from([0.3, 1.5, 12, 12, 31, 400, 700]))
    def pass_time(self, seconds: float) -> None:
        self.world.pass_time(seconds)

    @rule(
        choice=choices,
        fails=st.sampled_from([False, False, True]),
        after=st.sampled_from([None, None, 0, 1]),
    )
    @precondition(lambda self: self.world.has_writes)
    def write(self, choice: int, fails: bool, after: int | None) -> None:
        self.world.write(choice, fails=fails, fails_after=after)

    @rule(choice=choices)
    @precondition(lambda self: self.world.outcomes)
    def tell_outcome(self, choice: int) -> None:
        self.world.tell_outcome(choice)

    @rule(who=st.sampled_from(["volumes", "devices", "broken", "pods", "claims"]))
    def controller_works(self, who: str) -> None:
        match who:
            case "volumes":
                self.world.bind_volumes()
            case "devices":
                self.world.make_ready()
            case "broken":
                self.world.make_ready(breaks=True)
            case "pods":
                self.world.end_pods()
            case _:
                self.world.release_claims()

    @invariant()
    def the_laws_hold(self) -> None:
        check(self.world)

    def teardown(self) -> None:
        if hasattr(self, "world"):
            settle(self.world)
            check_settled(self.world)


TestWholeScheduler = WholeSchedulerMachine.TestCase
TestWholeScheduler.settings = settings(max_examples=25, stateful_step_count=50, deadline=None)
