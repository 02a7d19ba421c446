"""Allocations, as they are written into claims, from what a search has chosen.

Source: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/
allocator_incubating.go (`Allocate`, `createNodeSelector`), v1.36.3. Difference: the uid of
a share follows from claim, device and position, not from chance.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

from scheduler_svc.core.device_objects import (
    Allocation,
    DeviceResult,
    DevicesResult,
    only_node,
)
from scheduler_svc.core.devices.demands import Claim, ClaimDemand, Wanted
from scheduler_svc.core.devices.outcomes import Chosen
from scheduler_svc.core.objects import NodeSelector, NodeSelectorTerm, Requirement


def allocation_of(claim: Claim, chosen: tuple[Chosen, ...], node_name: str) -> Allocation:
    """Give the allocation of a claim for use on a Node."""
    results = tuple(_result(claim, index, choice) for index, choice in enumerate(chosen))
    config = (*_class_config(claim.demand, chosen), *_claim_config(claim.demand, chosen))
    return Allocation(
        devices=DevicesResult(results, config),
        node_selector=_node_selector(chosen, node_name),
    )


def _result(claim: Claim, index: int, choice: Chosen) -> DeviceResult:
    driver, pool, device = choice.device.id
    amounts = choice.amounts
    return DeviceResult(
        request=choice.wanted.full_name,
        driver=driver,
        pool=pool,
        device=device,
        admin_access=True if choice.wanted.is_admin else None,
        tolerations=choice.wanted.tolerations,
        binding_conditions=choice.device.device.binding_conditions,
        binding_failure_conditions=choice.device.device.binding_failure_conditions,
        share_id=None if amounts is None else _share_id(claim, index, choice),
        consumed_capacity={n: text for n, (_, text) in amounts.items()} if amounts else None,
    )


def _share_id(claim: Claim, index: int, choice: Chosen) -> str:
    text = "\0".join((claim.key, claim.uid, str(index), *choice.device.id))
    digits = hashlib.sha256(text.encode()).hexdigest()
    # A uid of version 8: made by a rule of one's own.
    return f"{digits[:8]}-{digits[8:12]}-8{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}"


def _class_config(demand: ClaimDemand, chosen: tuple[Chosen, ...]) -> Iterator[dict[str, Any]]:
    """Give each class's configuration once, with the requests that it is for."""
    requests: dict[str, list[str]] = {}
    classes: dict[str, Wanted] = {}
    for wanted in _selected(demand, chosen):
        classes.setdefault(wanted.class_name, wanted)
        requests.setdefault(wanted.class_name, []).append(wanted.full_name)
    for name, wanted in classes.items():
        config = () if wanted.device_class is None else wanted.device_class.spec.config
        for entry in config:
            yield {"source": "FromClass", "requests": requests[name], **entry}


def _claim_config(demand: ClaimDemand, chosen: tuple[Chosen, ...]) -> Iterator[dict[str, Any]]:
    """Give the claim's own configuration as far as it is for what was chosen."""
    for entry in demand.config:
        named = entry.get("requests") or []
        times = 1
        if named:
            # Upstream repeats an entry for each of its requests.
            times = sum(
                wanted.base in named or wanted.full_name in named
                for wanted in _selected(demand, chosen)
            )
        for _ in range(times):
            yield {**entry, "source": "FromClaim"}


def _selected(demand: ClaimDemand, chosen: tuple[Chosen, ...]) -> Iterator[Wanted]:
    """Give what was tried successfully of each request, in order."""
    taken = {choice.wanted for choice in chosen}
    for alternatives in demand.requests:
        yield next((wanted for wanted in alternatives if wanted in taken), alternatives[0])


def _node_selector(chosen: tuple[Chosen, ...], node_name: str) -> NodeSelector | None:
    """Give where the devices can be used: their Node, or what all their selectors say."""
    fields: list[Requirement] = []
    expressions: list[Requirement] = []
    for choice in chosen:
        spec, device = choice.device.spec, choice.device.device
        place = device if spec.per_device_node_selection else spec
        if place.node_name or device.binds_to_node:
            return only_node(node_name)
        for term in () if place.node_selector is None else place.node_selector.node_selector_terms:
            _add_new(term.match_fields, fields)
            _add_new(term.match_expressions, expressions)
    if not fields and not expressions:
        return None
    return NodeSelector((NodeSelectorTerm(tuple(expressions), tuple(fields)),))


def _add_new(requirements: Iterable[Requirement], known: list[Requirement]) -> None:
    for requirement in requirements:
        if not any(_is_same(requirement, other) for other in known):
            known.append(requirement)


def _is_same(left: Requirement, right: Requirement) -> bool:
    return (left.key, left.operator, set(left.values)) == (
        right.key,
        right.operator,
        set(right.values),
    )
