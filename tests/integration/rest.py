"""Plain requests to a control plane's API server, and waiting for what they shall show."""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Callable
from typing import Any

from deploy.controlplane import ControlPlane

TIMEOUT_SECONDS = 30.0
POLL_SECONDS = 0.05


def request(
    plane: ControlPlane,
    method: str,
    path: str,
    body: dict[str, Any] | None = None,
    *,
    token: str | None = None,
) -> tuple[int, dict[str, Any]]:
    """Send a request, as the administrator unless ``token`` is given ("" for nobody).

    Again while the server has no time for it, as right after a kind was defined.
    """
    deadline_seconds = time.monotonic() + TIMEOUT_SECONDS
    while True:
        status, document = _request_once(plane, method, path, body, token)
        if status != http.HTTPStatus.TOO_MANY_REQUESTS or time.monotonic() > deadline_seconds:
            return status, document
        time.sleep(POLL_SECONDS)


def _request_once(
    plane: ControlPlane, method: str, path: str, body: dict[str, Any] | None, token: str | None
) -> tuple[int, dict[str, Any]]:
    context = ssl.create_default_context(cafile=plane.ca_path)
    host = plane.url.removeprefix("https://")
    connection = http.client.HTTPSConnection(host, context=context, timeout=TIMEOUT_SECONDS)
    headers = {"Content-Type": "application/json"}
    if token != "":
        headers["Authorization"] = f"Bearer {token or plane.token}"
    try:
        connection.request(method, path, json.dumps(body) if body else None, headers)
        response = connection.getresponse()
        return response.status, _document(response)
    finally:
        connection.close()


def _document(response: http.client.HTTPResponse) -> dict[str, Any]:
    """Read the answer; the path of a kind that is not served yet has one in plain text."""
    text = response.read().decode()
    if response.status == 404 and response.headers.get_content_type() == "text/plain":
        return {"message": text}
    document: dict[str, Any] = json.loads(text)
    return document


def create(plane: ControlPlane, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """POST an object that has to be accepted; return it as it was stored."""
    status, stored = request(plane, "POST", path, body)
    assert status == 201, stored
    return stored


def read(plane: ControlPlane, path: str) -> dict[str, Any]:
    """GET an object that has to be there."""
    status, stored = request(plane, "GET", path)
    assert status == 200, stored
    return stored


def wait_for(
    what: str, condition: Callable[[], object], *, timeout_seconds: float = TIMEOUT_SECONDS
) -> None:
    """Wait until ``condition`` is true; fail after half a minute, or ``timeout_seconds``."""
    deadline_seconds = time.monotonic() + timeout_seconds
    while not condition():
        assert time.monotonic() < deadline_seconds, f"not in time: {what}"
        time.sleep(POLL_SECONDS)
