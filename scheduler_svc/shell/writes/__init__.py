"""What is written to the API server: Bindings, conditions, Events, evictions; each its queue."""
