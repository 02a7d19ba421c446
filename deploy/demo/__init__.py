"""The demonstration: a cluster that fills with Pods before your eyes, and the proof that it did.

``python -m deploy.demo`` brings up a control plane of its own, starts two replicas of the scheduler
as users start them, creates Nodes and Pods (`shapes`), shows what happens, kills the leader and
checks all of it against what the API server says (`verdict`).
"""
