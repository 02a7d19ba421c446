"""The state directory of a cluster: its kubeconfig, its logs, and what it was made with."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from deploy.programs.errors import DeployError
from deploy.programs.private_files import STATE_ROOT, TEMPORARY_PREFIX, write_private

DEFAULT_STATE_DIRECTORY = STATE_ROOT / "kind"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class ClusterRecord:
    """What is known of a cluster beyond what Docker tells.

    Attributes
    ----------
    name
        Its name, as kind has it.
    image
        The image of its nodes.
    has_stock_image
        Whether that image is kind's own.
    is_made
        False while it is being made: what there is then is of no use.
    """

    name: str
    image: str
    has_stock_image: bool
    is_made: bool = False


class KindDirectory:
    """Paths of one cluster's files; only their owner can read them."""

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.realpath(path))
        self.lock = self.path / "lock"
        self.record = self.path / "cluster.json"
        self.kubeconfig = self.path / "kubeconfig"
        self.logs = self.path / "logs"

    def create(self) -> None:
        """Make the directory.

        Raises
        ------
        DeployError
            If it can't be made or is another user's.
        """
        try:
            self.logs.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise DeployError(f"{self.path} cannot be made: {error}") from error
        if self.path.stat().st_uid != os.geteuid():
            raise DeployError(f"{self.path} belongs to another user")
        self.path.chmod(0o700)

    def log(self, name: str) -> Path:
        """Name the log of a step."""
        return self.logs / f"{name}.log"

    def load(self) -> ClusterRecord | None:
        """Read what the cluster was made with; None if there is none.

        Raises
        ------
        DeployError
            If the file is not one that this version has written.
        """
        try:
            content = json.loads(self.record.read_text())
            if content.pop("format") != FORMAT:
                raise ValueError("another format")
            return ClusterRecord(**content)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise DeployError(
                f"{self.record} cannot be read ({error}): it was written by another version or "
                "damaged; `python -m deploy.kind down --name NAME` removes a cluster without it"
            ) from error

    def save(self, record: ClusterRecord) -> None:
        """Write what the cluster was made with."""
        write_private(
            self.record, json.dumps({"format": FORMAT, **asdict(record)}, indent=2) + "\n"
        )

    def remove(self) -> None:
        """Remove all files of the cluster, and the directory unless it holds others."""
        shutil.rmtree(self.logs, ignore_errors=True)
        for file in (
            *self.path.glob(f"{self.kubeconfig.name}*"),
            *self.path.glob(f"{TEMPORARY_PREFIX}*"),
            self.record,
            self.lock,
        ):
            file.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.path.rmdir()
