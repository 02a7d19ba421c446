"""Evaluations of classes are kept while there is room, and made anew when they must be."""

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.framework.class_cache import ClassCache
from scheduler_svc.core.framework.evaluation import INFEASIBLE, Evaluation
from scheduler_svc.core.framework.interface import Scope, State
from scheduler_svc.core.plugins.node_resources_fit import NodeResourcesFit
from scheduler_svc.core.status import Code, Status
from tests.builders import GPU, make_cache, make_node_info, make_pod_info, make_profile
from tests.scripted_plugins import Filtering, named


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


def test_nothing_is_kept_of_a_class_that_could_not_be_judged() -> None:
    class Failing(Filtering):
        is_failing = True

        def failure(self, state: State) -> Status | None:
            return Status(Code.ERROR, ("broken",)) if self.is_failing else None

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
