"""How the rows of a run land in its target (DESIGN section 6), as data; the Spark layer has a file for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sparkassets.frozen import frozen


@frozen
class Replace:
    """A run's rows take the place of those of its blocks, or of all.

    Attributes:
        recomputable: What a run wrote can be computed again: lost rows are, and a rebuild makes the table anew.
        only_adds: A run leaves all rows as they are, so that several assets may write one table.
    """

    name = "replace"
    recomputable = True
    only_adds = False


@frozen
class Append:
    """A run's rows come to those that are there; the attributes say what those of `Replace` do."""

    name = "append"
    recomputable = False
    only_adds = True


Write = Replace | Append

WRITES: Final[Mapping[str, Write]] = {write.name: write for write in (Replace(), Append())}
"""By the word of the YAML; the default is first."""

__all__ = ["WRITES", "Append", "Replace", "Write"]
