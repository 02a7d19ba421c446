"""The whole scheduler, whatever happens around it and in whatever order it is told."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from scheduler_svc.core.events import BindFailure
from tests.property.laws import check, check_settled, settle
from tests.property.pools import NODE_KINDS, PENDING_KINDS
from tests.property.world import NODE_NAMES, World

# What an API server may answer though nothing stands against the Binding.
REFUSALS = (BindFailure.REFUSED, BindFailure.NOT_LEADER, BindFailure.NODE_GONE)

choices = st.integers(0, 9)
node_names = st.sampled_from(NODE_NAMES)
node_kinds = st.sampled_from(sorted(NODE_KINDS))
pod_kinds = st.sampled_from(sorted(PENDING_KINDS))
wishes = st.sampled_from(["", "", "", "permission", "work", "rejection"])


class SchedulerMachine(RuleBasedStateMachine):
    """Drives a cluster, and looks at the Scheduler in it."""

    world: World

    @initialize(
        seed=st.integers(0, 3),
        nodes=st.lists(node_kinds, max_size=2),
        pods=st.lists(st.tuples(pod_kinds, wishes), min_size=2, max_size=4),
    )
    def begin(self, seed: int, nodes: list[str], pods: list[tuple[str, str]]) -> None:
        self.world = World(seed)
        for name, kind in zip(NODE_NAMES, ("plain", *nodes), strict=False):
            self.world.set_node(name, kind)
        for kind, wish in pods:
            self.world.create_pod(kind, wish=wish)
        self.watch(pod_count=9, node_count=2)

    @rule(name=node_names, kind=st.none() | node_kinds)
    def node_changes(self, name: str, kind: str | None) -> None:
        if kind is None:
            self.world.delete_node(name)
        else:
            self.world.set_node(name, kind)

    @rule(kind=pod_kinds, wish=wishes, priority=st.integers(0, 2), is_gated=st.booleans())
    def pod_is_created(self, kind: str, wish: str, priority: int, is_gated: bool) -> None:
        self.world.create_pod(kind, wish=wish, priority=priority, is_gated=is_gated)

    @rule(kind=pod_kinds, node=node_names)
    def pod_comes_with_its_node(self, kind: str, node: str) -> None:
        self.world.create_pod(kind, node=node)

    @rule(
        choice=choices,
        change=st.sampled_from(["change", "terminate", "remove", "finish", "steal"]),
        node=node_names,
    )
    def pod_changes(self, choice: int, change: str, node: str) -> None:
        match change:
            case "change":
                self.world.change_pod(choice)
            case "terminate":
                self.world.terminate_pod(choice)
            case "remove":
                self.world.remove_pod(choice)
            case "finish":
                self.world.finish_pod(choice)
            case _:
                self.world.steal_pod(choice, node)

    @rule(choice=choices, used_milli_cpu=st.sampled_from([0, 3000, 4000]))
    def pod_is_refused(self, choice: int, used_milli_cpu: int) -> None:
        self.world.refuse_pod(choice, used_milli_cpu)

    @rule(pod_count=st.sampled_from([1, 2, 9]), node_count=st.sampled_from([0, 1, 9]))
    def watch(self, pod_count: int, node_count: int) -> None:
        for _ in range(node_count):
            self.world.watch_nodes()
        for _ in range(pod_count):
            self.world.watch_pods()

    @rule(count=st.integers(1, 4))
    def decide(self, count: int) -> None:
        for _ in range(count):
            self.world.step()

    @rule(seconds=st.sampled_from([0.3, 1.5, 12, 31, 400]))
    def pass_time(self, seconds: float) -> None:
        self.world.pass_time(seconds)

    @rule(choice=choices, failure=st.sampled_from([None, None, *REFUSALS]))
    @precondition(lambda self: self.world.requests)
    def binding_is_served(self, choice: int, failure: BindFailure | None) -> None:
        self.world.serve_binding(choice, failure)

    @rule(choice=choices)
    @precondition(lambda self: self.world.outcomes)
    def outcome_is_told(self, choice: int) -> None:
        self.world.tell_outcome(choice)

    @rule(choice=choices, rejection=st.sampled_from(["", "", "no"]))
    @precondition(lambda self: self.world.ledger.reserved)
    def permit_is_decided(self, choice: int, rejection: str) -> None:
        self.world.decide_permit(choice, rejection)

    @rule(choice=choices, error=st.sampled_from(["", "", "broken"]))
    @precondition(lambda self: self.world.works)
    def work_is_finished(self, choice: int, error: str) -> None:
        self.world.finish_work(choice, error)

    @invariant()
    def the_laws_hold(self) -> None:
        check(self.world)

    def teardown(self) -> None:
        if hasattr(self, "world"):
            settle(self.world)
            check_settled(self.world)


TestScheduler = SchedulerMachine.TestCase
TestScheduler.settings = settings(max_examples=60, stateful_step_count=50)
