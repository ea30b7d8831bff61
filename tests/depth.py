"""How long the tests look for what is random: ``FUZZ_COUNT=2000`` looks ten times as long, and elsewhere."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

USUAL = 200
"""The mutated projects of a usual run; all else that is random and takes long is in proportion to them."""

COUNT = int(os.environ.get("FUZZ_COUNT", USUAL))


def examples(usual: int) -> int:
    """How many examples to look at, of which a usual run looks at ``usual``; at least one."""
    return max(1, usual * COUNT // USUAL)


def histories(usual: int) -> settings:
    """Of a test of so many random histories: always the same ones, none of which is made smaller where it fails."""
    return settings(
        max_examples=examples(usual),
        phases=[Phase.generate],
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def deep(*values: object) -> Any:
    """One more variant of a test with Spark: `make test` leaves it out, `make deep` looks at it."""
    return pytest.param(*values, marks=pytest.mark.deep)
