"""Berthmaster, started as its users start it."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from deploy.controlplane import ControlPlane

PATIENT_ELECTION: Final = (
    *("--leader-elect-lease-duration", "120s"),
    *("--leader-elect-renew-deadline", "100s"),
)


class Berthmaster:
    """Runs ``berthmaster scheduler`` with its defaults.

    With `outlives_api_server` it keeps its Lease while the API server restarts.
    """

    name = "berthmaster"
    scheduler_name = "berthmaster"

    def __init__(self, *, outlives_api_server: bool = False) -> None:
        self._election_flags = PATIENT_ELECTION if outlives_api_server else ()

    def command(self, plane: ControlPlane) -> Sequence[str | Path]:
        """Give its command line."""
        return (
            *(sys.executable, "-m", "berthmaster", "scheduler"),
            *("--kubeconfig", plane.kubeconfig_path),
            *("--bind-address", "127.0.0.1"),
            *("--secure-port", "0"),  # any free one
            *self._election_flags,
        )
