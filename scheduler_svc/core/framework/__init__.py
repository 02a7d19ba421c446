"""How plugins take part in a decision: their contracts, and the machinery that runs them.

What belongs here: the extension points, profiles, evaluation of a class of Pods,
selection, diagnosis. What does not: any plugin (`plugins`) and any queue. Plugins
and everything above may import this package.
"""
