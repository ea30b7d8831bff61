"""Names the missing or broken file of a local table's log, where Delta's libraries refuse the table without a name."""

from __future__ import annotations

import json
import re
from pathlib import Path

_CLASSIC = "checkpoint.parquet"
_FILE = re.compile(r"(\d{20})\.(json|checkpoint\..*)")


def fault_of(table: Path) -> str | None:
    """What is wrong with the newest checkpoint, or with the entries after it; None where nothing is found.

    >>> fault_of(Path("/nowhere")) is None
    True
    """
    try:
        files = _files(table / "_delta_log")
        checkpoints = [version for version, kind in files if kind != "json"]
        begins = max(checkpoints, default=0)
        if checkpoints and (why := _checkpoint_fault(files.get((begins, _CLASSIC)))) is not None:
            return why
        entries = {version: path for (version, kind), path in files.items() if kind == "json" and version >= begins}
        return _entries_fault(entries, begins + 1 if checkpoints else 0)
    except OSError:  # the caller's error says that the log cannot be read
        return None


def _files(log: Path) -> dict[tuple[int, str], Path]:
    if not log.is_dir():
        return {}
    named = ((_FILE.fullmatch(path.name), path) for path in log.iterdir())
    return {(int(found[1]), found[2]): path for found, path in named if found is not None}


def _checkpoint_fault(path: Path | None) -> str | None:
    if path is None:  # one of several files, whose form depends on the writer
        return None
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with path.open("rb") as file:
            for _ in parquet.ParquetFile(file).iter_batches():
                pass
    except (pa.ArrowException, OSError) as error:
        return f"its checkpoint {path.name} cannot be read: {str(error).strip().splitlines()[0]}"
    return None


def _entries_fault(entries: dict[int, Path], expected: int) -> str | None:
    for version in range(expected, max(entries, default=-1) + 1):
        if version not in entries:
            return f"the entry {version:020d}.json of its log is missing"
        try:
            for line in entries[version].read_bytes().splitlines():
                json.loads(line)
        except ValueError as error:
            return f"the entry {entries[version].name} of its log is not JSON: {error}"
    return None
