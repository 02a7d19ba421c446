"""The same inputs give the same effects: in one process, and whatever the hashes of strings are."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.property.driver import drive


@pytest.mark.parametrize("seed", range(40))
def test_the_laws_hold_whatever_happens(seed: int) -> None:
    """Replays every run, too: `check_settled` compares the effects."""
    drive(seed, 150)


def test_decisions_do_not_depend_on_hashes() -> None:
    outputs = [run_driver(hash_seed) for hash_seed in ("1", "2")]
    assert outputs[0] == outputs[1]
    assert "decision_id" in outputs[0]


def run_driver(hash_seed: str) -> str:
    """Run three clusters in a process of their own, where strings have other hashes."""
    result = subprocess.run(
        [sys.executable, "-m", "tests.property.driver", "1", "2", "3"],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return result.stdout
