"""What is watched: each kind's reflector, and how its objects become the core's events."""
