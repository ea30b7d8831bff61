"""A division: blocks that failed of their data are tried in parts, until what is bad stands alone.

A fused run fails as a whole for one bad block. So its blocks are tried again in halves, the older one first: a half
that comes through is published, one that fails is halved again. A half whose other half came through would fail, so
that it is halved at once; of one whose other half failed nothing is known, and it is tried as a whole. One bad block
of n takes about 2·log2 n further runs at most, and a division takes no more than its budget.
"""

from __future__ import annotations

from typing import Literal

from sparkassets.frozen import frozen

PartFinding = Literal["failed", "bad", "unknown"]
"""Of a part: these blocks failed as one run; some of them are bad, as others of such a run came through; nothing."""


def allowed_division_runs(blocks: int, *, retries: int) -> int:
    """How many further runs a division of ``blocks`` takes at most: one bad block's, and one more's for each retry.

    None is tried again where nothing is to be (``retries: 0``).

    >>> [allowed_division_runs(blocks, retries=1) for blocks in (365, 2, 1)], allowed_division_runs(365, retries=0)
    ([36, 4, 0], 0)
    """
    levels = (blocks - 1).bit_length()
    return 2 * levels * (1 + retries) if retries else 0


@frozen(array_like=True)
class RunDivision:
    """What is known of one part of a division.

    Attributes:
        first: Fence token of the run that failed first, which all parts share.
        left: How many more runs its parts may take together.
        known: Of this part.
    """

    first: int
    left: int
    known: PartFinding = "failed"

    def next_count(self, blocks: int) -> int:
        """How many of the part's blocks are tried next, the oldest; 0 where it stands as failed.

        >>> RunDivision(1, 9).next_count(5), RunDivision(1, 9).next_count(1), RunDivision(1, 0).next_count(5)
        (3, 0, 0)
        >>> RunDivision(1, 9, "bad").next_count(1), RunDivision(1, 9, "unknown").next_count(5)
        (1, 5)
        """
        if not self.left or (self.known == "failed" and blocks == 1):
            return 0
        return blocks if self.known == "unknown" else (blocks + 1) // 2
