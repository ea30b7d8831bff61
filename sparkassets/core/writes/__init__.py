"""How the rows of a run land in its target (DESIGN section 6), as data, a file each; so has the Spark layer.

Whoever asks what a write may do asks its value: a mode that comes is a file here and one there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sparkassets.core.writes.append import AppendWrite
from sparkassets.core.writes.publish import PublishWrite
from sparkassets.core.writes.replace import ReplaceWrite
from sparkassets.core.writes.self_written import SelfWrite
from sparkassets.core.writes.upsert import HistoryColumns, UpsertWrite, is_unstored_column

Write = ReplaceWrite | AppendWrite | UpsertWrite | PublishWrite | SelfWrite

WRITES: Final[Mapping[str, ReplaceWrite | AppendWrite | SelfWrite]] = {
    write.name: write for write in (ReplaceWrite(), AppendWrite(), SelfWrite())
}
"""Those that are a word of the YAML, by it; the default is first. The others are a map of options."""

__all__ = [
    "WRITES",
    "AppendWrite",
    "HistoryColumns",
    "PublishWrite",
    "ReplaceWrite",
    "SelfWrite",
    "UpsertWrite",
    "Write",
    "is_unstored_column",
]
