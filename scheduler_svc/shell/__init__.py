"""The scheduler's IO: it feeds the core with events and carries out its effects.

What belongs here: configuration files, decoding, bindings, events, metrics,
the Lease, the process. What does not: any decision about where a Pod goes.
"""
