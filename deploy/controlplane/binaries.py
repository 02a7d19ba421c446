"""Finding the control plane's programs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.controlplane.errors import BinaryNotFoundError
from deploy.controlplane.reporting import Reporter

KUBERNETES_VERSION = "1.36.3"


@dataclass(frozen=True, slots=True)
class Binary:
    """A program that was found: where, which version, and from which source."""

    name: str
    path: Path
    version: str
    source: str


def obtain_binaries(
    names: Sequence[str], *, kubernetes_version: str | None = None, reporter: Reporter
) -> dict[str, Binary]:
    """Find each named program."""
    found = {}
    for name in names:
        path = Path(os.environ.get("KUBEBUILDER_ASSETS", "/nonexistent")) / name
        if not path.exists():
            raise BinaryNotFoundError(f"no {name} in KUBEBUILDER_ASSETS")
        found[name] = Binary(
            name, path, kubernetes_version or KUBERNETES_VERSION, "KUBEBUILDER_ASSETS"
        )
    return found
