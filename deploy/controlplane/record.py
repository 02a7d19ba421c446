"""What a control plane was started with, kept in ``control-plane.json`` of its state directory."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deploy.controlplane.layout import StateDirectory
from deploy.programs.errors import DeployError
from deploy.programs.private_files import write_private

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Shape:
    """Which components run, and their arguments beyond the usual ones.

    ``controllers`` is the controller manager's ``--controllers`` list; empty for the default.
    """

    with_kwok: bool = True
    with_controller_manager: bool = True
    controllers: str = ""
    apiserver_args: tuple[str, ...] = ()

    @property
    def components(self) -> tuple[str, ...]:
        """The components in the order in which they start."""
        return (
            "etcd",
            "kube-apiserver",
            *(["kube-controller-manager"] if self.with_controller_manager else []),
            *(["kwok"] if self.with_kwok else []),
        )


@dataclass(frozen=True, slots=True)
class Record:
    """How a control plane was started: its shape, binaries, ports and the administrator's token."""

    shape: Shape
    kubernetes_version: str
    binaries: dict[str, str] = field(default_factory=dict)
    ports: dict[str, int] = field(default_factory=dict)
    token: str = ""
    controller_manager_token: str = ""

    @property
    def url(self) -> str:
        """The API server's address."""
        return f"https://127.0.0.1:{self.ports['kube-apiserver']}"

    def save(self, directory: StateDirectory) -> None:
        """Write the record into the state directory."""
        content = {"format": FORMAT, **dataclasses.asdict(self)}
        write_private(directory.record, json.dumps(content, indent=2) + "\n")


def load(directory: StateDirectory) -> Record | None:
    """Read the record of a state directory; None if there is none.

    Raises
    ------
    DeployError
        If the file is not one that this version has written.
    """
    try:
        text = directory.record.read_text()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        content: dict[str, Any] = json.loads(text)
        if content.pop("format") != FORMAT:
            raise ValueError("another format")
        shape = content.pop("shape")
        shape["apiserver_args"] = tuple(shape["apiserver_args"])
        return Record(shape=Shape(**shape), **content)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DeployError(
            f"{directory.record} cannot be read ({error}): it was written by another version or "
            f"damaged; {down_command(directory.path)} ends what runs and removes it"
        ) from error


def down_command(path: Path) -> str:
    """Name the command that takes down the control plane of a state directory."""
    return f"`python -m deploy.controlplane down --state-dir {path}`"
