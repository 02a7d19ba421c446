"""Devices of ResourceSlices and how claims are given some: structured allocation.

`inventory` is what others use: it knows slices, classes and what is allocated, and keeps
that up to date; `search` finds devices for the claims of a Pod on one Node.
"""
