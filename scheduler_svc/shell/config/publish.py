"""Writes a configuration back as the document that would give it: for `/configz`.

Every default is filled in. Fields that Go's encoder leaves out when they are empty are
left out here too. A private key is never written.
"""

import base64
from typing import Any, Final

import msgspec
import msgspec.inspect as mi

from kubeio.durations import format_duration
from scheduler_svc.shell.config.arguments import ArgumentsStruct
from scheduler_svc.shell.config.configuration import Configuration, Profile, RawArguments
from scheduler_svc.shell.config.formats import DURATION, HIDDEN
from scheduler_svc.shell.config.schema import API_VERSION, KIND

REDACTED: Final = "--- REDACTED ---"


def to_document(configuration: Configuration) -> dict[str, Any]:
    """Return the configuration as a JSON-able KubeSchedulerConfiguration."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "parallelism": configuration.parallelism,
        "leaderElection": _struct(configuration.leader_election),
        "clientConnection": _struct(configuration.client_connection),
        "enableProfiling": configuration.enable_profiling,
        "enableContentionProfiling": configuration.enable_contention_profiling,
        "percentageOfNodesToScore": configuration.percentage_of_nodes_to_score,
        "podInitialBackoffSeconds": configuration.pod_initial_backoff_seconds,
        "podMaxBackoffSeconds": configuration.pod_max_backoff_seconds,
        "profiles": [profile_document(profile) for profile in configuration.profiles],
        "extenders": [_struct(extender) for extender in configuration.extenders],
        "delayCacheUntilActive": configuration.delay_cache_until_active,
    }


def profile_document(profile: Profile) -> dict[str, Any]:
    """Return one profile, as the file has it."""
    percentage = profile.percentage_of_nodes_to_score
    own = {} if percentage is None else {"percentageOfNodesToScore": percentage}
    return {
        "schedulerName": profile.scheduler_name,
        **own,
        "plugins": _struct(profile.plugins),
        "pluginConfig": [
            {"name": name, "args": _arguments(name, arguments)}
            for name, arguments in profile.args.items()
        ],
    }


def _arguments(name: str, arguments: ArgumentsStruct | RawArguments) -> dict[str, Any]:
    if isinstance(arguments, RawArguments):
        return dict(arguments.document)
    return {"apiVersion": API_VERSION, "kind": f"{name}Args", **_struct(arguments)}


def _struct(value: msgspec.Struct) -> dict[str, Any]:
    type_ = mi.type_info(type(value))
    document: dict[str, Any] = {}
    for field in type_.fields if isinstance(type_, mi.StructType) else ():
        item = getattr(value, field.name)
        is_left_out = value.__struct_config__.omit_defaults and item == field.default
        if item is not None and item != () and not is_left_out:
            document[field.encode_name] = _value(item, field.type)
    return document


def _value(value: object, type_: mi.Type) -> object:
    form = (type_.extra or {}).get("format") if isinstance(type_, mi.Metadata) else None
    if form == HIDDEN:
        return REDACTED
    if form == DURATION and isinstance(value, float):
        return format_duration(value)
    if isinstance(value, msgspec.Struct):
        return _struct(value)
    if isinstance(value, tuple):
        item_type = type_.item_type if isinstance(type_, mi.VarTupleType) else mi.AnyType()
        return [_value(item, item_type) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value
