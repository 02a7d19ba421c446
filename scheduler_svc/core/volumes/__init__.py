"""Volumes: which Nodes they can be on, who uses them, and what becomes of claims."""
