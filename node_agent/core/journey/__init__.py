"""The way of each Pod from creation to ready and away: times in, timelines and samples out.

What is told of a Pod by the API server, the kubelet, the scheduler, the file system and
Events becomes *marks*: a step, who told of it, and when. Marks of one kind merge by taking
the earliest, so what is known does not depend on the order in which it came. What does not
belong here: reading any of these sources, and drawing.
"""
