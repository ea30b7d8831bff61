"""The promotion of a branch: rows of the branch's tables that a run of the base takes over instead of computing."""

from __future__ import annotations

from collections.abc import Mapping

from sparkassets.frozen import frozen


@frozen
class BranchPromotion:
    """Location of the rows that a promotion takes over.

    Attributes:
        branch: The branch's name.
        journal_id: Id of the branch's journal, which differs for an earlier branch of the same name.
        seq: Sequence number in that journal as of which the rows are taken.
        tables: Id and version of the branch's table, by written asset.
    """

    branch: str
    journal_id: str
    seq: int
    tables: Mapping[str, tuple[str, int]]
