"""How hypothesis searches: the same examples every time, so that a failure is never a surprise.

`HYPOTHESIS_PROFILE=explore` looks for new ones, and longer.
"""

import os

import pytest
from hypothesis import HealthCheck, settings

# Whose assertions are to show what they compare, though they are in no test module.
pytest.register_assert_rewrite("tests.integration.scheduler_faults.stage")

settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "explore", deadline=None, max_examples=2000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
