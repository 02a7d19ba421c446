"""What a user's plugin declares, checked before any of it is used."""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeGuard

from scheduler_svc.core.custom_plugins.adapt import (
    ASYNC_METHODS,
    METHODS,
    POINT_METHODS,
    defines,
    points_of,
)
from scheduler_svc.core.custom_plugins.answers import is_duration
from scheduler_svc.core.custom_plugins.base import (
    Args,
    BasePlugin,
    NodePlugin,
    Normalize,
    VectorPlugin,
)
from scheduler_svc.core.custom_plugins.guard import shown
from scheduler_svc.core.custom_plugins.views import DECLARABLE
from scheduler_svc.core.framework.interface import Scope

_BASES: Final = (BasePlugin, NodePlugin, VectorPlugin)
# CO_COROUTINE and CO_ASYNC_GENERATOR, of the code of an `async def`.
_COROUTINE: Final = 0x80
_ASYNC: Final = _COROUTINE | 0x200


def is_plugin(candidate: Any) -> TypeGuard[type[BasePlugin[Any]]]:
    """Whether it is a plugin's class, be it one that cannot be used."""
    return (
        isinstance(candidate, type)
        and issubclass(candidate, BasePlugin)
        and candidate not in _BASES
    )


def mistakes_of(candidate: Any) -> list[str]:
    """Say, a line each, what keeps it from being a plugin's class."""
    if not isinstance(candidate, type) or not issubclass(candidate, BasePlugin):
        return ["is no subclass of NodePlugin or VectorPlugin of berthmaster.plugin"]
    if candidate in _BASES:
        return [f"{candidate.__name__} is a base for plugins, not one"]
    if not points_of(candidate):
        return [f"{candidate.__name__} defines no method of an extension point; there are {_ALL}"]
    return [*_of_methods(candidate), *mistakes_in_values(candidate)]


def mistakes_in_values(plugin: Any) -> list[str]:
    """Say, a line each, which attributes of a plugin, or of its class, have values they may not."""
    of = plugin if isinstance(plugin, type) else type(plugin)
    rules = (*_RULES, *_VECTOR_RULES) if issubclass(of, VectorPlugin) else _RULES
    given = ((rule, getattr(plugin, rule.attribute)) for rule in rules)
    mistakes = [
        f"{rule.attribute} is {shown(value)}; it must be {rule.allowed}"
        for rule, value in given
        if not rule.accepts(value)
    ]
    # What is no collection of names has its line already.
    fields = set(plugin.pod_fields) if _is_names(plugin.pod_fields) else set()
    unknown = sorted(fields - DECLARABLE)
    if unknown:
        mistakes.append(f"pod_fields names {', '.join(unknown)}; it may name {_ALL_FIELDS}")
    if "annotations" in fields and not plugin.pod_annotations:
        text = "pod_fields names annotations, so pod_annotations must name which"
        mistakes.append(f"{text}; none is kept else")
    return mistakes


def _of_methods(plugin: type[BasePlugin[Any]]) -> Iterator[str]:
    for name in (*METHODS, *ASYNC_METHODS):
        method = getattr(plugin, name, None)
        if not defines(plugin, name):
            continue
        flags = getattr(getattr(method, "__code__", None), "co_flags", 0)
        if not callable(method):
            yield f"{name} is {shown(method)}; it must be a method"
        elif name in METHODS and flags & _ASYNC:
            yield f"{name} is async; it must be a plain function, since nothing awaits it"
        elif name == "feed" and flags & _COROUTINE:
            yield "feed yields nothing; it must be an asynchronous generator"


class _Rule(NamedTuple):
    attribute: str
    allowed: str
    accepts: Callable[[Any], bool]


def _is_names(value: Any) -> bool:
    is_collection = isinstance(value, frozenset | set | tuple | list)
    return is_collection and all(isinstance(name, str) for name in value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_args(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Args)


_ALL: Final = ", ".join(POINT_METHODS)
_ALL_FIELDS: Final = ", ".join(sorted(DECLARABLE))
_RULES: Final = (
    _Rule("name", "printable text", lambda value: _is_text(value) and value.isprintable()),
    _Rule("args_type", "a subclass of berthmaster.plugin.Args", _is_args),
    _Rule("pod_fields", f"a set of names out of {_ALL_FIELDS}", _is_names),
    _Rule("pod_annotations", "a set of annotations' keys", _is_names),
    _Rule(
        "scope", "Scope.SPEC, Scope.USAGE or Scope.CLUSTER", lambda value: isinstance(value, Scope)
    ),
    _Rule(
        "normalize",
        "Normalize.NONE, Normalize.HIGHER_IS_BETTER or Normalize.LOWER_IS_BETTER",
        lambda value: isinstance(value, Normalize),
    ),
    _Rule("pre_bind_timeout_seconds", "a number of seconds above 0", is_duration),
)
_VECTOR_RULES: Final = (
    _Rule("reason", "text", _is_text),
    _Rule("resolvable", "True or False", lambda value: isinstance(value, bool)),
)
