"""The methods of users' plugins: those that cannot be called, and those that nothing calls.

A method whose name is like that of an extension point, and that neither the plugin nor its module
calls, is most likely meant to be that point's. It may be a plugin's own all the same, so it is told
of and nothing else; a method that cannot be called fails for every Pod, so it keeps the plugin out.
"""

import inspect
import sys
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType, MappingProxyType
from typing import Any, Final

from scheduler_svc.core.custom_plugins.adapt import ASYNC_METHODS, METHODS, PluginClass, defines
from scheduler_svc.core.custom_plugins.base import BasePlugin, NodePlugin, VectorPlugin
from scheduler_svc.shell.config.near_names import nearest_names

_BASES: Final = (VectorPlugin, NodePlugin, BasePlugin)
_PYTHONS: Final = frozenset({"builtins", "typing", "abc"})
_OURS: Final = frozenset((*METHODS, *ASYNC_METHODS))

_NOT_OFFERED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "pre_score": "plugins in Python have no such point; prepare in score",
        "normalize_score": "set `normalize` to scale scores",
        "post_filter": "plugins in Python have no such point",
        "bind": "plugins in Python have no such point; use pre_bind or post_bind",
    }
)
"""Methods of upstream's that there is no use of here, and what there is instead."""


def signature_mistakes(plugin: PluginClass) -> Iterator[str]:
    """Say which methods cannot be called with what they are called with, a line each."""
    for name in (*METHODS, *ASYNC_METHODS):
        if not defines(plugin, name):
            continue
        # Of other callables, a decorator's say, it cannot be told how they are bound.
        method = inspect.getattr_static(plugin, name)
        is_plain = isinstance(method, FunctionType)
        if not is_plain and not isinstance(method, staticmethod | classmethod):
            continue
        declared = _declared(plugin, name)
        given = declared if is_plain else declared[1:]
        try:
            # What a wrapper wraps may be called with something else.
            signature = inspect.signature(getattr(plugin, name), follow_wrapped=False)
            signature.bind(*given)
        except TypeError as error:
            yield (
                f"{name} cannot be called with ({', '.join(declared[1:])}): {error}; "
                f"it must be {name}({', '.join(declared)})"
            )


def making_mistakes(plugin: PluginClass) -> Iterator[str]:
    """Say why the scheduler cannot make it, which gives `__init__` the arguments and nothing else.

    A test makes its plugins itself, so this is no mistake there.
    """
    if not isinstance(plugin.__init__, FunctionType):
        return
    try:
        inspect.signature(plugin.__init__, follow_wrapped=False).bind("self", "args")
    except TypeError as error:
        yield (
            f"__init__ cannot be called with (args): {error}; "
            "it must be __init__(self, args=None), and call super().__init__(args)"
        )


def unheard_methods(plugin: PluginClass) -> tuple[str, ...]:
    """Say which methods look like an extension point's but are none, a line each; sorted."""
    mine = [cls for cls in plugin.__mro__ if cls not in _BASES and cls.__module__ not in _PYTHONS]
    candidates = {
        name
        for cls in mine
        for name, value in vars(cls).items()
        if not name.startswith("_") and not isinstance(value, property) and _function_of(value)
    }
    inherited = {name for base in _BASES for name in vars(base)}
    hints = {name: _hint(plugin, name) for name in sorted(candidates - inherited)}
    suspects = {name: hint for name, hint in hints.items() if hint}
    # Most plugins have none, and their code is not read.
    called = _called_names(mine) if suspects else frozenset()
    return tuple(
        f"plugin {plugin.name or plugin.__name__} has a method {name!r}, which no extension point "
        f"calls; {hint}"
        for name, hint in suspects.items()
        if name not in called
    )


def _hint(plugin: PluginClass, name: str) -> str:
    """Say what may have been meant; "" where it is no method, or one that there is as well."""
    near = nearest_names(name, _OURS | _NOT_OFFERED.keys())
    if not near or (near[0] in _OURS and defines(plugin, near[0])):
        return ""
    return _NOT_OFFERED.get(near[0]) or f"did you mean {near[0]!r}?"


def _declared(plugin: PluginClass, name: str) -> tuple[str, ...]:
    """Give the parameters as the base declares them, `self` first."""
    base = next(cls for cls in plugin.__mro__ if cls in _BASES)
    # What is a plugin, but neither of a Node nor a vector one, judges all Nodes: see `adapt`.
    declaration = getattr(base, name, None) or getattr(VectorPlugin, name)
    return tuple(inspect.signature(declaration).parameters)


def _called_names(classes: list[type]) -> frozenset[str]:
    """Give what is named in the code of the classes and of their modules.

    What a function names of itself does not count: it is not called by that.
    """
    names: set[str] = set()
    for function in _functions(classes):
        names |= _names_in(function.__code__) - {function.__name__}
    return frozenset(names)


def _functions(classes: list[type]) -> Iterator[FunctionType]:
    local = {cls.__module__ for cls in classes}
    modules = [sys.modules[name] for name in local if name in sys.modules]
    around = [
        value
        for module in modules
        for value in vars(module).values()
        if getattr(value, "__module__", None) in local
    ]
    yield from (value for value in around if isinstance(value, FunctionType))
    neighbours = [value for value in around if isinstance(value, type)]
    for cls in dict.fromkeys((*classes, *neighbours)):
        for value in vars(cls).values():
            function = _function_of(value)
            if function is not None:
                yield function


def _function_of(value: Any) -> FunctionType | None:
    """Give the function behind a method or property; None for what is neither."""
    if isinstance(value, property):
        value = value.fget
    if isinstance(value, staticmethod | classmethod):
        value = value.__func__
    while not isinstance(value, FunctionType | type) and hasattr(value, "__wrapped__"):
        value = value.__wrapped__
    return value if isinstance(value, FunctionType) else None


def _names_in(code: CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names_in(constant)
    return names
