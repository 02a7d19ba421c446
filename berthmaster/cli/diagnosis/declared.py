"""What a scheduler was told to do, from its arguments and its configuration file.

The rules are those of `scheduler_svc.shell.startup`: flags overrule the file, a profile without
a name or called ``default-scheduler`` is served as ``--scheduler-name``, and a scheduler of
another name has a Lease of its own unless it is told one.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import yaml

from scheduler_svc.shell.config.schema import DEFAULT_SCHEDULER_NAME
from scheduler_svc.shell.startup import lease_name

OWN_NAME: Final = "berthmaster"
LEASE_NAMESPACE: Final = "kube-system"
_FALSE: Final = ("false", "f", "0")


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """The schedulerNames that are served, and the Lease competed for, "" for none."""

    names: tuple[str, ...]
    lease_key: str


def declared(arguments: Sequence[str], configuration: str = "") -> Declared:
    """Read what a replica was told.

    Parameters
    ----------
    arguments
        As its container has them, whatever stands before the first flag.
    configuration
        The text of its file; what cannot be read of it counts as not there.
    """
    document = _document(configuration)
    election = document.get("leaderElection")
    election = election if isinstance(election, dict) else {}
    own_name = flag_value(arguments, "--scheduler-name") or OWN_NAME
    namespace = (
        flag_value(arguments, "--leader-elect-resource-namespace")
        or _text(election.get("resourceNamespace"))
        or LEASE_NAMESPACE
    )
    name = (
        flag_value(arguments, "--leader-elect-resource-name")
        or _text(election.get("resourceName"))
        or lease_name(own_name)
    )
    elects = _elects(arguments, election)
    return Declared(
        names=_served(_profile_names(document), own_name),
        lease_key=f"{namespace}/{name}" if elects else "",
    )


def flag_value(arguments: Sequence[str], flag: str) -> str:
    """Give the last value of a flag, written ``--flag value`` or ``--flag=value``; "" for none."""
    found = ""
    for number, argument in enumerate(arguments):
        if argument.startswith(f"{flag}="):
            found = argument.partition("=")[2]
        elif argument == flag and number + 1 < len(arguments):
            found = arguments[number + 1]
    return found


def _elects(arguments: Sequence[str], election: dict[str, Any]) -> bool:
    elects = election.get("leaderElect", True) is not False
    for argument in arguments:
        if argument == "--leader-elect":
            elects = True
        elif argument == "--no-leader-elect":
            elects = False
        elif argument.startswith("--leader-elect="):
            elects = argument.partition("=")[2].lower() not in _FALSE
    return elects and "--dry-run" not in arguments


def _document(text: str) -> dict[str, Any]:
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _profile_names(document: dict[str, Any]) -> list[str]:
    profiles = document.get("profiles")
    if not isinstance(profiles, list):
        return []
    found = [profile for profile in profiles if isinstance(profile, dict)]
    return [_text(profile.get("schedulerName")) or DEFAULT_SCHEDULER_NAME for profile in found]


def _served(profile_names: Sequence[str], own_name: str) -> tuple[str, ...]:
    """Give the names that are served of the profiles'."""
    if not profile_names:
        return (own_name,)
    names = list(profile_names)
    if DEFAULT_SCHEDULER_NAME in names and own_name != DEFAULT_SCHEDULER_NAME:
        names.remove(DEFAULT_SCHEDULER_NAME)
        names.append(own_name)
    return tuple(sorted(set(names)))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
