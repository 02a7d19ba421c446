"""kopf's settings: nothing is written by kopf itself, and nothing waits without an end."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from scheduler_svc.controller.operator.framework import kopf

WATCH_SECONDS: Final = 600
"""The server is asked to end a watch after this."""
SILENCE_SECONDS: Final = 105.0
"""A watch without a line for so long is opened anew, as by `kubeio.source.Timing`."""
REQUEST_SECONDS: Final = 30.0
CONNECT_SECONDS: Final = 10.0
PAGE_SIZE: Final = 500
WORKER_LIMIT: Final = 20
"""Objects that are handled at once: each costs 60 KiB while it is."""
WORKER_IDLE_SECONDS: Final = 0.05
EXIT_SECONDS: Final = 0.5
RETRY_SECONDS: Final = (0.5, 1, 2, 4)
PREFIX: Final = "berthmaster.dev"


class NoDiffBase(kopf.DiffBaseStorage):
    """Keeps no last-handled state: handlers of events do not need it."""

    def build(self, *, body: kopf.Body, extra_fields: Iterable[Any] | None = None) -> Any:
        """Give nothing to compare."""
        del body, extra_fields
        return {}

    def fetch(self, *, body: kopf.Body) -> Any:
        """Know of none."""
        del body

    def store(self, *, body: kopf.Body, patch: kopf.Patch, essence: Any) -> None:
        """Keep none."""


class NoProgress(kopf.ProgressStorage):
    """Keeps no progress of handlers: ours do their work in one go."""

    def fetch(self, *, key: Any, body: kopf.Body) -> None:
        """Know of none."""
        del key, body

    def store(
        self, *, key: Any, record: Mapping[str, Any], body: kopf.Body, patch: kopf.Patch
    ) -> None:
        """Keep none."""

    def purge(self, *, key: Any, body: kopf.Body, patch: kopf.Patch) -> None:
        """Remove none."""

    def touch(self, *, body: kopf.Body, patch: kopf.Patch, value: Any) -> None:
        """Leave the object as it is."""

    def clear(self, *, essence: Any) -> Any:
        """Take nothing out."""
        return essence


def operator_settings() -> kopf.OperatorSettings:
    """Give the settings of an operator that only watches."""
    settings = kopf.OperatorSettings()
    settings.process.ultimate_exiting_timeout = None  # else it would SIGKILL the process
    settings.posting.enabled = False
    settings.peering.standalone = True  # replicas elect by Lease
    settings.scanning.disabled = True  # `census` sees what is served, without rights to CRDs
    settings.watching.server_timeout = WATCH_SECONDS
    settings.watching.inactivity_timeout = SILENCE_SECONDS
    settings.watching.connect_timeout = CONNECT_SECONDS
    settings.watching.chunk_size = PAGE_SIZE
    settings.networking.request_timeout = REQUEST_SECONDS
    settings.networking.connect_timeout = CONNECT_SECONDS
    settings.networking.error_backoffs = RETRY_SECONDS
    settings.networking.enforce_retry_after = True
    settings.queueing.worker_limit = WORKER_LIMIT
    settings.queueing.idle_timeout = WORKER_IDLE_SECONDS
    settings.queueing.exit_timeout = EXIT_SECONDS
    settings.execution.max_workers = 1  # handlers are coroutines
    settings.persistence.finalizer = f"{PREFIX}/controller"  # never set: no handler asks for one
    settings.persistence.diffbase_storage = NoDiffBase()
    settings.persistence.progress_storage = NoProgress()
    return settings
