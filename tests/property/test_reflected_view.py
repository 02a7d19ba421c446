"""Whatever is lost on the way, after a list the consumer's view is the server's state."""

from dataclasses import dataclass, field

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kubeio.changes import Deleted, ReflectorEvent, ReflectorStatistics, Upserted
from kubeio.decoding import Decoded, ObjectMetadata
from kubeio.known import KnownObjects

NAMES = st.sampled_from("abcd")


@dataclass
class Server:
    """Objects of a real server: name, uid, version; some states cannot be decoded."""

    version: int = 0
    objects: dict[str, Decoded[int]] = field(default_factory=dict)

    def write(self, name: str, *, is_good: bool) -> Decoded[int]:
        self.version += 1
        old = self.objects.get(name)
        uid = old.metadata.uid if old else f"uid-{self.version}"
        metadata = ObjectMetadata("ns", name, uid, str(self.version))
        made = Decoded(metadata, self.version if is_good else None, "" if is_good else "bad")
        self.objects[name] = made
        return made

    def delete(self, name: str) -> Decoded[int]:
        self.version += 1
        return self.objects.pop(name)


class ReflectedView(RuleBasedStateMachine):
    """Writes and deletes, of which the watch tells only while it is not broken."""

    def __init__(self) -> None:
        super().__init__()
        self.server = Server()
        self.view: dict[str, tuple[str, int]] = {}
        self.is_watching = True
        self.known: KnownObjects[tuple[str, str, int]] = KnownObjects(
            "things", self.deliver, ReflectorStatistics()
        )

    def deliver(self, event: ReflectorEvent[tuple[str, str, int]]) -> None:
        match event:
            case Upserted(object=(name, uid, version)):
                assert self.view.get(name, (uid, 0))[0] == uid, "old namesake not deleted"
                assert self.view.get(name, (uid, 0))[1] < version, "told twice"
                self.view[name] = (uid, version)
            case Deleted(name=name, uid=uid):
                assert self.view.pop(name)[0] == uid

    def upsert(self, state: Decoded[int]) -> None:
        metadata = state.metadata
        told = (metadata.name, metadata.uid, int(metadata.resource_version))
        self.known.upsert(Decoded(metadata, None if state.object is None else told, state.problem))

    @rule(name=NAMES, is_good=st.booleans())
    def write(self, name: str, is_good: bool) -> None:
        state = self.server.write(name, is_good=is_good)
        if self.is_watching:
            self.upsert(state)

    @precondition(lambda self: self.server.objects)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.server.objects)))
        state = self.server.delete(name)
        if self.is_watching:
            self.known.delete(state.metadata)

    @rule()
    def lose_the_watch(self) -> None:
        self.is_watching = False

    @rule(pages=st.integers(0, 3))
    def list_and_fail(self, pages: int) -> None:
        self.is_watching = False
        self.known.begin_list()
        for state in list(self.server.objects.values())[:pages]:
            self.upsert(state)

    @rule()
    def list_all(self) -> None:
        self.known.begin_list()
        for state in self.server.objects.values():
            if not self.known.is_listed_unchanged(state.metadata):
                self.upsert(state)
        self.known.end_list()
        self.is_watching = True

    @invariant()
    def view_is_the_servers_state(self) -> None:
        if not self.is_watching:
            return
        assert len(self.known) == len(self.server.objects)
        assert self.view.keys() <= self.server.objects.keys()
        for name, state in self.server.objects.items():
            metadata = state.metadata
            if state.object is not None:
                assert self.view[name] == (metadata.uid, int(metadata.resource_version))
            elif name in self.view:
                assert self.view[name][0] == metadata.uid, "kept the state of an old namesake"


TestReflectedView = ReflectedView.TestCase
