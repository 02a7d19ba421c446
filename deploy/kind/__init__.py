"""A real cluster of containers with real kubelets, by kind, with Berthmaster installed in it.

``commands`` is what the command line does. ``node_image`` obtains what the nodes run: kind's own
image where images can be pulled, else one made of Debian's packages (``system``), other programs
and the images of the control plane (``archive``). ``cluster`` makes and removes the cluster,
``network`` connects its Pods, ``chart`` installs Berthmaster.
"""
