"""What a run takes over from a branch instead of computing it: rows that are in the branch's tables already."""

from __future__ import annotations

from collections.abc import Mapping

from sparkassets.frozen import frozen


@frozen
class BranchPromotion:
    """Where the rows of a promoted run are.

    Attributes:
        branch: The branch's name.
        journal_id: Of the branch's journal, which tells it from others that had its name.
        seq: Number in that journal as of which the rows are taken.
        tables: By asset that is written, the id and the version of its table in the branch.
    """

    branch: str
    journal_id: str
    seq: int
    tables: Mapping[str, tuple[str, int]]
