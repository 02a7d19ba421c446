"""Plain requests to a cluster's API server, as the administrator of its kubeconfig."""

from __future__ import annotations

import base64
import http.client
import json
import select
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import yaml

TIMEOUT_SECONDS = 30.0
_JSON: Final = "application/json"
_MERGE_PATCH: Final = "application/merge-patch+json"

Object = dict[str, Any]


class ApiAwayError(Exception):
    """The API server does not answer, or says that it cannot now."""


class RefusedError(AssertionError):
    """The API server has refused a request; ``status`` is its HTTP status."""

    def __init__(self, request: str, status: int, answer: Object) -> None:
        super().__init__(f"{request}: {status} {answer.get('message', answer)}")
        self.status = status


class Api:
    """A client of one connection that is made anew when it is lost.

    Parameters
    ----------
    kubeconfig
        As kind writes it: with a certificate for the administrator.
    """

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._context = ssl.create_default_context(cadata=authority)
        with tempfile.NamedTemporaryFile() as pair:
            for key in ("client-certificate-data", "client-key-data"):
                pair.write(base64.b64decode(user[key]))
            pair.flush()
            self._context.load_cert_chain(pair.name)
        self._host = urlsplit(cluster["server"]).netloc
        self._connection: http.client.HTTPSConnection | None = None

    def get(self, path: str, **parameters: str) -> Object:
        """GET what has to be there."""
        return self._accepted("GET", _with(path, parameters))

    def find(self, path: str) -> Object | None:
        """GET an object; None if it isn't there."""
        status, answer = self.request("GET", path)
        if status == 404:
            return None
        return _accept(f"GET {path}", status, answer)

    def items(self, path: str, **parameters: str) -> list[Object]:
        """List objects, e.g. with ``labelSelector="app=x"`` or ``fieldSelector=…``."""
        found: list[Object] = self.get(path, **parameters)["items"]
        return found

    def create(self, manifest: Object) -> Object:
        """Create an object; give it as it was stored."""
        return self._accepted("POST", collection_of(manifest), manifest)

    def patch(self, path: str, change: Object) -> Object:
        """Merge a change into an object."""
        return self._accepted("PATCH", path, change, content_type=_MERGE_PATCH)

    def delete(self, path: str, *, grace_seconds: int | None = None) -> None:
        """Delete an object, or all of a collection; one that is gone is no failure."""
        options: Object = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        status, answer = self.request("DELETE", path, options)
        if status != 404:
            _accept(f"DELETE {path}", status, answer)

    def token(self, namespace: str, account: str, *, seconds: int = 3600) -> str:
        """Have a token of a ServiceAccount."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
        wanted = {"spec": {"expirationSeconds": seconds}}
        token: str = self._accepted("POST", path, wanted)["status"]["token"]
        return token

    def request(
        self, method: str, path: str, body: Object | None = None, *, content_type: str = _JSON
    ) -> tuple[int, Object]:
        """Send a request; give its status and the answer.

        Raises
        ------
        ApiAwayError
            If there is no answer, or one of 429 or 500 to 504. A write may have been carried out.
        """
        text = None if body is None else json.dumps(body)
        if self._has_ended():
            self.close()
        try:
            status, answer = self._exchange(method, path, text, content_type)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise ApiAwayError(f"{method} {path}: {error!r}") from error
        if status == 429 or 500 <= status <= 504:
            raise ApiAwayError(f"{method} {path}: {status} {answer[:500]!r}")
        return status, json.loads(answer)

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _has_ended(self) -> bool:
        """Tell whether the server has closed the connection while it was at rest."""
        if self._connection is None or self._connection.sock is None:
            return False
        # Nothing is due: what can be read is the end.
        return bool(select.select([self._connection.sock], [], [], 0)[0])

    def _accepted(
        self, method: str, path: str, body: Object | None = None, *, content_type: str = _JSON
    ) -> Object:
        status, answer = self.request(method, path, body, content_type=content_type)
        return _accept(f"{method} {path}", status, answer)

    def _exchange(
        self, method: str, path: str, text: str | None, content_type: str
    ) -> tuple[int, bytes]:
        if self._connection is None:
            self._connection = http.client.HTTPSConnection(
                self._host, context=self._context, timeout=TIMEOUT_SECONDS
            )
        self._connection.request(method, path, text, {"Content-Type": content_type})
        response = self._connection.getresponse()
        return response.status, response.read()


@contextmanager
def temporary(api: Api, *manifests: Object) -> Iterator[None]:
    """Keep objects that are in no namespace of a test; they are deleted afterwards."""
    try:
        for manifest in manifests:
            api.create(manifest)
        yield
    finally:
        for manifest in reversed(manifests):
            api.delete(path_of(manifest))


def collection_of(manifest: Object) -> str:
    """Give the path of the collection that an object is created in."""
    version, namespace = manifest["apiVersion"], manifest["metadata"].get("namespace")
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    plural = _plural(manifest["kind"].lower())
    return f"{root}/namespaces/{namespace}/{plural}" if namespace else f"{root}/{plural}"


def path_of(manifest: Object) -> str:
    """Give the path of an object."""
    return f"{collection_of(manifest)}/{manifest['metadata']['name']}"


def _plural(kind: str) -> str:
    if kind.endswith("s"):
        return f"{kind}es"
    return f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"


def _with(path: str, parameters: dict[str, str]) -> str:
    return f"{path}?{urlencode(parameters)}" if parameters else path


def _accept(request: str, status: int, answer: Object) -> Object:
    if status not in (200, 201, 202):
        raise RefusedError(request, status, answer)
    return answer
