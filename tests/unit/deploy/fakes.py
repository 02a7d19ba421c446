"""Stand-ins for what the control plane's code finds on a machine or a network."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from deploy.programs.errors import SourceError
from deploy.programs.reporting import Reporter
from deploy.programs.sources import Binary
from deploy.programs.versions import Requirement, Version


def write_program(path: Path, says: str, *, code: int = 0) -> Path:
    """Write a shell script that prints ``says``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\nexit {code}\n")
    path.chmod(0o755)
    return path


def recording_reporter() -> tuple[Reporter, io.StringIO]:
    """Give a reporter and the text that it has written."""
    text = io.StringIO()
    return Reporter(Console(file=text, highlight=False, soft_wrap=True)), text


@dataclass
class FakeSource:
    """A source that has the programs in ``has``, and notes what it was asked for."""

    label: str
    has: dict[str, Version] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def obtain(self, requirement: Requirement) -> Binary:
        self.asked.append(requirement.name)
        version = self.has.get(requirement.name)
        if version is None:
            raise SourceError(f"has no {requirement.name}")
        return Binary(requirement.name, Path("/fake") / requirement.name, version, self.label)


@dataclass
class FakeFetcher:
    """A network with the contents in ``contents``, by address."""

    contents: dict[str, bytes] = field(default_factory=dict)
    fetched: list[str] = field(default_factory=list)

    def fetch_text(self, url: str) -> str:
        return self._get(url).decode()

    def fetch_file(self, url: str, destination: Path, *, algorithm: str, digest: str) -> None:
        data = self._get(url)
        if hashlib.new(algorithm, data).hexdigest() != digest:
            raise SourceError(f"{url}: checksum: refused")
        destination.write_bytes(data)

    def _get(self, url: str) -> bytes:
        self.fetched.append(url)
        if url not in self.contents:
            raise SourceError(f"{url}: 404 Not Found")
        return self.contents[url]
