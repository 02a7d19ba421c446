"""The controller: tells in their status what has become of PodGroups and SchedulerProfiles.

A process of its own, so that nothing it does can slow a decision. kopf watches our custom
resources, in a thread with a loop of its own; Pods come by kubeio's reflector. What an
object's status ought to be is a pure function of what is known; it is written where it
differs from what the object says, by one replica at a time.

It never writes to Pods or Nodes, and leaves no annotations and no finalizers on anything.
"""
