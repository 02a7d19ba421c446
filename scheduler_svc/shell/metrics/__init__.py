"""What is counted and timed, and served as /metrics."""
