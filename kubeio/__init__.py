"""Everything about talking to an API server; nothing about scheduling.

Here belong: where the server is and how we log in, calls and their errors, list
and watch, the hot write path, Leases, the HTTPS server that answers probes and
scrapes, and what is alike in every daemon of ours: log lines, instruments, durations.
What an object *means* does not belong here: callers hand in the msgspec struct they
want decoded.

Both the scheduler and the node agent import this package; it imports neither.
Only this package may import ``kubernetes_asyncio``, and only where a kubeconfig is
read (`kubeio.kubeconfig`): its import costs 38 MiB.
"""
