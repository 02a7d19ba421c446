"""What the API server has noted of an account's calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.integration.rights.roles import Account, Right


def calls_of(path: Path, account: Account) -> list[dict[str, Any]]:
    """Give what an account has asked of the API server."""
    calls: list[dict[str, Any]] = [json.loads(line) for line in path.read_text().splitlines()]
    return [call for call in calls if call["user"]["username"] == account.user]


def right_of(call: dict[str, Any]) -> Right:
    """Give the right that a call needs, without an object's name."""
    about = call.get("objectRef", {})
    subresource = about.get("subresource", "")
    resource = about.get("resource", "") + (f"/{subresource}" if subresource else "")
    return Right(call["verb"], about.get("apiGroup", ""), resource)
