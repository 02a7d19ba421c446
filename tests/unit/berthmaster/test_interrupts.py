"""Ctrl-C at whatever moment: exit code 130, and nothing is said of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from berthmaster.cli.root import SUBCOMMANDS

INTERRUPTED = 130
SIGNAL_ONESELF = "os.kill(os.getpid(), signal.SIGINT)"
"""Handlers in Python run before the next line does."""
MODULE = ("-m", "berthmaster")
SCRIPT = ("-c", "import sys; from berthmaster.cli import main; sys.exit(main())")
"""What an installed `berthmaster` is."""
IMPORTED = {
    ("scheduler",): "uvloop",
    ("controller",): "kopf",
    ("agent",): "aiohttp",
    ("explain",): "numpy",
    ("diagnose",): "aiohttp",
    ("timeline", "web"): "rich",
    ("version",): "click",
    ("completion", "bash"): "click",
}
"""Something that is imported for each command when it is called."""


def run(folder: Path, *command: str) -> tuple[int, str, str]:
    """Run Python, which finds modules in the folder first; give exit code and output."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, cwd=folder.parent
    )
    return done.returncode, done.stdout, done.stderr


def put_in_the_way(folder: Path, module: str) -> None:
    text = f"import os, signal\n{SIGNAL_ONESELF}\nraise SystemExit('went on')\n"
    (folder / f"{module}.py").write_text(text)


def test_every_command_is_tried() -> None:
    assert {command for command, *_ in IMPORTED} == set(SUBCOMMANDS)


@pytest.mark.parametrize("entry", [MODULE, SCRIPT])
def test_the_first_import_may_be_interrupted(tmp_path: Path, entry: tuple[str, str]) -> None:
    put_in_the_way(tmp_path, "click")
    assert run(tmp_path, sys.executable, *entry, "--help") == (INTERRUPTED, "", "")


@pytest.mark.parametrize(("command", "module"), IMPORTED.items())
def test_the_imports_of_a_command_may_be_interrupted(
    tmp_path: Path, command: tuple[str, ...], module: str
) -> None:
    put_in_the_way(tmp_path, module)
    assert run(tmp_path, sys.executable, *SCRIPT, *command) == (INTERRUPTED, "", "")


def test_who_starts_it_with_sigint_ignored_is_obeyed(tmp_path: Path) -> None:
    put_in_the_way(tmp_path, "click")
    ignoring = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
    done = run(tmp_path, *ignoring, sys.executable, *MODULE, "version")
    assert done == (1, "", "went on\n")


def test_a_command_that_runs_is_interrupted_by_an_exception_and_may_clean_up(
    tmp_path: Path,
) -> None:
    program = f"""
import os, signal
from berthmaster.cli import main, version


def show() -> None:
    try:
        {SIGNAL_ONESELF}
    finally:
        print("cleaned up")


version.command.callback = show
main()
"""
    done = run(tmp_path, sys.executable, "-c", program, "version")
    assert done == (INTERRUPTED, "cleaned up\n", "")
