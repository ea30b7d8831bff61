"""Where the files of one time and one tuple of segments belong, and its key in the cursor of their source."""

from __future__ import annotations

from sparkassets.core.partitions import PartitionError, Partitioning, PartitionSet, RangeSet, Segment
from sparkassets.core.partitions.segments import decode_segment, encode_segment
from sparkassets.core.patterns.path_pattern import PathPattern
from sparkassets.frozen import frozen


@frozen
class FileSlot:
    """The files of one partition, or of two where a local hour is repeated and their names do not tell which.

    Attributes:
        start: Of its time, Unix seconds; None without a dimension of time.
    """

    segment: Segment = ()
    start: int | None = None

    @property
    def key(self) -> str:
        """Its key; ``""`` of a source without partitions.

        >>> FileSlot((), 86400).key, FileSlot(("de", "a,b"), 86400).key, FileSlot(("",)).key
        ('86400', '86400,de,a%2Cb', '%')
        """
        time = "" if self.start is None else str(self.start)
        if not self.segment:
            return time
        return ",".join([*([time] if time else []), *map(encode_segment, self.segment)])

    @classmethod
    def of_key(cls, key: str, partitioning: Partitioning) -> FileSlot | None:
        """The slot of a key; None of one that is of other dimensions.

        >>> FileSlot.of_key("86400", Partitioning())
        """
        timed = partitioning.time is not None
        texts = key.split(",") if key else []
        if len(texts) != timed + len(partitioning.segments):
            return None
        try:
            return cls(tuple(map(decode_segment, texts[timed:])), int(texts[0]) if timed else None)
        except (ValueError, PartitionError):
            return None

    def partition_key(self, partitioning: Partitioning) -> str:
        """Its partition's key, for messages."""
        time = partitioning.time
        keys = list(map(encode_segment, self.segment))
        if time is not None and self.start is not None:
            keys.insert(partitioning.time_at, time.key(self.start))
        return ",".join(keys)

    def parts(self, pattern: PathPattern, partitioning: Partitioning) -> PartitionSet:
        """The partitions that its files may hold rows of."""
        time, start = partitioning.time, self.start
        always = RangeSet.always()
        pair = (always.first, always.last) if time is None or start is None else pattern.extent(start, time)
        return PartitionSet.from_slots([(self.segment, pair)])
