"""Random scheduler configurations: plugins left out or weighted, arguments up to their limits."""

from typing import Any, Final

from tests.parity.generator.manifests import HOSTNAME, ZONE, Manifest, Random, chance

_FILTERS: Final = (
    *("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts"),
    *("NodeResourcesFit", "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"),
    *("PodTopologySpread", "InterPodAffinity", "DynamicResources", "NodeDeclaredFeatures"),
)
_SCORES: Final = (
    *("TaintToleration", "NodeAffinity", "NodeResourcesFit", "PodTopologySpread"),
    *("InterPodAffinity", "DynamicResources", "NodeResourcesBalancedAllocation", "ImageLocality"),
)
# Those that score also where they have not been prepared; others fail each attempt then.
_SCORING_ALONE: Final = frozenset(
    {"NodeAffinity", "NodeResourcesFit", "NodeResourcesBalancedAllocation", "ImageLocality"}
)
_FAILING: Final = ("NodeAffinity", "PodTopologySpread")
_VOLUMES: Final = ("VolumeBinding", "VolumeRestrictions", "VolumeZone", "NodeVolumeLimits")
_EVERYWHERE: Final = (*_FILTERS, "NodeResourcesBalancedAllocation", "ImageLocality")
_SCORED: Final = ("cpu", "memory", "ephemeral-storage", "example.com/gpu", "hugepages-2Mi", "pods")


def configuration(r: Random) -> Manifest:
    """Give a KubeSchedulerConfiguration that kube-scheduler takes, of one profile or two."""
    names = ["default-scheduler", "second"] if chance(r, 0.3) else ["default-scheduler"]
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "percentageOfNodesToScore": r.choice([0, 1, 100]),
        "profiles": [_profile(r, name) for name in names],
    }


def _profile(r: Random, name: str) -> Manifest:
    profile: Manifest = {"schedulerName": name}
    plugins = _plugins(r)
    if plugins:
        profile["plugins"] = plugins
    arguments = [
        {"name": name, "args": make(r)} for name, make in _ARGUMENTS.items() if chance(r, 0.5)
    ]
    if arguments:
        profile["pluginConfig"] = arguments
    return profile


def _plugins(r: Random) -> Manifest:
    made: Manifest = {}
    absent: list[str] = []
    if chance(r, 0.3):
        absent = r.sample(_EVERYWHERE, r.choice([1, 1, 2, 4]))
        if chance(r, 0.3):
            # What one would reject is left to the others.
            absent = r.sample(_VOLUMES, r.choice([1, 2, 3]))
        made["multiPoint"] = {"disabled": [{"name": name} for name in absent]}
    elif chance(r, 0.1):
        order = r.sample(_EVERYWHERE, len(_EVERYWHERE))
        enabled = [{"name": name} for name in ("SchedulingGates", *order)]
        enabled += [{"name": name} for name in ("PrioritySort", "DefaultBinder")]
        if chance(r, 0.7):
            enabled.append({"name": "DefaultPreemption"})
        made["multiPoint"] = {"disabled": [{"name": "*"}], "enabled": enabled}
    if chance(r, 0.3):
        names = r.sample(_FILTERS, r.choice([1, 2]))
        made["filter"] = {"disabled": [{"name": name} for name in names]}
    if chance(r, 0.6):
        made["score"] = _score(r, {*_SCORES} - {*absent} | _SCORING_ALONE)
        # Where they may prepare, but not score, what they find wrong does not count here.
        idle = [name for name in _FAILING if not _is_scoring(name, made["score"])]
        made["preScore"] = {"disabled": [{"name": name} for name in idle]}
    if chance(r, 0.15):
        names = [r.choice(["DefaultPreemption", "DynamicResources", "*"])]
        made["postFilter"] = {"disabled": [{"name": name} for name in names]}
    return made


def _score(r: Random, allowed: set[str]) -> Manifest:
    names = r.sample(sorted(allowed), min(r.choice([1, 2, 5, 8]), len(allowed)))
    weighted = [{"name": name, "weight": r.choice([1, 2, 13, 100, 100000])} for name in names]
    if chance(r, 0.3):
        return {"disabled": [{"name": "*"}], "enabled": weighted}
    if chance(r, 0.2):
        return {"disabled": [{"name": name} for name in names]}
    return {"disabled": [{"name": name} for name in names], "enabled": weighted}


def _is_scoring(name: str, score: Manifest) -> bool:
    if any(each["name"] == name for each in score.get("enabled", ())):
        return True
    return not any(each["name"] in (name, "*") for each in score["disabled"])


def _resources(r: Random) -> list[Manifest]:
    names = r.sample(_SCORED, r.choice([1, 2, 2, 3, 5]))
    return [{"name": name, "weight": r.choice([1, 1, 2, 50, 100])} for name in names]


def _fit(r: Random) -> Manifest:
    kind = r.choice(["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"])
    strategy: Manifest = {"type": kind}
    if chance(r, 0.8):
        strategy["resources"] = _resources(r)
    if kind == "RequestedToCapacityRatio":
        strategy["requestedToCapacityRatio"] = {"shape": _shape(r)}
    made: Manifest = {"scoringStrategy": strategy}
    if chance(r, 0.3):
        made["ignoredResources"] = r.sample(["example.com/gpu", "example.com/fpga"], 1)
    if chance(r, 0.2):
        made["ignoredResourceGroups"] = ["example.com"]
    return made


def _shape(r: Random) -> list[Manifest]:
    at = sorted(r.sample(range(101), r.choice([1, 2, 2, 3, 5])))
    if chance(r, 0.4):
        at = sorted({0, 100, *at})
    return [{"utilization": place, "score": r.randint(0, 10)} for place in at]


def _balanced(r: Random) -> Manifest:
    return {"resources": [{"name": each["name"], "weight": 1} for each in _resources(r)]}


def _node_affinity(r: Random) -> Manifest:
    expression: Manifest = {"key": "gen", "operator": r.choice(["Gt", "Lt"]), "values": ["5"]}
    named = {"key": "metadata.name", "operator": "NotIn", "values": ["n01"]}
    term = r.choice(
        [
            {"matchExpressions": [expression]},
            {"matchExpressions": [{"key": ZONE, "operator": "Exists"}]},
            {"matchFields": [named]},
            {"matchExpressions": [{"key": "disk", "operator": "DoesNotExist"}]},
        ]
    )
    made: Manifest = {}
    if chance(r, 0.5):
        required = {"nodeSelectorTerms": [term]}
        made["requiredDuringSchedulingIgnoredDuringExecution"] = required
    if chance(r, 0.6):
        preferred = [{"weight": r.choice([1, 100]), "preference": term}]
        made["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
    return {"addedAffinity": made} if made else {}


def _spread(r: Random) -> Manifest:
    if chance(r, 0.3):
        return {"defaultingType": "System"}
    constraints = [
        {
            "maxSkew": r.choice([1, 2, 100]),
            "topologyKey": key,
            "whenUnsatisfiable": r.choice(["DoNotSchedule", "ScheduleAnyway"]),
        }
        for key in r.sample([ZONE, HOSTNAME, "disk", "missing"], r.choice([0, 1, 2, 3]))
    ]
    return {"defaultingType": "List", "defaultConstraints": constraints}


def _inter_pod(r: Random) -> Manifest:
    return {
        "hardPodAffinityWeight": r.choice([0, 1, 33, 100]),
        "ignorePreferredTermsOfExistingPods": chance(r, 0.5),
    }


def _preemption(r: Random) -> Manifest:
    return {
        "minCandidateNodesPercentage": r.choice([0, 1, 100]),
        "minCandidateNodesAbsolute": r.choice([1, 3, 1000]),
    }


def _devices(r: Random) -> Manifest:
    return {"filterTimeout": r.choice(["0s", "10s", "5m"])}


def _volumes(r: Random) -> Manifest:
    return {"bindTimeoutSeconds": r.choice([1, 600])}


_ARGUMENTS: Final[dict[str, Any]] = {
    "NodeResourcesFit": _fit,
    "NodeResourcesBalancedAllocation": _balanced,
    "NodeAffinity": _node_affinity,
    "PodTopologySpread": _spread,
    "InterPodAffinity": _inter_pod,
    "DefaultPreemption": _preemption,
    "DynamicResources": _devices,
    "VolumeBinding": _volumes,
}
