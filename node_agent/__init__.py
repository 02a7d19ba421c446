"""The node agent: the kubelet's view of its Pods, and where the time goes.

What belongs here: the agent's own pure core and its IO. What does not: anything
of the scheduler; both share `kubeio` and nothing else.
"""
