"""Environments of the CEL interpreter: one that checks types, one that runs what was checked.

Types are checked with Kubernetes' own, as cel-go does; an expression is run without, since to
the interpreter values of those types are bytes (`cel.values`).

Source: staging/src/k8s.io/apiserver/pkg/cel/environment/base.go and
staging/src/k8s.io/dynamic-resource-allocation/cel/compile.go, v1.36.3.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec
from cel_expr_python import cel

from scheduler_svc.core.devices.cel.functions import FUNCTIONS, Function
from scheduler_svc.core.devices.cel.values import KINDS, NO_OVERLOAD, kind_of, type_name
from scheduler_svc.core.errors import InputError

_LIBRARIES: Final = ("bindings", "lists", "optional", "sets", "two-var-comprehensions")
_OURS: Final = {
    "quantity": "kubernetes.Quantity",
    "version": "kubernetes.Semver",
    "ip": "net.IP",
    "cidr": "net.CIDR",
    "url": "kubernetes.URL",
    "format": "kubernetes.NamedFormat",
}
_RUN_TYPES: Final = {
    **dict.fromkeys(_OURS, cel.Type.BYTES),
    "bool": cel.Type.BOOL,
    "bytes": cel.Type.BYTES,
    "double": cel.Type.DOUBLE,
    "int": cel.Type.INT,
    "list": cel.Type.LIST,
    "map": cel.Type.MAP,
    "string": cel.Type.STRING,
}
# What an attribute may be, where it is asked for a comparison with a value of our types.
_OF_TWO: Final = ("add", "compareTo", "isGreaterThan", "isLessThan", "sub")
_PLAIN: Final = (cel.Type.BOOL, cel.Type.INT, cel.Type.STRING)
_ATTRIBUTE: Final = cel.Type("google.protobuf.Any")
_TEXT: Final = cel.Type.STRING
# Of a device that is used as a whole no fields are known.
_FIELDS: Final = {
    "device.driver": _TEXT,
    "device.allowMultipleAllocations": cel.Type.BOOL,
    "device.attributes": cel.Type.Map(_TEXT, cel.Type.Map(_TEXT, _ATTRIBUTE)),
    "device.capacity": cel.Type.Map(
        _TEXT, cel.Type.Map(_TEXT, cel.Type.AbstractType(_OURS["quantity"]))
    ),
}
_WHOLE: Final = {"device": cel.Type.Map(_TEXT, cel.Type.DYN)}


@functools.cache
def checking(*, whole: bool = False) -> cel.Env:
    """Give an environment that checks expressions that use a device's fields, or it as a whole."""
    declared: dict[str, list[dict[str, Any]]] = {}
    for number, function in enumerate(each for each in FUNCTIONS if "@" not in each.name):
        overloads = declared.setdefault(function.name, [])
        overloads.append({"id": f"overload_{number}", **_declaration(function)})
    # Without something to call the interpreter refuses a function once it is checked.
    called = {each["id"]: bool for overloads in declared.values() for each in overloads}
    own = [name for name in declared if name.startswith("_") or name == "string"]
    config = {
        "stdlib": {"exclude_functions": [{"name": name} for name in own]},
        "extensions": [{"name": name} for name in _LIBRARIES],
        "functions": [{"name": name, "overloads": made} for name, made in declared.items()],
    }
    return _environment(config, _WHOLE if whole else _FIELDS, function_impls=called)


@functools.cache
def running() -> cel.Env:
    """Give an environment that compiles without types and runs."""
    alike: dict[tuple[str, ...], list[Function]] = {}
    for function in FUNCTIONS:
        if function.called is not None:
            names = (_run_type(each).name() for each in _parameters(function))
            alike.setdefault((function.name, *names), []).append(function)
    overloads: dict[str, list[cel.Overload]] = {}
    for (name, *kinds), functions in alike.items():
        overload = cel.Overload(
            "_".join((name, *kinds)),
            return_type=cel.Type.DYN,
            parameters=[_run_type(each) for each in _parameters(functions[0])],
            is_member=bool(functions[0].target),
            impl=_guarded(functions),
        )
        overloads.setdefault(name, []).append(overload)
    for name in _OF_TWO:
        overloads[name] += [_refusing(name, kind) for kind in _PLAIN]
    libraries = [{"name": name} for name in _LIBRARIES]
    config = {"extensions": [*libraries, {"name": "strings", "version": 2}]}
    declared = [cel.FunctionDecl(name, made) for name, made in overloads.items()]
    return _environment(config, _WHOLE, functions=declared)


def _environment(
    config: Mapping[str, Any], variables: Mapping[str, cel.Type], **functions: Any
) -> cel.Env:
    # JSON is YAML, too.
    text = msgspec.json.encode(config).decode()
    return cel.NewEnv(config=cel.NewEnvConfigFromYaml(text), variables=variables, **functions)


def _guarded(functions: list[Function]) -> Callable[..., Any]:
    """Give a function that refuses values of others of our types: to CEL all are bytes."""
    called = functions[0].called or bool
    allowed = [
        {KINDS[each] for each in alike if each in KINDS}
        for alike in zip(*map(_parameters, functions), strict=True)
    ]
    if not any(allowed):
        return called

    def guarded(*arguments: Any) -> Any:
        for kinds, argument in zip(allowed, arguments, strict=True):
            if kinds and kind_of(argument) not in kinds:
                types = ", ".join(map(type_name, arguments))
                raise InputError(f"{NO_OVERLOAD}: {functions[0].name}({types})")
        return called(*arguments)

    return guarded


def _refusing(name: str, kind: cel.Type) -> cel.Overload:
    """Give a function that tells what upstream does of a plain value and one of our types."""

    def refuse(*arguments: Any) -> Any:
        types = ", ".join(map(type_name, arguments))
        raise InputError(f"{NO_OVERLOAD}: {name}({types})")

    return cel.Overload(
        f"{name}_{kind.name()}",
        return_type=cel.Type.DYN,
        parameters=[kind, cel.Type.BYTES],
        is_member=True,
        impl=refuse,
    )


def _parameters(function: Function) -> Iterator[str]:
    if function.target:
        yield function.target
    yield from function.arguments


def _run_type(name: str) -> cel.Type:
    return _RUN_TYPES.get(name.partition("(")[0], cel.Type.DYN)


def _declaration(function: Function) -> dict[str, Any]:
    declared: dict[str, Any] = {
        "args": [_declared_type(each) for each in function.arguments],
        "return": _declared_type(function.result),
    }
    return declared | ({"target": _declared_type(function.target)} if function.target else {})


def _declared_type(text: str) -> dict[str, Any]:
    name, bracket, inner = text.partition("(")
    if not bracket:
        return {"type_name": "A", "is_type_param": True} if name == "A" else _named(name)
    parameters = inner.removesuffix(")").split(", ")
    name = "optional_type" if name == "optional" else name
    return {"type_name": name, "params": [_declared_type(each) for each in parameters]}


def _named(name: str) -> dict[str, Any]:
    return {"type_name": _OURS.get(name, name)}
