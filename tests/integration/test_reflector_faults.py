"""The reflector against a real API server, through a proxy that breaks things.

Each test ends with the same question: is what the consumer was told equal to what a
fresh list says?
"""

import asyncio
import random
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from deploy.controlplane import ControlPlane
from kubeio.changes import Deleted, Listed, ReflectorEvent, Upserted
from kubeio.client import KubeClient, Lane
from kubeio.credentials import Credentials
from kubeio.decoding import ObjectMetadata, Query
from kubeio.reflector import Reflector
from kubeio.resources import ResourcePath
from kubeio.source import Timing
from tests.faultproxy import (
    Cut,
    End,
    Fault,
    FaultProxy,
    HalfOpen,
    Inject,
    Match,
    Respond,
    Silence,
    wait_until,
    wait_until_async,
)

pytestmark = pytest.mark.integration

CONFIG_MAPS = ResourcePath("", "v1", "configmaps")
NAMESPACES = ResourcePath("", "v1", "namespaces")
WATCH = Match(watch=True)
LIST = Match(method="GET", watch=False)
EXPIRED = (
    b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired",'
    b'"message":"too old resource version: 1 (2)","code":410}'
)
QUICK = Timing(
    watch_seconds=(300.0, 600.0),
    idle_seconds=(0.5, 0.6),
    page_seconds=5.0,
    headers_seconds=0.5,
)


class ConfigMap(msgspec.Struct, frozen=True):
    metadata: ObjectMetadata
    data: dict[str, str] = {}


def refuse_bad(config_map: ConfigMap) -> ConfigMap:
    if "bad" in config_map.data:
        raise ValueError("bad is not allowed here")
    return config_map


@dataclass
class Store:
    """A consumer that rebuilds the view and checks that every change makes sense."""

    objects: dict[str, ConfigMap] = field(default_factory=dict)
    lists: int = 0
    events: list[ReflectorEvent[ConfigMap]] = field(default_factory=list)

    def deliver(self, event: ReflectorEvent[ConfigMap]) -> None:
        self.events.append(event)
        match event:
            case Upserted(object=config_map):
                old = self.objects.get(config_map.metadata.name)
                assert old is None or old.metadata.uid == config_map.metadata.uid
                self.objects[config_map.metadata.name] = config_map
            case Deleted(name=name, uid=uid):
                assert self.objects.pop(name).metadata.uid == uid
            case Listed():
                self.lists += 1

    def versions(self) -> dict[str, str]:
        return {name: kept.metadata.resource_version for name, kept in self.objects.items()}


@dataclass
class Bench:
    """One namespace of the real server, a reflector behind a proxy, and a direct client."""

    proxy: FaultProxy
    direct: KubeClient
    reflector: Reflector[ConfigMap]
    store: Store
    resource: ResourcePath

    async def write(self, name: str, data: dict[str, str] | None = None) -> None:
        body = msgspec.json.encode(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": name},
                "data": data or {"at": secrets.token_hex(4)},
            }
        )
        await self.direct.call(
            "PATCH",
            self.resource.object(name),
            body=body,
            params={"fieldManager": "test", "force": "true"},
            content_type="application/apply-patch+yaml",
            lane=Lane.WRITES,
        )

    async def delete(self, name: str) -> None:
        await self.direct.call("DELETE", self.resource.object(name), lane=Lane.WRITES)

    async def fresh(self) -> dict[str, str]:
        page = await self.direct.get_json(self.resource.collection, dict[str, Any])
        return {
            item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in page["items"]
        }

    async def has_root_ca(self) -> bool:
        return "kube-root-ca.crt" in await self.fresh()

    async def settled(self) -> None:
        """Wait until the view equals a fresh list; fail if it never does."""
        fresh = await self.fresh()
        await wait_until(
            lambda: self.store.versions() == fresh,
            what=f"view equals list: {self.store.versions()} != {fresh}",
        )
        assert await self.fresh() == fresh
        assert self.reflector.statistics.object_count == len(fresh)

    async def struck(self, fault: Fault, hits: int = 1) -> None:
        await wait_until(lambda: fault.hits >= hits, what=f"{fault} struck")

    async def watching(self) -> None:
        """Wait until everything so far has come over a watch that is open now."""
        name = f"marker-{secrets.token_hex(4)}"
        await self.write(name)
        await wait_until(lambda: name in self.store.objects, what="marker seen")


@asynccontextmanager
async def bench(
    control_plane: ControlPlane, directory: Path, *, page_size: int = 500, count: int = 4
) -> AsyncIterator[Bench]:
    namespace = f"reflector-{secrets.token_hex(4)}"
    async with (
        FaultProxy(
            control_plane.url,
            ca_path=control_plane.ca_path,
            token=control_plane.token,
            directory=directory,
        ) as proxy,
        KubeClient(
            await Credentials.load(str(control_plane.kubeconfig_path)), user_agent="test"
        ) as direct,
        KubeClient(await Credentials.load(str(proxy.kubeconfig_path)), user_agent="test") as broken,
    ):
        await direct.send_json(
            "POST", NAMESPACES.collection, {"metadata": {"name": namespace}}, dict[str, Any]
        )
        resource = CONFIG_MAPS.in_namespace(namespace)
        store = Store()
        query = Query(
            resource=resource, object_type=ConfigMap, convert=refuse_bad, page_size=page_size
        )
        reflector = Reflector(broken, query, store.deliver, timing=QUICK, seed=1)
        made = Bench(proxy, direct, reflector, store, resource)
        # The controller manager puts its ConfigMap into each new Namespace, at a time of its own.
        await wait_until_async(made.has_root_ca, what="kube-root-ca.crt in the Namespace")
        for i in range(count):
            await made.write(f"initial-{i}")
        yield made


@asynccontextmanager
async def running(made: Bench) -> AsyncIterator[Bench]:
    task = asyncio.create_task(made.reflector.run())
    try:
        yield made
    finally:
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()


async def test_view_follows_changes(control_plane: ControlPlane, tmp_path: Path) -> None:
    async with bench(control_plane, tmp_path) as made, running(made):
        await made.settled()
        await made.watching()
        await made.write("initial-0")
        await made.delete("initial-1")
        await made.write("new")
        await made.settled()
    assert made.reflector.statistics.lists == {"start": 1}
    assert made.proxy.count(lambda request: "watch=1" not in request.target) == 1


async def test_pages_are_of_one_state(control_plane: ControlPlane, tmp_path: Path) -> None:
    async with bench(control_plane, tmp_path, page_size=3, count=10) as made, running(made):
        await made.settled()
        await made.watching()
    lists = [r for r in made.proxy.requests if "watch=1" not in r.target]
    assert len(lists) == 4  # ten and the namespace's kube-root-ca.crt, or not yet that one
    assert all("resourceVersion=" not in request.target for request in lists)


@pytest.mark.parametrize(
    "fault",
    [
        Respond(match=WATCH, times=1, status=410, body=EXPIRED),
        Inject(match=WATCH, times=1, line=b'{"type":"ERROR","object":' + EXPIRED + b"}"),
    ],
    ids=["status", "event"],
)
async def test_deletes_in_an_expired_gap_are_told(
    control_plane: ControlPlane, tmp_path: Path, fault: Fault
) -> None:
    async with bench(control_plane, tmp_path) as made, running(made):
        await made.settled()
        await made.watching()
        old_uid = made.store.objects["initial-1"].metadata.uid
        await made.proxy.refuse_connections()
        await made.delete("initial-0")
        await made.delete("initial-1")
        await made.write("initial-1")
        await made.write("initial-2")
        made.proxy.add(fault)
        told_before = len(made.store.events)
        await made.proxy.accept_connections()
        await made.struck(fault)
        await made.settled()
        await made.watching()
    statistics = made.reflector.statistics
    assert statistics.lists == {"start": 1, "expired": 1}
    assert statistics.endings["expired"] == 1
    told = made.store.events[told_before:]
    assert Deleted(made.resource.namespace or "", "initial-1", old_uid) in told
    # What did not change is not told again.
    names = [event.object.metadata.name for event in told if isinstance(event, Upserted)]
    assert "initial-3" not in names
    assert names.count("initial-2") == 1


async def test_continue_token_that_expires_restarts_the_list(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    async with bench(control_plane, tmp_path, page_size=3, count=10) as made:
        fault = made.proxy.add(
            Respond(match=Match(query="continue="), times=1, status=410, body=EXPIRED)
        )
        async with running(made):
            await made.settled()
        assert fault.hits == 1
        assert made.store.lists == 1


async def test_list_that_always_expires_is_asked_for_in_one_piece(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    async with bench(control_plane, tmp_path, page_size=3, count=10) as made:
        made.proxy.add(Respond(match=Match(query="continue="), status=410, body=EXPIRED))
        async with running(made):
            await made.settled()
        assert "limit" not in made.proxy.requests[4].target


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Cut(match=WATCH, times=3, after_lines=1, extra_bytes=20), "lost"),
        (Cut(match=WATCH, times=3, after_lines=1), "lost"),
        (Silence(match=WATCH, times=3, after_lines=1), "silent"),
        (HalfOpen(match=WATCH, times=2), "silent"),
        (End(match=WATCH, times=3, after_lines=1), "ended"),
        (Inject(match=WATCH, times=3, after_lines=1, line=b"<html>502</html>"), "malformed"),
        (Inject(match=WATCH, times=3, after_lines=1, line=b'"text"'), "malformed"),
        (Respond(match=WATCH, times=3, status=500, body=b"oh"), "server_error"),
        (
            Respond(
                match=WATCH,
                times=3,
                status=502,
                body=b"<html>bad gateway</html>",
                headers={"Content-Type": "text/html"},
            ),
            "server_error",
        ),
        (Respond(match=WATCH, times=3, status=200, body=b""), "ended"),
        (Respond(match=WATCH, times=3, status=200, body=b"not json\n"), "malformed"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
async def test_watch_goes_on_where_it_was(
    control_plane: ControlPlane, tmp_path: Path, fault: Fault, reason: str
) -> None:
    async with bench(control_plane, tmp_path) as made:
        made.proxy.add(fault)
        async with running(made):
            await wait_until(lambda: made.store.lists == 1, what="listed")
            for i in range(6):
                await made.write(f"during-{i}")
                await made.delete(f"during-{i}")
                await made.write("initial-0")
            await made.struck(fault, hits=fault.times or 1)
            await made.watching()
            await made.settled()
    assert made.reflector.statistics.lists == {"start": 1}
    assert made.reflector.statistics.endings[reason] >= 1


@pytest.mark.parametrize("match", [LIST, WATCH], ids=["list", "watch"])
async def test_retry_after_is_honoured(
    control_plane: ControlPlane, tmp_path: Path, match: Match
) -> None:
    async with bench(control_plane, tmp_path) as made:
        fault = made.proxy.add(
            Respond(match=match, times=1, status=429, headers={"Retry-After": "1"})
        )
        async with running(made):
            await made.struck(fault)
            refused = len(made.proxy.requests) - 1
            await wait_until(lambda: len(made.proxy.requests) > refused + 1, what="next try")
            await made.watching()
            await made.settled()
        first, second = made.proxy.requests[refused : refused + 2]
        assert second.at - first.at >= 1.0
        assert made.reflector.statistics.endings["throttled"] == 1


async def test_server_that_is_away_is_waited_for(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    async with bench(control_plane, tmp_path) as made, running(made):
        await made.settled()
        await made.proxy.refuse_connections()
        await made.delete("initial-0")
        await made.write("meanwhile")
        endings = made.reflector.statistics.endings
        await wait_until(lambda: endings.get("connect", 0) >= 3, what="three tries")
        assert "initial-0" in made.store.objects
        await made.proxy.accept_connections()
        await made.settled()
    assert made.reflector.statistics.lists == {"start": 1}


async def test_frozen_connection_is_noticed(control_plane: ControlPlane, tmp_path: Path) -> None:
    async with bench(control_plane, tmp_path) as made, running(made):
        await made.settled()
        await made.watching()
        made.proxy.freeze()
        await made.delete("initial-0")
        endings = made.reflector.statistics.endings
        await wait_until(lambda: endings.get("silent", 0) >= 2, what="silence noticed")
        assert made.reflector.problem(max_failing_seconds=0.5) is not None
        made.proxy.thaw()
        await made.settled()
        await made.watching()
        assert made.reflector.problem() is None


async def test_undecodable_object_is_skipped_and_not_lost(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    async with bench(control_plane, tmp_path) as made:
        await made.write("born-bad", {"bad": "1"})
        async with running(made):
            await made.watching()
            kept = made.store.objects["initial-0"]
            await made.write("initial-0", {"bad": "1"})
            await made.watching()
            assert "born-bad" not in made.store.objects
            assert made.store.objects["initial-0"] is kept
            assert made.reflector.statistics.undecodable_count == 2
            # A list in between must not take either of them for deleted.
            fault = made.proxy.add(Respond(match=WATCH, times=1, status=410, body=EXPIRED))
            await made.proxy.drop_connections()
            await made.struck(fault)
            await made.watching()
            assert made.store.objects["initial-0"] is kept
            await made.write("initial-0", {"good": "1"})
            await made.write("born-bad", {"good": "1"})
            await made.settled()
            assert made.reflector.statistics.undecodable_count == 0


@pytest.mark.parametrize("seed", range(3))
async def test_no_object_is_lost_in_a_storm(
    control_plane: ControlPlane, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    faults: list[Callable[[], Fault]] = [
        lambda: Cut(match=WATCH, times=1, after_lines=chance.randrange(4), extra_bytes=9),
        lambda: End(match=WATCH, times=1, after_lines=chance.randrange(4)),
        lambda: Silence(match=WATCH, times=1, after_lines=chance.randrange(4)),
        lambda: Inject(match=WATCH, times=1, after_lines=chance.randrange(4), line=b"{"),
        lambda: Respond(match=WATCH, times=1, status=410, body=EXPIRED),
        lambda: Respond(match=LIST, times=1, status=503),
        lambda: Respond(match=Match(query="continue="), times=1, status=410, body=EXPIRED),
    ]
    async with bench(control_plane, tmp_path, page_size=5, count=12) as made, running(made):
        names = [f"initial-{i}" for i in range(12)]
        for _ in range(80):
            name = chance.choice(names)
            if name in await made.fresh() and chance.random() < 0.4:
                await made.delete(name)
            else:
                await made.write(name)
            if chance.random() < 0.3:
                made.proxy.add(chance.choice(faults)())
            if chance.random() < 0.1:
                await made.proxy.drop_connections()
        made.proxy.clear()
        await made.settled()
        await made.watching()
