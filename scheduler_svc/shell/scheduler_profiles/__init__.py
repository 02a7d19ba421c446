"""SchedulerProfiles: profiles that are objects in the cluster, followed while we run.

What belongs here: the type, what is wrong with one, and the view that makes the core run what
they say. What does not: their status' conditions, which are the controller's.
"""
