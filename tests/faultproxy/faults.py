"""What can go wrong on the way, as data."""

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True, kw_only=True)
class Match:
    """Which requests a fault is for; what is None or "" matches all.

    Attributes
    ----------
    method
        ``GET``…
    path
        A regular expression searched in the path, without the query.
    query
        The same for the query, as it was sent.
    watch
        True for watches only, False for everything else.
    """

    method: str | None = None
    path: str = ""
    query: str = ""
    watch: bool | None = None

    def matches(self, method: str, target: str) -> bool:
        """Tell whether a request is meant."""
        url = urlsplit(target)
        is_watch = parse_qs(url.query).get("watch") in (["1"], ["true"])
        return (
            (self.method is None or self.method == method)
            and re.search(self.path, url.path) is not None
            and re.search(self.query, url.query) is not None
            and (self.watch is None or self.watch == is_watch)
        )


@dataclass(kw_only=True)
class Fault:
    """A fault for matching requests.

    Attributes
    ----------
    times
        For how many requests; None for all until it is cleared.
    hits
        Requests it has struck.
    """

    match: Match = field(default_factory=Match)
    times: int | None = None
    hits: int = 0

    def strikes(self, method: str, target: str) -> bool:
        """Tell whether this request is struck, and count it."""
        if self.times is not None and self.hits >= self.times:
            return False
        if not self.match.matches(method, target):
            return False
        self.hits += 1
        return True


@dataclass(kw_only=True)
class Respond(Fault):
    """Answer in the server's place, without asking it."""

    status: int = 500
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(kw_only=True)
class Delay(Fault):
    """Wait before the request is passed on."""

    seconds: float = 0.1


@dataclass(kw_only=True)
class LoseAnswer(Fault):
    """Let the server carry the request out, then drop the connection instead of answering."""


@dataclass(kw_only=True)
class LoseRequest(Fault):
    """Take the request and drop the connection; the server is not asked."""


@dataclass(kw_only=True)
class HalfOpen(Fault):
    """Take the request and never answer; the server is not asked."""


@dataclass(kw_only=True)
class _AfterLines(Fault):
    """Happens in the answer's body, after so many lines of it."""

    after_lines: int = 0


@dataclass(kw_only=True)
class Cut(_AfterLines):
    """Drop the connection, `extra_bytes` into the next line."""

    extra_bytes: int = 0


@dataclass(kw_only=True)
class End(_AfterLines):
    """End the answer as if it were complete."""


@dataclass(kw_only=True)
class Silence(_AfterLines):
    """Send nothing more, and keep the connection open."""


@dataclass(kw_only=True)
class Inject(_AfterLines):
    """Send a line of our own, then go on; ``\\n`` is added."""

    line: bytes = b""
