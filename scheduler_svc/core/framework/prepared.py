"""How a class of Pods is made ready: PreFilter and PreScore speak, Skips are left out.

Source: pkg/scheduler/framework/runtime/framework.go (`RunPreFilterPlugins`,
`RunPreScorePlugins`), v1.36.3. Difference: PreScore is asked once for a class, not once
a cycle with the feasible Nodes.
"""

from typing import Final

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.framework.interface import ClusterScorePlugin, State
from scheduler_svc.core.framework.prepared_class import PreparedClass
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.framework.stopwatch import Stopwatch, timed
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import Code, Status

__all__ = ["PreparedClass", "prepare"]

_SKIPPED: Final = object()


def prepare(
    profile: Profile, pod: PodInfo, cluster: Cluster, stopwatch: Stopwatch | None = None
) -> PreparedClass:
    """Ask PreFilter, then PreScore, of the class that `pod` stands for."""
    prepared = PreparedClass(pod)
    states = _run_pre_filter(profile, prepared, cluster, stopwatch)
    if prepared.rejection is not None:
        return prepared
    for filter_plugin in profile.filter:
        state = states.get(filter_plugin.name)
        if state is not _SKIPPED:
            prepared.filters.append((filter_plugin, state))
    score_states: dict[str, State] = {}
    for pre_score_plugin in profile.pre_score:
        method = pre_score_plugin.pre_score
        status, state = timed(stopwatch, "PreScore", pre_score_plugin.name, method, pod, cluster)
        if status.code is Code.SKIP:
            score_states[pre_score_plugin.name] = _SKIPPED
            continue
        score_states[pre_score_plugin.name] = state
        prepared.consulted.append((pre_score_plugin.name, "PreScore"))
    for score_plugin in profile.score:
        state = score_states.get(score_plugin.name)
        if state is not _SKIPPED:
            weight = profile.weights[score_plugin.name]
            prepared.scores.append((score_plugin, state, weight))
        elif isinstance(score_plugin, ClusterScorePlugin) and score_plugin.scores_zero_when_skipped:
            prepared.zero_scores.append(score_plugin.name)
    return prepared


def _run_pre_filter(
    profile: Profile, prepared: PreparedClass, cluster: Cluster, stopwatch: Stopwatch | None
) -> dict[str, State]:
    states: dict[str, State] = {}
    restricting: list[str] = []
    for plugin in profile.pre_filter:
        method = plugin.pre_filter
        result = timed(stopwatch, "PreFilter", plugin.name, method, prepared.pod, cluster)
        prepared.pre_filtered.add(plugin.name)
        code = result.status.code
        if code is Code.SKIP:
            states[plugin.name] = _SKIPPED
            continue
        prepared.consulted.append((plugin.name, "PreFilter"))
        if code is not Code.SUCCESS:
            prepared.rejection = _attributed(result.status, plugin.name)
            if code is Code.UNSCHEDULABLE:
                # The rest may still find that preemption cannot help.
                continue
            return states
        states[plugin.name] = result.state
        if result.node_names is not None:
            restricting.append(plugin.name)
            known = prepared.node_names
            prepared.node_names = result.node_names if known is None else known & result.node_names
            prepared.node_names_status = _restriction_status(restricting)
            prepared.restricting = tuple(restricting)
            if not prepared.node_names:
                prepared.rejection = _empty_restriction(restricting)
                return states
    return states


def _attributed(status: Status, plugin: str) -> Status:
    if status.code in (Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE):
        return Status(status.code, status.reasons, plugin)
    text = f'running PreFilter plugin "{plugin}": {status.message}'
    return Status(Code.ERROR, (text,), plugin)


def _restriction_status(plugins: list[str]) -> Status:
    reason = f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(plugins))}]"
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,))


def _empty_restriction(plugins: list[str]) -> Status:
    if len(plugins) == 1:
        reason = f"node(s) didn't satisfy plugin {plugins[0]}"
    else:
        reason = f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(plugins))}] simultaneously"
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,))
