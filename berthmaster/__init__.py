"""The public face of Berthmaster: the command line and the version.

What belongs here: what a user or a plugin author types or imports. What does
not: decisions (`scheduler_svc.core`), IO (`scheduler_svc.shell`, `kubeio`).
Everything may be imported from here; nothing imports this package.
"""

__version__ = "0.1.0.dev0"
