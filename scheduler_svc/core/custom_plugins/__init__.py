"""Plugins that users write: what they subclass, what they see, and how the framework asks them.

`berthmaster.plugin` offers the public part of it.
"""
