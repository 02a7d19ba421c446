"""The handlers: each carries an object's state to whoever judges it, and does nothing else."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from scheduler_svc.controller.custom_resources import CustomResource
from scheduler_svc.controller.operator.framework import kopf

Told = Callable[[CustomResource, bool, Mapping[str, Any]], None]
"""Takes an object: of which resource, whether it is gone, and the object itself."""


def make_registry(
    resources: Collection[CustomResource],
    tell: Told,
    log_in: Callable[[], Awaitable[kopf.AiohttpSession]],
    on_ending: Callable[[], None] = lambda: None,
) -> kopf.OperatorRegistry:
    """Register handlers of exactly these resources, and of the login.

    `on_ending` is called when kopf is about to end, for whatever reason.

    Only ``on.event`` is used: every other kind of handler makes kopf write to the objects,
    annotations or finalizers.
    """
    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry)
    async def login(**_: Any) -> kopf.AiohttpSession:
        return await log_in()

    @kopf.on.cleanup(registry=registry)
    async def ending(**_: Any) -> None:
        on_ending()

    for resource in resources:
        _register(registry, resource, tell)
    return registry


def _register(registry: kopf.OperatorRegistry, resource: CustomResource, tell: Told) -> None:
    path = resource.path

    @kopf.on.event(path.group, path.version, path.plural, registry=registry, id=resource.name)
    async def told(event: kopf.RawEvent, **_: Any) -> None:
        tell(resource, event["type"] == "DELETED", event["object"])
