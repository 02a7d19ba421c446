"""What a user of the benchmarks is told without a traceback."""


class BenchmarkError(Exception):
    """A run cannot give a figure; the message says why, and what to look at."""
