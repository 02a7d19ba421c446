"""One extender's part in a decision: filter, prioritize, preempt, bind.

Source: pkg/scheduler/extender.go (`HTTPExtender`), v1.36.3.
"""

from collections.abc import Mapping, Sequence

import msgspec

from scheduler_svc.core.effects import BindPod, NodeVictims
from scheduler_svc.core.events import VictimUids
from scheduler_svc.shell.extenders.client import ExtenderClient
from scheduler_svc.shell.extenders.full_objects import FullObjects
from scheduler_svc.shell.extenders.wire import (
    FilterResult,
    decode_binding_result,
    decode_filter_result,
    decode_scores,
    decode_victims,
    encode_arguments,
    encode_binding,
    encode_victims,
)

_SCALE = 10  # from an extender's scores, 0 to 10, to those of plugins, 0 to 100


async def ask_to_filter(
    client: ExtenderClient, objects: FullObjects, pod: msgspec.Raw, names: Sequence[str]
) -> FilterResult:
    """Ask which Nodes pass; raises `ExtenderError`."""
    config = client.config
    async with client.turns:
        body, names = await _node_arguments(client, objects, pod, names)

        def decode(answer: bytes) -> FilterResult:
            return decode_filter_result(
                answer, names, by_name=config.node_cache_capable, url=client.url
            )

        return await client.ask("filter", config.filter_verb, body, decode)


async def ask_to_prioritize(
    client: ExtenderClient, objects: FullObjects, pod: msgspec.Raw, names: Sequence[str]
) -> dict[str, int]:
    """Ask for the Nodes' scores; gives them weighted and scaled. Raises `ExtenderError`."""
    config = client.config
    async with client.turns:
        body, _ = await _node_arguments(client, objects, pod, names)
        scores = await client.ask("prioritize", config.prioritize_verb, body, decode_scores)
    factor = config.weight * _SCALE
    return {name: score * factor for name, score in scores.items()}


async def ask_about_victims(
    client: ExtenderClient,
    objects: FullObjects,
    pod: msgspec.Raw,
    victims: Mapping[str, NodeVictims],
) -> dict[str, VictimUids]:
    """Ask whom the extender would evict; raises `ExtenderError`."""
    config = client.config
    full = None
    async with client.turns:
        if not config.node_cache_capable:
            pods = {pod.uid: pod for found in victims.values() for pod in found.pods}
            full = await objects.pods(pods.values())
        body = encode_victims(pod, victims, full)
        return await client.ask("preempt", config.preempt_verb, body, decode_victims)


async def ask_to_bind(client: ExtenderClient, effect: BindPod) -> None:
    """Have a Pod bound; raises `ExtenderError`."""
    body = encode_binding(effect)
    async with client.turns:
        await client.ask("bind", client.config.bind_verb, body, decode_binding_result)


async def _node_arguments(
    client: ExtenderClient, objects: FullObjects, pod: msgspec.Raw, names: Sequence[str]
) -> tuple[bytes, Sequence[str]]:
    if client.config.node_cache_capable:
        return encode_arguments(pod, None, names), names
    nodes = await objects.nodes(names)
    return encode_arguments(pod, list(nodes.values()), ()), list(nodes)
