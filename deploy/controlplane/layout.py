"""The state directory: which files a control plane has, and how they are written and removed.

Everything lies in one directory that only its owner can enter (mode 0700); every file in it has
mode 0600. ``control-plane.json`` says how it was started, so that a later command can go on.
Which processes run is not written down: the kernel knows (see ``processes``).
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from deploy.programs.errors import DeployError
from deploy.programs.private_files import STATE_ROOT, TEMPORARY_PREFIX

DEFAULT_STATE_DIRECTORY = STATE_ROOT / "controlplane"
LOCK = "lock"
RECORD = "control-plane.json"
ETCD_SOCKET = "etcd.sock"


class StateDirectory:
    """Paths of one control plane's files.

    Parameters
    ----------
    path
        The directory; made when something is first written.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.realpath(path))
        self.lock = self.path / LOCK
        self.record = self.path / RECORD
        self.kubeconfig = self.path / "kubeconfig"
        self.tokens = self.path / "tokens.csv"
        self.certificates = self.path / "pki"
        self.authority = self.certificates / "ca.crt"
        self.authority_key = self.certificates / "ca.key"
        self.front_proxy_authority = self.certificates / "front-proxy-ca.crt"
        self.serving = self.certificates / "serving.crt"
        self.serving_key = self.certificates / "serving.key"
        self.service_account_key = self.certificates / "service-account.key"
        self.service_account_public_key = self.certificates / "service-account.pub"
        self.component_kubeconfigs = self.path / "kubeconfigs"
        self.logs = self.path / "logs"
        self.etcd_data = self.path / "etcd"

    def create(self) -> None:
        """Make the directory, and refuse one that holds anything that is not ours.

        Raises
        ------
        DeployError
            If it can't be made, is another user's, or has files but no control plane's.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise DeployError(f"{self.path} cannot be made: {error}") from error
        if self.path.stat().st_uid != os.geteuid():
            raise DeployError(f"{self.path} belongs to another user")
        names = {entry.name for entry in self.path.iterdir()}
        if names and not names & {LOCK, RECORD}:
            raise DeployError(
                f"{self.path} is not empty and holds no control plane: choose another directory "
                "(--state-dir); nothing was changed"
            )
        self.path.chmod(0o700)
        for directory in (self.certificates, self.component_kubeconfigs, self.logs):
            directory.mkdir(mode=0o700, exist_ok=True)

    def log(self, component: str) -> Path:
        """Name the log file of a component."""
        return self.logs / f"{component}.log"

    def has_logs(self) -> bool:
        """Tell whether a component has been started here."""
        return any(self.logs.glob("*.log"))

    def remove(self) -> None:
        """Remove all files of the control plane, and the directory unless it holds others."""
        for directory in (
            self.certificates,
            self.component_kubeconfigs,
            self.logs,
            self.etcd_data,
        ):
            shutil.rmtree(directory, ignore_errors=True)
        for file in (
            *self.path.glob(f"{ETCD_SOCKET}*"),
            *self.path.glob(f"{TEMPORARY_PREFIX}*"),
            self.kubeconfig,
            self.tokens,
            self.record,
            self.lock,
        ):
            file.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.path.rmdir()
