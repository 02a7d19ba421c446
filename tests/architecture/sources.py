"""The modules of the project, read and parsed."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = (
    "berthmaster",
    "benchmarks",
    "deploy",
    "kubeio",
    "node_agent",
    "scheduler_svc",
    "tests",
)
CORES: Final = ("scheduler_svc/core", "node_agent/core")


def modules(*folders: str) -> Iterator[tuple[str, str]]:
    """Give path and text of each module, paths from the root of the project."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), path.read_text()


def functions(text: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Give all functions and methods of a module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
