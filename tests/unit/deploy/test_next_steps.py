"""What `up` says to type next."""

from __future__ import annotations

import io
import shutil
import subprocess
from pathlib import Path

import pytest
from rich.console import Console

from deploy.controlplane import commands
from deploy.controlplane.layout import DEFAULT_STATE_DIRECTORY
from deploy.controlplane.plane import ControlPlane
from deploy.programs.reporting import Reporter

PROJECT = Path(__file__).resolve().parents[3]


def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    out = io.StringIO()
    monkeypatch.setattr(ControlPlane, "url", "https://127.0.0.1:1")
    monkeypatch.setattr(ControlPlane, "kubernetes_version", "1.36.3")
    plane = ControlPlane(DEFAULT_STATE_DIRECTORY)
    commands._tell_what_next(plane, Reporter(Console(file=out, width=200)))
    return [line.strip() for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("there", [None, "/usr/bin/kubectl"])
def test_who_has_no_kubectl_is_told_where_to_get_it_before_it_is_used(
    there: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: there)
    lines = told(monkeypatch)
    using = next(n for n, line in enumerate(lines) if line.startswith("kubectl apply"))
    getting = [n for n, line in enumerate(lines) if line.startswith(commands.GET_KUBECTL)]
    assert getting == ([] if there else [using - 1])


def test_the_way_to_get_kubectl_works_as_typed(tmp_path: Path) -> None:
    """With a Python in place of ours that prints what it is asked for."""
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    program = tmp_path / "kubectl"
    program.write_text('#!/bin/sh\necho "kubectl $*"\n')
    asked = "-m deploy.controlplane binaries kubectl"
    python.write_text(f'#!/bin/sh\n[ "$*" = "{asked}" ] && echo {program}\n')
    for path in (program, python):
        path.chmod(0o755)
    script = f"shopt -s expand_aliases\n{commands.GET_KUBECTL}\nkubectl apply -f x\n"
    done = subprocess.run(
        ["/bin/bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "kubectl apply -f x\n"
