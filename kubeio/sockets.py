"""Socket options that let a dead peer be noticed.

A peer that vanishes without a FIN (power loss, a firewall that forgot the
connection) leaves a half-open connection, on which a read waits for ever. The
kernel finds out by keep-alive probes while we are silent, and by TCP_USER_TIMEOUT
while we have unacknowledged data. client-go does the same with HTTP/2 pings (30 s
idle, 15 s to answer).
"""

import socket
from typing import Final

from aiohttp import AddrInfoType

KEEPALIVE_IDLE_SECONDS: Final = 30
KEEPALIVE_INTERVAL_SECONDS: Final = 5
KEEPALIVE_PROBE_COUNT: Final = 3
UNACKNOWLEDGED_MILLISECONDS: Final = 30_000


def set_keepalive(sock: socket.socket) -> None:
    """Make the kernel give up on a peer that has been silent for about 45 s."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_IDLE_SECONDS)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEPALIVE_INTERVAL_SECONDS)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, KEEPALIVE_PROBE_COUNT)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNACKNOWLEDGED_MILLISECONDS)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def keepalive_socket(address: AddrInfoType) -> socket.socket:
    """Make the TCP socket for one address: aiohttp's ``socket_factory``."""
    family, kind, protocol, _, _ = address
    sock = socket.socket(family, kind, protocol)
    set_keepalive(sock)
    return sock
