"""How hypothesis searches: the same examples every time, so that a failure is never a surprise.

`HYPOTHESIS_PROFILE=explore` looks for new ones, and longer.
"""

import logging
import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what runs behind it so, and the programs that tests interrupt would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Whose assertions are to show what they compare, though they are in no test module.
pytest.register_assert_rewrite("tests.integration.scheduler_faults.stage")


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """Undo what a command, or kopf, has set up for its process: no other test is to meet it."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


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
