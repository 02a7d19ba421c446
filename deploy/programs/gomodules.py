"""Source of Go modules: fetched from the module proxy, verified by Go's checksum database."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from deploy.programs.errors import DeployError, SourceError
from deploy.programs.gobuild import MINIMUM_GO
from deploy.programs.gotoolchain import find_go
from deploy.programs.reporting import Reporter
from deploy.programs.sources import default_cache_root
from deploy.programs.versions import Version

FETCH_TIMEOUT_SECONDS = 300.0


def fetch_module(module: str, version: Version, reporter: Reporter) -> Path:
    """Fetch a module if it isn't there, and return the directory of its files, not to be changed.

    Raises
    ------
    DeployError
        If there is no Go, or the module can't be had.
    """
    reference = f"{module}@v{version}"
    try:
        go = find_go(MINIMUM_GO, default_cache_root(), reporter)
    except SourceError as error:
        raise DeployError(f"{reference} can't be fetched: {error}") from error
    reporter.progress(f"fetching the source of {reference}")
    try:
        done = subprocess.run(
            [go.command, "mod", "download", "-json", reference],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=FETCH_TIMEOUT_SECONDS,
            check=False,
            cwd="/",
            env={**os.environ, **go.environment, "GOTOOLCHAIN": "local", "GOWORK": "off"},
        )
        answer = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        raise DeployError(f"{reference} can't be fetched: {error}") from error
    if done.returncode != 0:
        raise DeployError(f"{reference} can't be fetched: {answer.get('Error', done.stderr)}")
    return Path(answer["Dir"])
