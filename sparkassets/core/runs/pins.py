"""What a run reads of one inlet, fixed when it was planned."""

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
        iteration: Of an asset that publishes, whose rows or files are read instead of what its table shows; empty reads
            the table.
        column: Whose high value ``low`` is, and the next one will be; empty where changes are read otherwise, or nobody
            said.
        files: Of a source of files, what tells those that are read from any others.
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
