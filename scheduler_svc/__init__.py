"""The scheduler: a pure deciding core and the shell that does its IO.

What belongs here: `core` (events in, effects out; no clock, no IO) and `shell`
(configuration, decoding, execution of effects, serving). What does not: talking
to an API server in general (`kubeio`) and the command line (`berthmaster`).
"""
