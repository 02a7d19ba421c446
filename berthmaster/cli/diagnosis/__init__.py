"""What ``berthmaster diagnose`` gathers of a cluster, and what it makes of it.

`gathering` and what it is made of read the cluster into `facts`; `judgement` makes findings of
these and asks nothing and nobody; `report` tells them.
"""
