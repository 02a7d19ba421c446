"""Where the kubelet's own view differs from what it ought to have, and why a Pod does not run.

What the agent keeps (`known_pods`) is compared with what the kubelet shows of itself. What
does not belong here: asking the kubelet, and telling anybody.
"""
