"""Everything that can happen, as the shell tells it to the core; past tense."""

import msgspec

from node_agent.core.clock import Now
from node_agent.core.objects import Pod
from node_agent.core.operations import Source


class PodsListed(msgspec.Struct, frozen=True, gc=False):
    """A source has told all its Pods; `received` is when the news of it reached the node."""

    source: Source
    pods: tuple[Pod, ...]
    received: Now


Event = PodsListed
