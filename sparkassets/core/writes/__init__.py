"""How the rows of a run land in its target (DESIGN section 6), as data, a file each; so has the Spark layer.

Whoever asks what a write may do asks its value: a mode that comes is a file here and one there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sparkassets.core.writes.append import Append
from sparkassets.core.writes.publish import Publish
from sparkassets.core.writes.replace import Replace
from sparkassets.core.writes.self_written import SelfWritten
from sparkassets.core.writes.upsert import History, Upsert, is_hidden

Write = Replace | Append | Upsert | Publish | SelfWritten

WRITES: Final[Mapping[str, Replace | Append | SelfWritten]] = {
    write.name: write for write in (Replace(), Append(), SelfWritten())
}
"""Those that are a word of the YAML, by it; the default is first. The others are a map of options."""

__all__ = ["WRITES", "Append", "History", "Publish", "Replace", "SelfWritten", "Upsert", "Write", "is_hidden"]
