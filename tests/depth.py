"""How long the tests look for what is random: ``FUZZ_COUNT=2000`` looks fifty times as long, and elsewhere."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, Phase, settings

WHOLE = 200
"""The mutated projects that a test's own number of examples goes with."""

USUAL = 40
"""The mutated projects of a usual run; all else that is random and takes long is in proportion to them."""

COUNT = int(os.environ.get("FUZZ_COUNT", USUAL))


def examples(whole: int) -> int:
    """How many examples to look at, which in a usual run are a fifth of ``whole``; at least one."""
    return max(1, whole * COUNT // WHOLE)


def histories(whole: int) -> settings:
    """Of a test of so many random histories, none of which is made smaller where it fails.

    They are the same ones as long as the same modules are loaded: Hypothesis takes examples from the numbers in these.
    """
    return settings(
        max_examples=examples(whole),
        phases=[Phase.generate],
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def some(values: Sequence[Any], of: str) -> Sequence[Any]:
    """Those of many values to look at with ``of``: in a usual run a fourth of them, other ones with another ``of``."""
    often = 1 if COUNT > USUAL else 4
    return values[crc32(of.encode()) % often :: often]


def deep(*values: object) -> Any:
    """One more variant of a test: `make test` leaves it out, `make deep` looks at it."""
    return pytest.param(*values, marks=pytest.mark.deep)
