"""Berthmaster as its users run it: installed from its chart in a cluster of containers.

`make kind-test` runs these; `make test` names them and leaves them out.
"""
