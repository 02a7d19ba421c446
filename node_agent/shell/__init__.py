"""The agent's IO: the sources of Pods, the kubelet's endpoints, metrics, the process."""
