"""The hidden folder within a table's, and what upserts remember there, without a JVM."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote

from sparkassets.delta.log import DeltaLog
from sparkassets.delta.tables import find_table
from sparkassets.errors import SessionNeededError, SourceError

REMEMBERED: Final = "remembered"
"""The table of what an upsert remembers, and the measure of a commit that names the valid version of it."""
_SCRATCH_FOLDER: Final = "_sparkassets"
"""The folder beside a table's files; neither readers nor ``VACUUM`` look into it."""


def scratch_folder(path: str) -> str:
    """The hidden folder, within the table's, for rows that belong to runs."""
    return f"{path}/{_SCRATCH_FOLDER}"


def is_memory_gone(path: str, version: int) -> bool:
    """Whether the upsert of the table at ``path`` remembered keys in that version, and its files are gone.

    False where only Spark can read what is remembered: the run finds out.

    Raises:
        SourceError: The storage cannot be read now.
    """
    memory = f"{scratch_folder(path)}/{REMEMBERED}"
    try:
        if find_table(memory) is None:
            return False  # a run takes it that nothing was remembered
    except SessionNeededError:
        return False
    try:
        table = find_table(memory, version=version)
    except SourceError:
        return True  # the newest version was readable, this one is gone
    log = DeltaLog(memory)
    paths = [] if table is None else table.get_add_actions(flatten=True).column("path").to_pylist()
    return table is None or not all(log.holds(unquote(each)) for each in paths)
