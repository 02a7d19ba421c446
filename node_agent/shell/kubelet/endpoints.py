"""What each of the kubelet's endpoints answered when last asked."""

import logging
from dataclasses import dataclass, field

from kubeio.errors import ApiError, KubeError
from kubeio.logs import fields

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class EndpointState:
    """One endpoint; times are monotonic seconds, None before the first answer.

    `is_refused`: the last answer said that the agent may not, or cannot, read it.
    """

    is_up: bool = False
    is_refused: bool = False
    last_read_at: float | None = None
    last_problem: str = ""


@dataclass(slots=True)
class Endpoints:
    """All endpoints that were asked, by name; a change for the better or worse is logged once."""

    states: dict[str, EndpointState] = field(default_factory=dict)

    def succeeded(self, name: str, now_seconds: float) -> None:
        """Note an answer."""
        state = self.states.setdefault(name, EndpointState())
        if state.last_problem:
            _logger.info("The kubelet can be read again", extra=fields(endpoint=name))
        self.states[name] = EndpointState(is_up=True, last_read_at=now_seconds)

    def failed(self, name: str, error: KubeError) -> None:
        """Note that there was none of use."""
        state = self.states.setdefault(name, EndpointState())
        is_refused = isinstance(error, ApiError) and error.status < 500
        is_news = not state.last_problem or state.is_refused != is_refused
        state.is_up, state.is_refused, state.last_problem = False, is_refused, str(error)
        if is_news:
            _logger.warning(
                "The kubelet cannot be read", extra=fields(endpoint=name, error=str(error))
            )
