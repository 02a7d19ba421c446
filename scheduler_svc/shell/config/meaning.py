"""What the author of a mistake most likely wanted, and how to write it.

Three sources, in this order: mistakes that are known to be made (old versions of the
schema, tutorials), a name much like one that would be right here, and the same name at
another place of the schema.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Final

import msgspec.inspect as mi

from scheduler_svc.shell.config.arguments import ARGUMENT_TYPES
from scheduler_svc.shell.config.document import MappingNode, Node, Path, ScalarNode, SequenceNode
from scheduler_svc.shell.config.in_tree import IN_TREE_POINTS
from scheduler_svc.shell.config.near_names import nearest_names
from scheduler_svc.shell.config.schema import API_VERSION, KubeSchedulerConfiguration
from scheduler_svc.shell.config.scoring_strategies import (
    STRATEGIES,
    explain_scoring_strategies,
    is_list_of_strategies,
)

OF_DURATION: Final = "a duration is a number with a unit, as 15s, 1m30s or 500ms"
OF_NEGATIVE_WEIGHT: Final = "to keep a plugin from scoring, disable it at score"

_OLD_FIELDS: Final[Mapping[str, str]] = {
    "algorithmSource": "plugins are named in profiles[].plugins",
    "hardPodAffinitySymmetricWeight": (
        "it is hardPodAffinityWeight in profiles[].pluginConfig[].args of InterPodAffinity"
    ),
    "disablePreemption": "disable the plugin DefaultPreemption at postFilter",
    "healthzBindAddress": "the address to serve on is set by --bind-address and --secure-port",
    "metricsBindAddress": "the address to serve on is set by --bind-address and --secure-port",
    "unreserve": "a plugin enabled at reserve also gives back what it reserved",
    "normalizeScore": "a plugin enabled at score also normalizes its scores",
    "defaultPreemption": "it is {name: DefaultPreemption, args: {...}} in profiles[].pluginConfig",
}

_STRATEGY_OF_OLD_PLUGIN: Final[Mapping[str, str]] = {
    **{strategy: strategy for strategy in STRATEGIES},
    **{f"NodeResources{strategy}": strategy for strategy in STRATEGIES[:2]},
}

_OLD_PLUGINS: Final[Mapping[str, str]] = {
    "BalancedAllocation": "the plugin is called NodeResourcesBalancedAllocation",
    "SelectorSpread": "PodTopologySpread does it, by its default constraints",
    "NodePreferAvoidPods": "the plugin is gone; a taint with effect PreferNoSchedule does it",
    "NodeLabel": "the plugin is gone; NodeAffinity's addedAffinity does it",
    "ServiceAffinity": "the plugin is gone; InterPodAffinity does it",
    **dict.fromkeys(
        ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits", "CSILimits"),
        "NodeVolumeLimits counts the volumes of every driver",
    ),
}

_OUT_OF_TREE: Final = (
    "a plugin that is not kube-scheduler's own is a Python class: load it with "
    "--plugin package.module:Class or by the entry point group berthmaster.plugins"
)

_TOO_COMMON: Final = frozenset(
    {"apiVersion", "kind", "name", "weight", "type", "enabled", "disabled"}
)


def of_unknown_field(name: str, node: Node, known: Collection[str]) -> str:
    """Explain a field that does not exist where it stands."""
    if name in {"scoringStrategies", "scoringStrategys"}:
        return explain_scoring_strategies(node)
    if name in _OLD_FIELDS:
        return _OLD_FIELDS[name]
    near = nearest_names(name, known)
    if near:
        return f"did you mean {_either(near)}?"
    places = _places_of_fields().get(name, ())
    if places and name not in _TOO_COMMON:
        return f"{name} belongs {_either(places)}"
    if name in IN_TREE_POINTS:
        example = f"{{name: {name}, args: {{...}}}}"
        return f"arguments of a plugin are written as {example} in profiles[].pluginConfig"
    return ""


def of_wrong_type(path: Path, node: Node, wanted: str) -> str:
    """Explain a value of another type than its field's."""
    if path[-1:] == ("scoringStrategy",) and is_list_of_strategies(node):
        return explain_scoring_strategies(node)
    if isinstance(node, ScalarNode):
        return _of_wrong_scalar(path, node, wanted)
    if wanted == "a list" and isinstance(node, MappingNode):
        return 'each entry of a list starts with "- "'
    if wanted == "an object" and isinstance(node, SequenceNode):
        return 'an object has no "- " before its fields'
    return ""


def _of_wrong_scalar(path: Path, node: ScalarNode, wanted: str) -> str:
    value = node.value
    if wanted == "a duration":
        return OF_DURATION
    if wanted == "text":
        because = " (YAML reads the bare word as true or false)" if isinstance(value, bool) else ""
        return f'put it in quotes: "{node.text}"{because}'
    if (
        wanted in {"an integer", "a number"}
        and isinstance(value, str)
        and value.strip("+-").isdigit()
    ):
        return f"write it without quotes: {value}"
    if wanted == "true or false" and isinstance(value, str) and value.lower() in {"true", "false"}:
        return f"write it without quotes: {value.lower()}"
    if wanted == "an object" and path[-2:-1] in {("enabled",), ("disabled",)}:
        return f"a plugin is named as {{name: {node.text}}}"
    return ""


def of_unknown_plugin(name: str, known: Collection[str]) -> str:
    """Explain the name of a plugin that is neither in-tree nor loaded."""
    if name in _STRATEGY_OF_OLD_PLUGIN:
        return (
            f"{_STRATEGY_OF_OLD_PLUGIN[name]} is a strategy of NodeResourcesFit: set "
            "scoringStrategy.type in its args"
        )
    if name in _OLD_PLUGINS:
        return _OLD_PLUGINS[name]
    near = nearest_names(name, known)
    return f"did you mean {_either(near)}?" if near else _OUT_OF_TREE


def of_many_queue_sorts(names: Sequence[str]) -> str:
    """Explain that one plugin of several must order the queue: as a rule, the one added."""
    added = [name for name in names if name not in IN_TREE_POINTS]
    if len(added) != 1:
        return f"enabled are {', '.join(names)}"
    return (
        f"{', '.join(names)} are enabled; for {added[0]} alone, give a file by --config, with\n"
        f"multiPoint: {{enabled: [{{name: {added[0]}}}]}}\n"
        f'queueSort: {{enabled: [{{name: {added[0]}}}], disabled: [{{name: "*"}}]}}\n'
        "under plugins of each profile"
    )


def of_api_version(api_version: str, kind: str) -> str:
    """Explain an `apiVersion` or `kind` that is not the configuration's."""
    group = API_VERSION.partition("/")[0]
    if kind == "Policy":
        return "Policy files ended with kube-scheduler 1.23; profiles take their place"
    if kind == "ConfigMap":
        return "this is the ConfigMap around a configuration: give the file under its data"
    if kind.endswith("Args"):
        return "these are the arguments of a plugin: they stand in profiles[].pluginConfig[].args"
    if api_version.startswith(f"{group}/"):
        return f"kube-scheduler 1.36 reads {API_VERSION} only"
    return ""


def _either(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


@cache
def _places_of_fields() -> Mapping[str, tuple[str, ...]]:
    """Return the objects that have a field of each name, as a reader would look for them."""
    places: dict[str, dict[str, None]] = {}
    for name, place in _iterate_fields(mi.type_info(KubeSchedulerConfiguration), ""):
        places.setdefault(name, {})[f"in {place}" if place else "at the top of the file"] = None
    for plugin, type_ in ARGUMENT_TYPES.items():
        args = f"in the args of {plugin}"
        for name, place in _iterate_fields(mi.type_info(type_), ""):
            places.setdefault(name, {})[f"in {place} {args}" if place else args] = None
    return {name: tuple(found) for name, found in places.items() if len(found) <= 2}


def _iterate_fields(type_: mi.Type, prefix: str) -> Iterator[tuple[str, str]]:
    if isinstance(type_, mi.Metadata):
        yield from _iterate_fields(type_.type, prefix)
    elif isinstance(type_, mi.UnionType):
        for member in type_.types:
            yield from _iterate_fields(member, prefix)
    elif isinstance(type_, mi.VarTupleType):
        yield from _iterate_fields(type_.item_type, f"{prefix}[]")
    elif isinstance(type_, mi.StructType):
        separator = "." if prefix else ""
        for field in type_.fields:
            yield field.encode_name, prefix
            yield from _iterate_fields(field.type, f"{prefix}{separator}{field.encode_name}")
