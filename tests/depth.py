"""How long the tests look for what is random: ``FUZZ_COUNT=2000`` looks ten times as long as a usual run."""

from __future__ import annotations

import os

USUAL = 200
"""The mutated projects of a usual run; all else that is random and takes long is in proportion to them."""

COUNT = int(os.environ.get("FUZZ_COUNT", USUAL))


def examples(usual: int) -> int:
    """How many examples to look at, of which a usual run looks at ``usual``; at least one."""
    return max(1, usual * COUNT // USUAL)
