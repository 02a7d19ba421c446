"""Evaluations of classes are kept while there is room, and made anew when they must be."""

from collections.abc import Sequence

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.framework.class_cache import ClassCache
from scheduler_svc.core.framework.evaluation import INFEASIBLE, Evaluation
from scheduler_svc.core.framework.interface import Plugin, PreFilterResult, Scope, State
from scheduler_svc.core.plugins.node_resources_fit import NodeResourcesFit
from scheduler_svc.core.status import SKIP, Code, Status
from tests.builders import GPU, make_cache, make_node_info, make_pod_info, make_profile
from tests.scripted_plugins import Filtering, PreFiltering, PreScoring, Scoring, named


def class_cache(cache: Cache, *, max_bytes: int = 10**6) -> ClassCache:
    fit = NodeResourcesFit()
    points = {"preFilter": [fit], "filter": [fit], "preScore": [fit], "score": [fit]}
    return ClassCache(make_profile(points), cache.cluster, max_bytes=max_bytes)


def test_pods_of_one_class_share_an_evaluation() -> None:
    classes = class_cache(make_cache([make_node_info()]))
    one = classes.evaluation(make_pod_info("one", requests={"cpu": 1}))
    assert classes.evaluation(make_pod_info("other", requests={"cpu": 1})) is one
    assert classes.evaluation(make_pod_info("other", requests={"cpu": 2})) is not one
    statistics = classes.statistics()
    assert (statistics.class_count, statistics.hit_count, statistics.miss_count) == (2, 1, 2)
    assert statistics.size_bytes == 2 * one.size_bytes


def test_a_kept_evaluation_is_up_to_date() -> None:
    cache = make_cache([make_node_info(cpu=2)])
    classes, pod = class_cache(cache), make_pod_info(requests={"cpu": 1})
    row = cache.columns.rows["n"]
    assert classes.evaluation(pod).totals[row] != INFEASIBLE
    cache.upsert(make_pod_info("x", node="n", requests={"cpu": "1500m"}))
    assert classes.evaluation(pod).totals[row] == INFEASIBLE
    assert classes.statistics().hit_count == 1


def test_all_are_made_anew_when_there_is_a_resource_more() -> None:
    cache = make_cache([make_node_info()])
    classes, pod = class_cache(cache), make_pod_info(requests={GPU: 1})
    former = classes.evaluation(pod)
    assert (former.totals == INFEASIBLE).all()
    cache.set_node(make_node_info(offers={GPU: 1}))
    newer = classes.evaluation(pod)
    assert newer is not former
    assert newer.totals[cache.columns.rows["n"]] != INFEASIBLE
    assert classes.statistics().class_count == 1


def test_the_least_recently_used_goes_first() -> None:
    cache = make_cache([make_node_info()])
    pods = [make_pod_info(requests={"cpu": i}) for i in range(3)]
    size = class_cache(cache).evaluation(pods[0]).size_bytes
    classes = class_cache(cache, max_bytes=2 * size)
    first = classes.evaluation(pods[0])
    classes.evaluation(pods[1])
    assert classes.evaluation(pods[0]) is first
    classes.evaluation(pods[2])
    assert classes.statistics().class_count == 2
    assert classes.statistics().size_bytes <= 2 * size
    assert classes.evaluation(pods[0]) is first
    classes.evaluation(pods[1])
    assert classes.statistics().miss_count == 4


def test_an_evaluation_that_is_too_large_is_not_kept() -> None:
    classes = class_cache(make_cache([make_node_info()]), max_bytes=1)
    assert isinstance(classes.evaluation(make_pod_info()), Evaluation)
    assert classes.statistics().class_count == 0


class Failing(Filtering):
    """Filter that fails until it is told not to."""

    is_failing = True

    def failure(self, state: State) -> Status | None:
        return Status(Code.ERROR, ("broken",)) if self.is_failing else None


def test_nothing_is_kept_of_a_class_that_could_not_be_judged() -> None:
    plugin = named("F", Failing)()
    cache = make_cache([make_node_info()])
    classes = ClassCache(make_profile({"filter": [plugin]}), cache.cluster)
    failed = classes.evaluation(make_pod_info())
    assert classes.statistics().class_count == 0
    plugin.is_failing = False
    kept = classes.evaluation(make_pod_info())
    assert kept is not failed
    plugin.is_failing = True
    assert classes.evaluation(make_pod_info()) is kept
    assert classes.statistics().class_count == 0


def test_what_plugins_keep_of_a_class_is_noticed_as_it_grows() -> None:
    class Growing(Filtering):
        filter_scope = Scope.CLUSTER
        size_bytes = 0

        def state_size_bytes(self, state: State) -> int:
            return self.size_bytes

    plugin = named("F", Growing)()
    cache = make_cache([make_node_info()])
    classes = ClassCache(make_profile({"filter": [plugin]}), cache.cluster, max_bytes=10**6)
    classes.evaluation(make_pod_info())
    assert classes.statistics().class_count == 1
    plugin.size_bytes = 10**7
    for _ in range(64):
        classes.evaluation(make_pod_info())
    assert classes.statistics().class_count == 0


def test_attempts_count_for_the_plugins_that_had_a_say() -> None:
    cache = make_cache([make_node_info()])
    classes = class_cache(cache)
    for _ in range(3):
        classes.evaluation(make_pod_info(requests={"cpu": 1}))
    classes.evaluation(make_pod_info(requests={"cpu": 2}))
    points = ("PreFilter", "Filter", "PreScore", "Score")
    assert classes.drain_plugin_evaluations() == {("NodeResourcesFit", p): 4 for p in points}
    assert classes.drain_plugin_evaluations() == {}


def test_a_plugin_that_skips_a_pod_has_no_say() -> None:
    points: dict[str, Sequence[Plugin]] = {
        "preFilter": [named("F", PreFiltering)(PreFilterResult(SKIP))],
        "filter": [named("F", Filtering)()],
        "preScore": [named("S", PreScoring)(SKIP)],
        "score": [named("S", Scoring)({}), named("T", Scoring)({})],
    }
    classes = ClassCache(make_profile(points), make_cache([make_node_info()]).cluster)
    classes.evaluation(make_pod_info())
    assert classes.drain_plugin_evaluations() == {("T", "Score"): 1}


def test_attempts_of_classes_that_were_dropped_count_too() -> None:
    cache = make_cache([make_node_info()])
    too_small = class_cache(cache, max_bytes=1)
    too_small.evaluation(make_pod_info())
    assert too_small.drain_plugin_evaluations()["NodeResourcesFit", "Filter"] == 1
    classes = class_cache(cache)
    classes.evaluation(make_pod_info())
    cache.set_node(make_node_info(offers={GPU: 1}))
    classes.evaluation(make_pod_info())
    assert classes.drain_plugin_evaluations()["NodeResourcesFit", "Filter"] == 2
    points = {"filter": [named("F", Failing)()]}
    failing = ClassCache(make_profile(points), cache.cluster)
    failing.evaluation(make_pod_info())
    assert failing.drain_plugin_evaluations() == {("F", "Filter"): 1}
