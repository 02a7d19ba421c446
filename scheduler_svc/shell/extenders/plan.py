"""The configured extenders, in the order in which they are asked.

Source: pkg/scheduler/scheduler.go (`buildExtenders`), v1.36.3.
"""

import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from kubeio.daemon import UsageError
from scheduler_svc.core.extenders import Extender as CoreExtender
from scheduler_svc.core.extenders import Extenders
from scheduler_svc.shell.config.configuration import Configuration
from scheduler_svc.shell.config.schema import Extender
from scheduler_svc.shell.extenders.tls import ExtenderTlsError, make_context


@dataclass(frozen=True, slots=True)
class PlannedExtender:
    """An extender: what the core knows, what was configured, and its TLS."""

    core: CoreExtender
    config: Extender
    ssl_context: ssl.SSLContext

    @property
    def url(self) -> str:
        """Where it is, without a login."""
        return without_login(self.config.url_prefix)

    @property
    def verbs(self) -> tuple[str, ...]:
        """What it does."""
        core = self.core
        does = {
            "filter": core.filters,
            "prioritize": core.prioritizes,
            "preempt": core.preempts,
            "bind": core.binds,
        }
        return tuple(verb for verb, is_done in does.items() if is_done)

    @property
    def needs_nodes(self) -> bool:
        """Whether it is sent Nodes with all their fields."""
        return (self.core.filters or self.core.prioritizes) and not self.config.node_cache_capable


def plan_extenders(configuration: Configuration) -> tuple[PlannedExtender, ...]:
    """Put those that may be ignored last, and read what their TLS needs.

    Raises
    ------
    UsageError
        Where TLS settings cannot be used.
    """
    numbered = sorted(enumerate(configuration.extenders), key=lambda pair: pair[1].ignorable)
    planned = []
    for number, (index, config) in enumerate(numbered):
        try:
            context = make_context(config)
        except ExtenderTlsError as error:
            where = f"{configuration.path}: " if configuration.path else ""
            raise UsageError(f"{where}extenders[{index}].{error}") from error
        planned.append(PlannedExtender(core_extender(number, config), config, context))
    return tuple(planned)


def core_extenders(planned: Sequence[PlannedExtender], configuration: Configuration) -> Extenders:
    """Give what the core has to know of all."""
    everybody = configuration.percentage_of_nodes_to_score
    percentages = {
        profile.scheduler_name: everybody if own is None else own
        for profile in configuration.profiles
        for own in (profile.percentage_of_nodes_to_score,)
    }
    return Extenders([extender.core for extender in planned], percentages)


def without_login(url: str) -> str:
    """Leave out of a URL what is nobody's business."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def core_extender(number: int, config: Extender) -> CoreExtender:
    """Give what the core has to know of one; what has no verb it does not do."""
    return CoreExtender(
        number=number,
        filters=bool(config.filter_verb),
        prioritizes=bool(config.prioritize_verb),
        preempts=bool(config.preempt_verb),
        binds=bool(config.bind_verb),
        is_ignorable=config.ignorable,
        managed_resources=frozenset(resource.name for resource in config.managed_resources),
    )
