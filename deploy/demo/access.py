"""How the demonstration reaches the API server and the scheduler's own endpoints."""

from __future__ import annotations

from pathlib import Path

from kubeio.credentials import Credentials
from kubeio.login import Login

USER_AGENT = "berthmaster-demo"


def fixed_credentials(url: str, *, token: str, ca_path: Path) -> Credentials:
    """Give credentials that never change, for a server whose certificate ``ca_path`` verifies."""
    login = Login(server_url=url, authorization=f"Bearer {token}", ca_file=str(ca_path))

    async def read_again() -> Login:
        return login

    return Credentials(login, read_again)
