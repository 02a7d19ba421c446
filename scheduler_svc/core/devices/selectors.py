"""CEL selectors of devices: compiled once, asked once for all devices alike.

The interpreter is Google's, in C++ (cel-expr-python): a question costs some 6 µs. Answers
are kept with the `DeviceTraits`, of which devices with equal attributes share one.

Source: staging/src/k8s.io/dynamic-resource-allocation/cel/compile.go, v1.36.3. Differences:
no limit of cost at run time (the API server refuses expressions that could exceed it);
texts of errors that are not the common ones are the interpreter's.
"""

import functools
import re
import weakref
from collections import OrderedDict
from typing import Any, Final

import msgspec
from cel_expr_python import cel

from scheduler_svc.core.device_objects import Device, DeviceAttribute
from scheduler_svc.core.devices.cel.environments import checking, running
from scheduler_svc.core.devices.cel.functions import FUNCTIONS
from scheduler_svc.core.devices.cel.quantities import quantity_value
from scheduler_svc.core.devices.cel.syntax import rewritten
from scheduler_svc.core.devices.cel.values import NO_OVERLOAD, names_of
from scheduler_svc.core.devices.cel.versions import version_value
from scheduler_svc.core.errors import InputError

_MAX_PROGRAMS: Final = 1024
_CODE: Final = re.compile(r"^[A-Z_]+: ")
_UNKNOWN_FIELD: Final = re.compile(r"undeclared reference to 'device\.(\w+)' \(in container ''\)")
_APPLIED: Final = re.compile(r"applied to '.*'")
_CHECKED_NAMES: Final = (
    ("google.protobuf.Duration", "duration"),
    ("google.protobuf.Timestamp", "timestamp"),
    ("null_type", "null"),
)
_NO_MATCH: Final = re.compile(r"found no matching overload for '(\w+)' applied to '\((.*)\)'")
_BAD_INDEX: Final = re.compile(r"Index error: index=(-?\d+) ")
_HAS_FIELD: Final = re.compile(r"\bhas\s*\(\s*device\s*\.\s*\w+\s*\)")
_NO_OVERLOAD: Final = re.compile(r"^No matching overloads found : (?:\((.*?)\)\.)?@?(\w+)\((.*)\)$")
_RUN_NAMES: Final = {"int64": "int", "uint64": "uint"}
_NAMED_FUNCTIONS: Final = frozenset(function.name for function in FUNCTIONS)
_NO_CONVERSION: Final = re.compile(
    r"^(?:cannot convert (string) to (\w+)|(\w+) to (\w+) conversion failed"
    r"|Type conversion error from '(\w+)' to '(\w+)')$"
)
_CONVERTED: Final = {
    "Duration": "google.protobuf.Duration",
    "Timestamp": "google.protobuf.Timestamp",
}
# The interpreter names the function of a list that fails.
_NAMED: Final = re.compile(r"^\w+\(\): ")
# cel-go has this macro of two variables by two names.
_OTHER_NAME: Final = re.compile(r"\bexists_one(?=\s*\(\s*\w+\s*,\s*\w+\s*,)")
_BARE_DEVICE: Final = "undeclared reference to 'device' "
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


def _attribute_value(attribute: DeviceAttribute) -> bool | bytes | int | str:
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
        self._compiler: _Compiler | None = None
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
        if self._compiler is None:
            self._compiler = _Compiler()
        program = self._programs[expression] = self._compiler.compile(expression)
        if len(self._programs) > _MAX_PROGRAMS:
            self._programs.popitem(last=False)
        return program


class _Compiler:
    """Compiles twice: with the types of a device, for what is wrong, and without, to be run."""

    def __init__(self) -> None:
        self._check = checking().compile
        self._environment = running()

    def compile(self, expression: str) -> cel.Expression | SelectorFailure:
        """Give the program, or what is wrong with the expression."""
        # As long as the other, for what is wrong to be told at its place.
        expression = _OTHER_NAME.sub("existsOne ", expression)
        fault = self._fault(expression)
        if fault:
            return SelectorFailure("compile", fault)
        untyped = self._environment.compile(expression, disable_check=True)
        return self._environment.deserialize(rewritten(untyped.serialize()))

    def _fault(self, expression: str) -> str:
        """Give what the types say against it."""
        try:
            kind = self._check(expression).return_type().name()
        except RuntimeError as error:
            text = _compile_text(str(error), expression)
            if _BARE_DEVICE not in text:
                return f"compilation failed: {text}"
            return self._fault_of_whole(expression)
        # An attribute's type is not known.
        if kind in ("BOOL", "ERROR") or _HAS_FIELD.search(expression):
            return ""
        return f"must evaluate to bool or the unknown type, not {_type_name(kind)}"

    def _fault_of_whole(self, expression: str) -> str:
        """Give the same where the device is used as a whole, so that its fields are not known."""
        try:
            checking(whole=True).compile(expression)
        except RuntimeError as error:
            return f"compilation failed: {_compile_text(str(error), expression)}"
        return ""


def _compile_text(text: str, expression: str) -> str:
    """Give the interpreter's text in cel-go's words."""
    text = re.sub(r" \[[A-Z_]+\]$", "", _CODE.sub("", text))
    text = _UNKNOWN_FIELD.sub(r"undefined field '\1'", text)
    text = _APPLIED.sub(_with_own_names, text)
    return _NO_MATCH.sub(lambda match: _as_called(match, expression), text)


def _with_own_names(match: re.Match[str]) -> str:
    return functools.reduce(lambda text, names: text.replace(*names), _CHECKED_NAMES, match[0])


def _as_called(match: re.Match[str], expression: str) -> str:
    """Write the arguments of a member function after what it is called on."""
    name, arguments = match[1], match[2]
    if not re.search(rf"\.\s*{re.escape(name)}\s*\(", expression):
        return match[0]
    depth, end = 0, len(arguments)
    for index, letter in enumerate(arguments):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            end = index
            break
    target, rest = arguments[:end], arguments[end + 2 :]
    return f"found no matching overload for '{name}' applied to '{target}.({rest})'"


def _type_name(kind: str) -> str:
    """Give a type's name as cel-go writes it: map(string, int)."""
    if kind.startswith(("kubernetes.", "net.")):
        return kind
    name = kind.lower().replace("<", "(").replace(">", ")")
    return name.replace("error", "google.protobuf.Any").replace("null", "null_type")


def _evaluate(program: cel.Expression, variables: dict[str, Any]) -> Answer:
    """Evaluate; a domain that the device has nothing of is an empty map, as upstream has it.

    Domains are added as they turn out to be missing: a logical operator gives the same for
    an error as for any value wherever it does not give the error itself.
    """
    device, added = variables, set[str]()
    while True:
        try:
            value = program.eval(data={"device": device})
        except (RuntimeError, TypeError, ValueError) as error:
            # What the interpreter has no value for.
            return SelectorFailure("runtime", _CODE.sub("", str(error)))
        kind = value.type().name()
        if kind == "BOOL":
            return bool(value.value())
        if kind != "ERROR":
            return SelectorFailure("runtime", _no_bool(kind.lower(), value.value()))
        text = _CODE.sub("", str(value.value()))
        missing = _MISSING_KEY.match(text)
        if missing is None:
            return SelectorFailure("runtime", _run_text(text))
        if missing[1] in added:
            return SelectorFailure("runtime", f"no such key: {missing[1]}")
        added.add(missing[1])
        empty: dict[str, Any] = {missing[1]: {}}
        device = {
            **device,
            "attributes": empty | device["attributes"],
            "capacity": empty | device["capacity"],
        }


def _run_text(text: str) -> str:
    """Give the interpreter's text in cel-go's words, for what is common."""
    call = _NO_OVERLOAD.match(text)
    if call is not None and call[2] in _NAMED_FUNCTIONS:
        return _no_overload(call[2], f"{call[1] or ''}, {call[3]}")
    if text.startswith("No matching overloads found"):
        return NO_OVERLOAD
    conversion = _NO_CONVERSION.match(text)
    if conversion is not None:
        kinds = [part for part in conversion.groups() if part]
        own, other = kinds[0].lower(), _CONVERTED.get(kinds[1], kinds[1])
        return f"type conversion error from '{own}' to '{other}'"
    index = _BAD_INDEX.match(text)
    if index is not None:
        return f"index out of bounds: {index[1]}"
    text = _NAMED.sub("", text)
    return "division by zero" if text == "divide by zero" else text


def _no_overload(name: str, types: str) -> str:
    """Tell of a call of values of other types; which of ours bytes are is not known."""
    known = [_RUN_NAMES.get(each, each) for each in types.split(", ") if each]
    if "bytes" in known:
        return NO_OVERLOAD
    return f"{NO_OVERLOAD}: {name}({', '.join(known)})"


def _no_bool(kind: str, value: object) -> str:
    names = names_of(value)
    if names is not None:
        kind, reason = names[0], f"type conversion error from '{names[1]}' to 'bool'"
        return f"CEL result of type {kind} could not be converted to bool: {reason}"
    reason = f"unsupported native conversion from {kind} to 'bool'"
    if kind == "int":
        reason = "unsupported type conversion from 'int' to bool"
    return f"CEL result of type {kind} could not be converted to bool: {reason}"
