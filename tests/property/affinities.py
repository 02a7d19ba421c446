"""Pods that want this and that of others: few labels, keys and namespaces, so that they meet."""

from typing import Final

from hypothesis import strategies as st

from scheduler_svc.core.affinity_objects import (
    LabelRequirement,
    LabelSelector,
    PodAffinity,
    PodAffinityTerm,
    WeightedPodAffinityTerm,
)
from scheduler_svc.core.objects import Namespace, Node, ObjectMeta, Pod
from tests.builders import make_node, make_pod

SPACES: Final = ("default", "team-a", "team-b", "unknown")
KEYS: Final = ("zone", "host", "rack")

node_labels = st.fixed_dictionaries(
    {},
    optional={
        "zone": st.sampled_from(["a", "b", ""]),
        "host": st.sampled_from(["h0", "h1", "h2", "h3"]),
        "rack": st.just("r"),
    },
)
pod_labels = st.fixed_dictionaries(
    {}, optional={"app": st.sampled_from(["web", "db"]), "tier": st.just("1")}
)
_apps = st.lists(st.sampled_from(["web", "db", "none"]), min_size=1, max_size=2).map(tuple)
_teams = st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=2).map(tuple)


def _selectors(
    key: str, values: st.SearchStrategy[tuple[str, ...]]
) -> st.SearchStrategy[LabelSelector]:
    expressions = st.one_of(
        st.builds(LabelRequirement, st.just(key), st.sampled_from(["In", "NotIn"]), values),
        st.builds(LabelRequirement, st.sampled_from([key, "tier"]), st.just("Exists")),
        st.builds(LabelRequirement, st.sampled_from([key, "tier"]), st.just("DoesNotExist")),
    )
    return st.builds(
        LabelSelector,
        st.none() | values.map(lambda some: {key: some[0]}),
        st.lists(expressions, max_size=2).map(tuple),
    )


terms = st.builds(
    PodAffinityTerm,
    st.sampled_from(KEYS),
    st.sampled_from([None, LabelSelector({"app": "web"})]) | _selectors("app", _apps),
    st.just(()) | st.lists(st.sampled_from(SPACES), max_size=2).map(tuple),
    st.none() | st.none() | _selectors("team", _teams),
)
wishes = st.builds(
    PodAffinity,
    st.just(()) | st.lists(terms, max_size=2).map(tuple),
    st.just(())
    | st.lists(
        st.builds(WeightedPodAffinityTerm, st.sampled_from([1, 29, 100]), terms), max_size=2
    ).map(tuple),
)
no_wish = st.just(PodAffinity())
namespaces = st.fixed_dictionaries(
    {name: st.sampled_from([{}, {"team": "a"}, {"team": "b"}]) for name in SPACES[:-1]}
).map(lambda spaces: [Namespace(ObjectMeta(name=n, labels=of)) for n, of in spaces.items()])


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Node:
    """Give a Node."""
    return make_node(name, labels=draw(node_labels))


@st.composite
def pods(draw: st.DrawFn, name: str, *, node: str = "", space: str | None = None) -> Pod:
    """Give a Pod, in any namespace unless told."""
    return make_pod(
        name,
        namespace=draw(st.sampled_from(SPACES)) if space is None else space,
        labels=draw(pod_labels),
        node=node,
        near=draw(no_wish | wishes),
        away=draw(no_wish | wishes),
    )
