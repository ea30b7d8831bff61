"""Division of a failed run: its partitions are retried in halves until the bad ones stand alone.

A run of many partitions fails as a whole for one bad partition. So they are retried in halves, the older one first: a
half that succeeds is published, one that fails is halved again. If one half succeeded, the other must be bad and is
halved at once; if it failed, nothing is known of the other, which is tried as a whole. One bad partition of n takes
about 2·log2 n further runs at most, and a division takes no more runs than `allowed_division_runs`.
"""

from __future__ import annotations

from typing import Literal

from sparkassets.frozen import frozen

PartFinding = Literal["failed", "bad", "unknown"]
"""Finding about a part: it failed as one run; it is bad because the rest of a failed run succeeded; unknown."""


def allowed_division_runs(blocks: int, *, retries: int) -> int:
    """Most further runs of a division of ``blocks`` partitions: enough for one bad partition, and one for each retry.

    None with ``retries: 0``.

    >>> [allowed_division_runs(blocks, retries=1) for blocks in (365, 2, 1)], allowed_division_runs(365, retries=0)
    ([36, 4, 0], 0)
    """
    levels = (blocks - 1).bit_length()
    return 2 * levels * (1 + retries) if retries else 0


@frozen(array_like=True)
class RunDivision:
    """One part of a division.

    Attributes:
        first: Fence token of the run that failed first, which all parts share.
        left: Number of further runs that all parts may take together.
        known: Finding about this part.
    """

    first: int
    left: int
    known: PartFinding = "failed"

    def next_count(self, blocks: int) -> int:
        """Number of the part's partitions, the oldest, that are tried next; 0 where the part stays failed.

        >>> RunDivision(1, 9).next_count(5), RunDivision(1, 9).next_count(1), RunDivision(1, 0).next_count(5)
        (3, 0, 0)
        >>> RunDivision(1, 9, "bad").next_count(1), RunDivision(1, 9, "unknown").next_count(5)
        (1, 5)
        """
        if not self.left or (self.known == "failed" and blocks == 1):
            return 0
        return blocks if self.known == "unknown" else (blocks + 1) // 2
