"""Plugins to learn from; each with its test under `examples/tests`."""
