"""What kube-scheduler's plugins decide, the plain way: one Pod, one Node, Python numbers.

Written from the formulas, apart from the core's arithmetic, matching and accounting: it
shares the API's objects with the core and nothing else. Tests compare the core with it.
"""
