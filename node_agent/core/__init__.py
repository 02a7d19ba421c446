"""The agent's deciding part: lists and times in, operations and timelines out; no IO, no clock."""
