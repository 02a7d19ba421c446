"""Says of an API server that does not answer, or knows us not, which one it is and what to do."""

from collections.abc import Iterator
from contextlib import contextmanager

from kubeio.errors import KubeError, TransportError, UnauthorizedError


class ApiServerAwayError(KubeError):
    """The API server cannot be asked at all; says which, why, and what to look at."""


def api_server_away(server_url: str, error: KubeError) -> ApiServerAwayError:
    """Give the error to raise for one that came of the first question."""
    if isinstance(error, UnauthorizedError):
        return ApiServerAwayError(
            f"the API server {server_url} does not know you: {error}. "
            "Is your token or certificate still valid? kubectl auth whoami"
        )
    return ApiServerAwayError(
        f"the API server {server_url} cannot be asked: {error}. "
        "Is it the right one? kubectl config get-contexts, --context"
    )


@contextmanager
def asking_api_server(server_url: str) -> Iterator[None]:
    """Ask the API server in here: raises `ApiServerAwayError` where it gives no answer to us."""
    try:
        yield
    except (TransportError, UnauthorizedError) as error:
        raise api_server_away(server_url, error) from error


@contextmanager
def asking_scheduler_at(url: str) -> Iterator[None]:
    """Ask a scheduler at its URL in here: raises `KubeError` that says so where none answers."""
    try:
        yield
    except TransportError as error:
        raise KubeError(
            f"the scheduler at {url} cannot be asked: {error}; see that it runs and serves there"
        ) from error
