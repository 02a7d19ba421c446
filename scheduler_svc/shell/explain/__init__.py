"""Explaining decisions: of a saved cluster, of a listed one, and of the running scheduler.

The same framework and plugins decide as in the live scheduler; here belong what is asked
(snapshots, Pods that do not exist yet) and how the answer is told (JSON, tables, HTTP).
"""
