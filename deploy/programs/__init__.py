"""Programs of others: where they come from, and how they are started, watched and ended.

Each is looked for on this machine and in the cache, else downloaded, else built with Go. What runs
on them stands beside: the local control plane, the kind cluster.
"""
