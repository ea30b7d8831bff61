"""The write modes, a file each, here as data and in the Spark layer as code (docs/design/writes.md).

Callers ask the mode's own value what it may do, so a new mode is one file here and one there.
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
"""The write modes that are one word in YAML, by that word, the default first. The others are a map of options."""

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
