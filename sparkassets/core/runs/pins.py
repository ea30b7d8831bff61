"""The version and partitions of one inlet that a run reads, fixed when the run is planned."""

from __future__ import annotations

from sparkassets.core.partitions import EVERYTHING, PartitionSet
from sparkassets.frozen import frozen


@frozen
class InletPin:
    """The state of an inlet that a run reads.

    Attributes:
        seq: Newest event of the inlet's dataset when the run was claimed.
        table_id, version: Position in a Delta inlet; None for files.
        parts: The partitions of the inlet that are read; everything reads all of it.
        low: Watermark of its ``read``, as text: the high value of a column, which Spark casts back, or the
            `TablePosition` after which changes are read. None before the first run, and where all is read anew.
        iteration: Iteration of a publishing asset whose rows or files are read; empty reads the table.
        files: Identity of the files that are read, for a source of files.
        column: Column whose high value ``low`` is; empty where changes are read by version, or it is not recorded.
    """

    uri: str
    seq: int = 0
    table_id: str | None = None
    version: int | None = None
    parts: PartitionSet = EVERYTHING
    low: str | None = None
    iteration: str = ""
    files: str = ""
    column: str = ""
