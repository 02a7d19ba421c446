"""CEL selectors of devices: compiled once, asked once for all devices alike.

The interpreter is Google's, in C++ (cel-expr-python): a question costs some 6 µs. Answers
are kept with the `DeviceTraits`, of which devices with equal attributes share one.

Source: staging/src/k8s.io/dynamic-resource-allocation/cel/compile.go, v1.36.3. Differences:
no limit of cost at run time (the API server refuses expressions that could exceed it);
texts of errors that are not the common ones are the interpreter's.
"""

import re
import weakref
from collections import OrderedDict
from typing import Any, Final

import msgspec
from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings

from scheduler_svc.core.device_objects import Device, DeviceAttribute
from scheduler_svc.core.devices.cel_values import (
    FUNCTIONS,
    NO_OVERLOAD,
    quantity_value,
    version_value,
)
from scheduler_svc.core.errors import InputError

_MAX_PROGRAMS: Final = 1024
_TYPES: Final = {
    "bool": cel.Type.BOOL,
    "double": cel.Type.DOUBLE,
    "dyn": cel.Type.DYN,
    "int": cel.Type.INT,
    "list": cel.Type.LIST,
    "string": cel.Type.STRING,
}
_CODE: Final = re.compile(r"^[A-Z_]+: ")
_MISSING_KEY: Final = re.compile(r'^Key not found in map : "?(.*?)"?$')


class SelectorFailure(msgspec.Struct, frozen=True):
    """Why an expression has no answer; `stage` is compile or runtime."""

    stage: str
    text: str


Answer = bool | SelectorFailure


class DeviceTraits:
    """What expressions can ask of a device; one object for all devices alike in it.

    `answers` are those given so far, by expression. `fault` says what of the device has no
    meaning, "" for a sound one.
    """

    __slots__ = ("__weakref__", "answers", "fault", "variables")

    def __init__(self, driver: str, device: Device) -> None:
        self.answers: dict[str, Answer] = {}
        self.fault = ""
        attributes: dict[str, dict[str, Any]] = {}
        capacity: dict[str, dict[str, Any]] = {}
        for name, attribute in device.attributes.items():
            domain, identifier = _qualified(name, driver)
            try:
                attributes.setdefault(domain, {})[identifier] = _attribute_value(attribute)
            except InputError as error:
                self.fault = self.fault or f"attribute {name}: {error}"
        for name, amount in device.capacity.items():
            domain, identifier = _qualified(name, driver)
            capacity.setdefault(domain, {})[identifier] = quantity_value(amount.value)
        self.variables: dict[str, Any] = {
            "driver": driver,
            "allowMultipleAllocations": device.allow_multiple_allocations,
            "attributes": attributes,
            "capacity": capacity,
        }


def _qualified(name: str, driver: str) -> tuple[str, str]:
    domain, slash, identifier = name.partition("/")
    return (domain, identifier) if slash else (driver, name)


def _attribute_value(attribute: DeviceAttribute) -> bool | int | str:
    if attribute.int_value is not None:
        return attribute.int_value
    if attribute.bool_value is not None:
        return attribute.bool_value
    if attribute.string_value is not None:
        return attribute.string_value
    if attribute.version_value is not None:
        try:
            return version_value(attribute.version_value)
        except InputError as error:
            raise InputError(f"parse semantic version: {error}") from error
    raise InputError("unsupported attribute value")


class Selectors:
    """Compiles expressions and asks them, remembering programs and answers."""

    def __init__(self) -> None:
        self._environment: cel.Env | None = None
        self._programs: OrderedDict[str, cel.Expression | SelectorFailure] = OrderedDict()
        self._traits: weakref.WeakValueDictionary[bytes, DeviceTraits] = (
            weakref.WeakValueDictionary()
        )
        self._encode = msgspec.msgpack.Encoder().encode

    def traits(self, driver: str, device: Device) -> DeviceTraits:
        """Give what expressions can ask of a device of `driver`."""
        allows_more = device.allow_multiple_allocations
        key = self._encode((driver, allows_more, device.attributes, device.capacity))
        traits = self._traits.get(key)
        if traits is None:
            traits = self._traits[key] = DeviceTraits(driver, device)
        return traits

    def matches(self, expression: str, traits: DeviceTraits) -> Answer:
        """Tell whether the expression is true for devices with these traits."""
        answer = traits.answers.get(expression)
        if answer is None:
            answer = traits.answers[expression] = self._ask(expression, traits)
        return answer

    def _ask(self, expression: str, traits: DeviceTraits) -> Answer:
        program = self._program(expression)
        if isinstance(program, SelectorFailure):
            return program
        if traits.fault:
            return SelectorFailure("runtime", traits.fault)
        return _evaluate(program, traits.variables)

    def _program(self, expression: str) -> cel.Expression | SelectorFailure:
        program = self._programs.get(expression)
        if program is not None:
            self._programs.move_to_end(expression)
            return program
        if self._environment is None:
            self._environment = _environment()
        try:
            program = self._environment.compile(expression)
        except RuntimeError as error:
            text = re.sub(r" \[[A-Z_]+\]$", "", _CODE.sub("", str(error)))
            program = SelectorFailure("compile", f"compilation failed: {text}")
        self._programs[expression] = program
        if len(self._programs) > _MAX_PROGRAMS:
            self._programs.popitem(last=False)
        return program


def _environment() -> cel.Env:
    overloads: dict[str, list[cel.Overload]] = {}
    for name, is_member, parameters, result, implementation in FUNCTIONS:
        overloads.setdefault(name, []).append(
            cel.Overload(
                "_".join((name.replace(".", "_"), *parameters)),
                return_type=_TYPES[result],
                parameters=[_TYPES[parameter] for parameter in parameters],
                is_member=is_member,
                impl=implementation,
            )
        )
    return cel.NewEnv(
        variables={"device": cel.Type.Map(cel.Type.STRING, cel.Type.DYN)},
        extensions=[
            ext_bindings.ExtBindings(),
            ext_strings.ExtStrings(),
            ext_optional.ExtOptional(),
            ext_math.ExtMath(),
        ],
        functions=[cel.FunctionDecl(name, found) for name, found in overloads.items()],
    )


def _evaluate(program: cel.Expression, variables: dict[str, Any]) -> Answer:
    """Evaluate; a domain that the device has nothing of is an empty map, as upstream has it.

    Domains are added as they turn out to be missing: a logical operator gives the same for
    an error as for any value wherever it does not give the error itself.
    """
    device, added = variables, set[str]()
    while True:
        value = program.eval(data={"device": device})
        kind = value.type().name()
        if kind == "BOOL":
            return bool(value.value())
        if kind != "ERROR":
            return SelectorFailure("runtime", _no_bool(kind.lower()))
        text = _CODE.sub("", str(value.value()))
        missing = _MISSING_KEY.match(text)
        if missing is None:
            return SelectorFailure("runtime", _KNOWN_TEXTS.get(text.split(" found :")[0], text))
        if missing[1] in added:
            return SelectorFailure("runtime", f"no such key: {missing[1]}")
        added.add(missing[1])
        empty: dict[str, Any] = {missing[1]: {}}
        device = {
            **device,
            "attributes": empty | device["attributes"],
            "capacity": empty | device["capacity"],
        }


_KNOWN_TEXTS: Final = {
    "No matching overloads": NO_OVERLOAD,
    "divide by zero": "division by zero",
}


def _no_bool(kind: str) -> str:
    reason = f"unsupported native conversion from {kind} to 'bool'"
    return f"CEL result of type {kind} could not be converted to bool: {reason}"
