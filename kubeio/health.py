"""Named checks behind ``/healthz``, ``/livez`` and ``/readyz``.

Texts are those of k8s.io/apiserver ``pkg/server/healthz/healthz.go`` (v0.36.3), with
one difference: who asks for ``?verbose`` is told why a check failed. Upstream
withholds that, since its servers' reasons may tell of others' data; ours are about
ourselves.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remark:
    """All is well, and yet there is something to say, in one line."""

    text: str


Check = Callable[[], str | Remark | None]
"""None or a `Remark` if all is well, else the reason in one line; must not block or raise."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Outcome of a probe: whether all is well, and the text to answer."""

    is_healthy: bool
    text: str


class HealthChecks:
    """The checks of one endpoint, in the order they were added.

    Parameters
    ----------
    endpoint
        ``healthz``, ``livez`` or ``readyz``.
    """

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self._checks: dict[str, Check] = {"ping": lambda: None}

    def add(self, name: str, check: Check) -> None:
        """Add a check; a name can be taken once.

        Raises
        ------
        ValueError
            Where the name is taken.
        """
        if name in self._checks:
            raise ValueError(f"/{self.endpoint} has a check named {name} already")
        self._checks[name] = check

    def run_all(self, *, verbose: bool = False, excluded: Collection[str] = ()) -> Verdict:
        """Run the checks that are not excluded.

        The text is ``ok``, or a line for each check where one failed or `verbose` is set.
        """
        lines, is_healthy = [], True
        for name, check in self._checks.items():
            if name in excluded:
                lines.append(f"[+]{name} excluded: ok")
                continue
            reason = check()
            if reason is None:
                lines.append(f"[+]{name} ok")
            elif isinstance(reason, Remark):
                lines.append(f"[+]{name} ok: {reason.text}")
            else:
                is_healthy = False
                lines.append(f"[-]{name} failed: {reason if verbose else 'reason withheld'}")
        unknown = [f'"{name}"' for name in sorted(set(excluded) - self._checks.keys())]
        if unknown:
            lines.append(
                "warn: some health checks cannot be excluded: no matches for " + ", ".join(unknown)
            )
        if is_healthy and not verbose:
            return Verdict(True, "ok")
        outcome = "passed" if is_healthy else "failed"
        return Verdict(is_healthy, "\n".join([*lines, f"{self.endpoint} check {outcome}", ""]))

    def run_one(self, name: str) -> Verdict | None:
        """Run one check; None if there is none of that name."""
        check = self._checks.get(name)
        if check is None:
            return None
        reason = check()
        if reason is None or isinstance(reason, Remark):
            return Verdict(True, "ok")
        return Verdict(False, f"internal server error: {reason}\n")
