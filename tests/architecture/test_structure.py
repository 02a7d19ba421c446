"""Small modules, small functions, names that say something, and a test module for each."""

import ast
from pathlib import PurePosixPath
from typing import Final

import pytest

from tests.architecture.sources import CORES, PACKAGES, ROOT, functions, modules

MAX_FUNCTION_LINES: Final = 60
MAX_CORE_LINES: Final = 350
MAX_LINES: Final = 400
MAX_TEST_LINES: Final = 700
# The three that hold the state everything else works on.
MAX_LARGE_CORE_LINES: Final = 450
LARGE: Final = frozenset(
    {
        "scheduler_svc/core/columns.py",
        "scheduler_svc/core/queue/scheduling_queue.py",
        "scheduler_svc/core/scheduler.py",
    }
)
MEANINGLESS_WORDS: Final = frozenset(
    {"common", "helper", "helpers", "manager", "misc", "util", "utils"}
)


def max_lines(path: str) -> int:
    """Give how long a module may be."""
    if path in LARGE:
        return MAX_LARGE_CORE_LINES
    if path.startswith(CORES):
        return MAX_CORE_LINES
    return MAX_TEST_LINES if path.startswith("tests/") else MAX_LINES


def runs_code(text: str) -> bool:
    """Whether there is anything to test: a function with more than a docstring in it."""
    return any(
        not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Constant)
        for function in functions(text)
        for statement in function.body
    )


def path_of_tests(path: str) -> str:
    """Give where the tests of a module of a core are."""
    pure = PurePosixPath(path)
    return f"tests/unit/{pure.parent}/test_{pure.name}"


def test_modules_are_small() -> None:
    lengths = {path: text.count("\n") for path, text in modules(*PACKAGES)}
    assert {path: n for path, n in lengths.items() if n > max_lines(path)} == {}
    assert lengths.keys() >= LARGE


def test_functions_are_small() -> None:
    lengths = {
        f"{path}:{f.lineno} {f.name}": (f.end_lineno or f.lineno) - f.lineno + 1
        for path, text in modules(*PACKAGES)
        for f in functions(text)
    }
    assert {name: n for name, n in lengths.items() if n > MAX_FUNCTION_LINES} == {}


def test_names_say_something() -> None:
    found = [
        path
        for path, _ in modules(*PACKAGES)
        for part in PurePosixPath(path).with_suffix("").parts
        if MEANINGLESS_WORDS & set(part.split("_"))
    ]
    assert found == []


def test_packages_hold_no_logic() -> None:
    found = [
        path
        for path, text in modules(*PACKAGES)
        if path.endswith("__init__.py") and runs_code(text)
    ]
    assert found == []


@pytest.mark.parametrize("core", CORES)
def test_every_module_of_a_core_has_its_tests(core: str) -> None:
    missing = [
        path
        for path, text in modules(core)
        if runs_code(text) and not (ROOT / path_of_tests(path)).exists()
    ]
    assert missing == []


@pytest.mark.parametrize("core", CORES)
def test_every_test_module_of_a_core_has_its_module(core: str) -> None:
    """A module that needs more than one test module gives all of them its name to begin with."""
    stems = tuple(path_of_tests(path).removesuffix(".py") for path, _ in modules(core))
    tests = [
        path
        for path, _ in modules(f"tests/unit/{core}")
        if PurePosixPath(path).name.startswith("test_")
    ]
    assert [path for path in tests if not path.startswith(stems)] == []
