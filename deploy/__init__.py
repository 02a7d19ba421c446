"""The local control plane and the demonstration: what runs the project without a cluster."""
