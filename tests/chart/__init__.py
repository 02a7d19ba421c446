"""The Helm chart: what it renders, what it refuses, and what comes of it on a real API server."""
