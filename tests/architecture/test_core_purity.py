"""The cores touch nothing outside: no clock, no IO, no chance, no order of hashes or addresses.

What is allowed is listed, so that a new way out has to be let in here first.
"""

import ast
from collections.abc import Iterator
from typing import Final

import pytest

from tests.architecture.sources import CORES, modules

ALLOWED_IMPORTS: Final = frozenset(
    {
        "__future__",
        "abc",
        "bisect",
        # CEL is a pure function of expression and device; it has no way to the outside.
        "cel_expr_python",
        "collections",
        "contextlib",
        "dataclasses",
        "decimal",
        "enum",
        "functools",
        "hashlib",
        "heapq",
        "itertools",
        "math",
        "msgspec",
        "numpy",
        "operator",
        "re",
        "types",
        "typing",
        "weakref",
        "zlib",
    }
)
BANNED_NAMES: Final = frozenset(
    {
        "__builtins__",
        "__import__",
        "breakpoint",
        "compile",
        "delattr",
        "eval",
        "exec",
        "exit",
        "globals",
        "hash",
        "help",
        "id",
        "input",
        "locals",
        "memoryview",
        "open",
        "print",
        "quit",
        "setattr",
        "vars",
    }
)
# Parts of allowed packages that read files, or draw lots.
BANNED_ATTRIBUTES: Final = frozenset(
    {"fromfile", "genfromtxt", "load", "loadtxt", "memmap", "random", "save", "savetxt", "tofile"}
)


def impurities(path: str, text: str) -> Iterator[str]:
    """Say what in a module of a core is not allowed."""
    own = ".".join(path.split("/")[:2]) + "."
    for node in ast.walk(ast.parse(text)):
        for name in _imported(node):
            package, *parts = name.split(".")
            is_allowed = package in ALLOWED_IMPORTS or name.startswith(own)
            if not is_allowed or BANNED_ATTRIBUTES & set(parts):
                yield f"{path}:{_line(node)}: imports {name}"
        if isinstance(node, ast.ImportFrom) and node.level > 0:
            yield f"{path}:{node.lineno}: imports relatively"
        if isinstance(node, ast.Name) and node.id in BANNED_NAMES:
            yield f"{path}:{node.lineno}: uses {node.id}"
        if isinstance(node, ast.Attribute) and node.attr in BANNED_ATTRIBUTES:
            yield f"{path}:{node.lineno}: uses .{node.attr}"


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module is not None:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def test_the_cores_are_pure() -> None:
    found = [fault for path, text in modules(*CORES) for fault in impurities(path, text)]
    assert found == []


def test_there_are_cores() -> None:
    assert {path.split("/")[0] for path, _ in modules(*CORES)} == {"scheduler_svc", "node_agent"}


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("import time", "imports time"),
        ("import os.path", "imports os.path"),
        ("from asyncio import sleep", "imports asyncio.sleep"),
        ("from datetime import datetime", "imports datetime.datetime"),
        ("import numpy.random", "imports numpy.random"),
        ("from numpy import random", "imports numpy.random"),
        ("from scheduler_svc.shell import clock", "imports scheduler_svc.shell.clock"),
        ("from scheduler_svc.core_of_another import x", "imports scheduler_svc.core_of_another.x"),
        ("from kubeio import errors", "imports kubeio.errors"),
        ("from . import labels", "imports relatively"),
        ("def f():\n    import random", "imports random"),
        ("print('x')", "uses print"),
        ("f = open", "uses open"),
        ("{id(x): 1}", "uses id"),
        ("hash('x')", "uses hash"),
        ("__import__('time')", "uses __import__"),
        ("np.random.default_rng()", "uses .random"),
        ("np.load('x')", "uses .load"),
    ],
)
def test_what_is_not_pure_is_found(line: str, fault: str) -> None:
    path = "scheduler_svc/core/x.py"
    number = line.count("\n") + 1
    assert list(impurities(path, line)) == [f"{path}:{number}: {fault}"]


@pytest.mark.parametrize(
    "line",
    [
        "import numpy as np",
        "from collections.abc import Mapping",
        "from scheduler_svc.core.status import Code",
        "from scheduler_svc.core import labels",
        "pod.id = 3",
        "hashlib.sha256(b'').digest()",
    ],
)
def test_what_is_pure_is_allowed(line: str) -> None:
    assert list(impurities("scheduler_svc/core/x.py", line)) == []
