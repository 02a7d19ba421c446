"""The kubelet's own endpoints: asked, compared, and what comes of it told."""
