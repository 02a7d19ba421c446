"""What the command line says about the agent, checked."""

import platform
import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec
from yarl import URL

from kubeio.daemon import UsageError, user_agent
from kubeio.durations import format_duration
from kubeio.logs import LogFormat
from kubeio.serving_options import ServingOptions
from node_agent.shell.defaults import DEFAULT_PORT
from node_agent.shell.observation_options import ObservationOptions
from node_agent.shell.pod_source import shown_url

DEFAULT_PERIOD_SECONDS: Final = 20.0
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
_NODE_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", re.ASCII)
MASKED: Final = "--- masked ---"


class AgentOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the agent runs.

    Attributes
    ----------
    version
        Of the program, for logs and the User-Agent.
    node_name
        Of the Node whose kubelet is shadowed.
    kubeconfig, context
        None: found as kubectl does, else the Pod's ServiceAccount.
    static_pod_path, static_pod_url
        The kubelet's ``staticPodPath`` and ``staticPodURL``; "" where it has none.
    static_pod_url_headers
        Values by name; secret.
    file_check_seconds, http_check_seconds
        From one look at the path or URL to the next.
    authorize
        Whether readers of what is served are asked who they are.
    observation
        What is read beside the sources.
    """

    version: str
    node_name: str
    kubeconfig: str | None = None
    context: str | None = None
    static_pod_path: str = ""
    static_pod_url: str = ""
    static_pod_url_headers: dict[str, tuple[str, ...]] = {}
    file_check_seconds: float = DEFAULT_PERIOD_SECONDS
    http_check_seconds: float = DEFAULT_PERIOD_SECONDS
    serving: ServingOptions = ServingOptions(port=DEFAULT_PORT)
    authorize: bool = True
    observation: ObservationOptions = ObservationOptions()
    verbosity: int = 0
    log_format: LogFormat = LogFormat.TEXT

    @property
    def user_agent(self) -> str:
        """How the API server's audit log names us."""
        return user_agent(self.version, "agent")

    def check(self) -> None:
        """Raise `UsageError` for what cannot be."""
        if not _NODE_NAME.fullmatch(self.node_name):
            given = (
                f"{self.node_name!r} is no Node's name" if self.node_name else "a name is needed"
            )
            raise UsageError(
                f"--node-name: {given}; in a Pod, set NODE_NAME from the field spec.nodeName"
            )
        if self.static_pod_url:
            _check_url(self.static_pod_url)
        elif self.static_pod_url_headers:
            raise UsageError("--static-pod-url-header needs --static-pod-url")
        self.observation.check()

    def configz(self) -> dict[str, Any]:
        """Give what ``/configz`` shows: the options in effect, secrets masked."""
        url = self.static_pod_url
        return {
            "agent": {
                "version": self.version,
                "python": platform.python_version(),
                "nodeName": self.node_name,
                "staticPodPath": self.static_pod_path,
                "staticPodURL": shown_url(url) if url else "",
                "staticPodURLHeader": {name: [MASKED] for name in self.static_pod_url_headers},
                "fileCheckFrequency": format_duration(self.file_check_seconds),
                "httpCheckFrequency": format_duration(self.http_check_seconds),
                **self.observation.configz(),
            }
        }


def read_headers(texts: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Read headers, `NAME: VALUE` each; one may be given several times.

    Raises
    ------
    UsageError
        Where a text is no header; its value is not repeated, for it is secret.
    """
    headers: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, colon, value = text.partition(":")
        value = value.strip()
        if not colon or not _HEADER_NAME.fullmatch(name) or not value.isprintable():
            raise UsageError("--static-pod-url-header: a header is written as 'NAME: VALUE'")
        headers[name] = (*headers.get(name, ()), value)
    return headers


def _check_url(text: str) -> None:
    try:
        url = URL(text)
        is_usable = url.scheme in ("http", "https") and bool(url.host) and url.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise UsageError("--static-pod-url: a URL that begins with http:// or https:// is needed")
