"""The deciding core: events go in, effects come out.

What belongs here: everything that determines a decision. What does not: a
clock, a socket, a log, a random source, an environment variable; time and the
seed are arguments. The shell may import this package; it imports nothing of
ours.
"""
