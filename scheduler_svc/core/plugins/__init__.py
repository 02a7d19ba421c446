"""The in-tree plugins: one module each, one class each, named as upstream names it.

What belongs here: the rules of kube-scheduler's plugins. What does not: how plugins are
run (`framework`). Plugins know the framework and never each other.
"""
