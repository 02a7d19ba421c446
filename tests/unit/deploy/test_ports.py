"""Which ports are taken for free."""

from __future__ import annotations

import socket

from deploy.controlplane import ports


def test_a_free_preferred_port_is_kept_and_a_taken_one_is_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = server.getsockname()[1]
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            free = probe.getsockname()[1]
        chosen = ports.choose({"a": taken, "b": free, "c": None})
    assert chosen["b"] == free
    assert chosen["a"] != taken
    assert len(set(chosen.values())) == 3
    for name in ("a", "c"):
        assert ports.FIRST_PORT <= chosen[name] <= ports.LAST_PORT


def test_two_never_get_the_same_preferred_port() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    chosen = ports.choose({"a": free, "b": free})
    assert chosen["a"] == free
    assert chosen["b"] != free
