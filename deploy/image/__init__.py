"""The container image, and what making it takes: a Docker engine, Debian's packages, a base.

``engine`` finds a Docker engine or, asked to, starts one; ``debian`` unpacks a Debian system from
packages; ``build`` makes ``berthmaster:dev`` of the Dockerfile where images can be pulled and where
they can't; ``inventory`` and ``sbom`` say what is in it.
"""
