"""Lets anything happen to a cluster, by a seed; run as a program it prints what was decided."""

import sys
from random import Random

import msgspec

from scheduler_svc.core.events import BindFailure
from tests.property.laws import check, check_settled, settle
from tests.property.pools import NODE_KINDS, PENDING_KINDS, POD_KINDS
from tests.property.world import NODE_NAMES, World

WISHES = ("", "", "", "permission", "work", "rejection")
REFUSALS = (None, None, None, BindFailure.REFUSED, BindFailure.NOT_LEADER, BindFailure.NODE_GONE)
CHANGES = {
    "create": 6,
    "create placed": 2,
    "change": 1,
    "terminate": 1,
    "remove": 1,
    "finish": 1,
    "steal": 1,
    "set node": 2,
    "delete node": 1,
    "watch pods": 8,
    "watch nodes": 4,
    "step": 10,
    "time": 3,
    "serve": 5,
    "outcome": 5,
    "permit": 2,
    "work": 2,
}


def drive(seed: int, count: int) -> World:
    """Let `count` things happen, check the laws after each, and then come to rest."""
    random, world = Random(seed), World(seed)
    for name in NODE_NAMES:
        world.set_node(name, random.choice(sorted(NODE_KINDS)))
    for change in random.choices(list(CHANGES), list(CHANGES.values()), k=count):
        _happen(world, change, random)
        check(world)
    settle(world)
    check_settled(world)
    return world


def _happen(world: World, change: str, random: Random) -> None:
    choice, node = random.randrange(100), random.choice(NODE_NAMES)
    match change:
        case "create":
            world.create_pod(
                random.choice(sorted(PENDING_KINDS)),
                wish=random.choice(WISHES),
                priority=random.randrange(3),
                is_gated=random.random() < 0.2,
            )
        case "create placed":
            world.create_pod(random.choice(sorted(POD_KINDS)), node=node)
        case "set node":
            world.set_node(node, random.choice(sorted(NODE_KINDS)))
        case "delete node":
            world.delete_node(node)
        case "steal":
            world.steal_pod(choice, node)
        case "change":
            world.change_pod(choice)
        case "terminate":
            world.terminate_pod(choice)
        case "remove":
            world.remove_pod(choice)
        case "finish":
            world.finish_pod(choice)
        case _:
            _go_on(world, change, random)


def _go_on(world: World, change: str, random: Random) -> None:
    choice = random.randrange(100)
    match change:
        case "watch pods":
            world.watch_pods()
        case "watch nodes":
            world.watch_nodes()
        case "step":
            world.step()
        case "time":
            world.pass_time(random.choice([0.3, 1.5, 12, 31, 400]))
        case "serve":
            world.serve_binding(choice, random.choice(REFUSALS))
        case "outcome":
            world.tell_outcome(choice)
        case "permit":
            world.decide_permit(choice, random.choice(["", "", "no"]))
        case "work":
            world.finish_work(choice, random.choice(["", "", "broken"]))


def main(seeds: list[str]) -> None:
    """Print the effects of one run for each seed."""
    for seed in seeds:
        for each in drive(int(seed), 150).inputs:
            sys.stdout.write(f"{msgspec.to_builtins(each.effects)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
