"""Opens Delta tables, and says why one cannot be read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sparkassets.delta.durability import LAST_CHECKPOINT, find_torn_files
from sparkassets.errors import SessionNeededError, SourceError
from sparkassets.files.object_stores import deltalake_options, local_path

if TYPE_CHECKING:
    from deltalake import DeltaTable


def load_table(path: str, *, version: int | None = None) -> DeltaTable:
    """The table at a path or URI, as it is now or at a version.

    Raises:
        TableNotFoundError: deltalake's; there is none, or none at that version.
        DeltaError: deltalake's; it cannot be read.
    """
    from deltalake import DeltaTable

    return DeltaTable(path, version=version, storage_options=deltalake_options(path) or None)


def is_table(path: str) -> bool:
    """Whether there is a table."""
    from deltalake import DeltaTable

    return DeltaTable.is_deltatable(path, storage_options=deltalake_options(path) or None)


_CLASSIC_CHECKPOINT = "checkpoint.parquet"
_LOG_FILE = re.compile(r"(\d{20})\.(json|checkpoint\..*)")


def fault_of(table: Path) -> str | None:
    """What is wrong with the newest checkpoint, or the entries after it; None if nothing is.

    >>> fault_of(Path("/nowhere")) is None
    True
    """
    try:
        files = _list_log_files(table / "_delta_log")
        checkpoints = [version for version, kind in files if kind != "json"]
        first_version = max(checkpoints, default=0)
        if (
            checkpoints
            and (fault := _find_checkpoint_fault(files.get((first_version, _CLASSIC_CHECKPOINT)))) is not None
        ):
            return fault
        entries = {
            version: path for (version, kind), path in files.items() if kind == "json" and version >= first_version
        }
        return _find_entries_fault(entries, first_version + 1 if checkpoints else 0)
    except OSError:  # the caller's error says that the log cannot be read
        return None


def _list_log_files(log: Path) -> dict[tuple[int, str], Path]:
    if not log.is_dir():
        return {}
    matches = ((_LOG_FILE.fullmatch(path.name), path) for path in log.iterdir())
    return {(int(match[1]), match[2]): path for match, path in matches if match is not None}


def _find_checkpoint_fault(path: Path | None) -> str | None:
    """Why a checkpoint cannot be read, found by reading all of it; None if it can, or if it has several files."""
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


def _find_entries_fault(entries: dict[int, Path], expected: int) -> str | None:
    """Why the log cannot be read from version ``expected`` on: an entry is missing or no JSON; None if it can."""
    for version in range(expected, max(entries, default=-1) + 1):
        if version not in entries:
            return f"the entry {version:020d}.json of its log is missing"
        try:
            for line in entries[version].read_bytes().splitlines():
                json.loads(line)
        except ValueError as error:
            return f"the entry {entries[version].name} of its log is not JSON: {error}"
    return None


_LAYERS = r"^(?:(?:C Data interface|External|Kernel|Generic delta kernel|Arrow|Parquet) error: )+"
_COLOUR = r"\x1b\[\d*m"
_BODY = r":?\s*<(?:\?xml|[Ee]rror).*"
_CODE = r"<Code>([^<]+)</Code>"
_LOG_PATH: Final = r"""ParsedLogPath \{.*?filename: "([^"]*)".*?file_type: \w+(?: \{[^{}]*\})? \}"""
"""How deltalake prints a log file: by its inner structure instead of its name."""
_LONGEST = 500
_UNSUPPORTED_FEATURE: Final = r"Feature '([^']+)' is not supported"
_CATALOG_MANAGED: Final = "catalog-managed"


def reason(error: BaseException) -> str:
    r"""The reason in an error of deltalake: its causes without layers, colours and back trace.

    >>> reason(OSError("Kernel error: cannot write\n  ↳ No space left on device\n  0: at commit.rs"))
    'cannot write: No space left on device'
    >>> reason(OSError("404 Not Found: <?xml version='1.0'?>\n<Error><Code>NoSuchBucket</Code></Error>"))
    '404 Not Found: NoSuchBucket'
    """
    lines = str(error).strip().splitlines() or [type(error).__name__]
    causes = [re.sub(_COLOUR, "", line).strip() for line in lines[1:]]
    lines[0] = re.sub(_LOG_PATH, r"\1", lines[0])
    text = ": ".join(
        [re.sub(_LAYERS, "", lines[0].strip()), *(line[1:].strip() for line in causes if line.startswith("↳"))]
    )
    if (body := re.search(_BODY, text)) is not None:
        code = re.search(_CODE, str(error))
        text = text[: body.start()] + (f": {code[1]}" if code is not None else "")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def find_damage(path: str) -> SourceError | None:
    """The error for a local table whose log has a missing or broken file, which it names; None for any other table."""
    if (local := local_path(path)) is None:
        return None
    fault, torn = fault_of(Path(local)), find_torn_files(Path(local))
    if fault is None and torn and torn[0].name == LAST_CHECKPOINT:
        fault = f"{torn[0]} names a missing checkpoint: move that file away"
    return None if fault is None else SourceError(f"cannot read the Delta table at '{path}': {fault}")


def find_table(path: str, *, version: int | None = None) -> DeltaTable | None:
    """The table at a path or URI, as it is now or at a version; None if there is none.

    Raises:
        SourceError: It cannot be read; a `SessionNeededError` where Spark may read it.
    """
    from deltalake.exceptions import DeltaError, TableNotFoundError

    try:
        return load_table(path, version=version)
    except TableNotFoundError:
        return None
    except (DeltaError, OSError) as error:
        raise unreadable(path, error) from error


def unreadable(path: str, error: BaseException) -> SourceError:
    """The error for a table that deltalake cannot open."""
    message = f"cannot read the Delta table at '{path}': {reason(error)}"
    if _CATALOG_MANAGED in str(error):
        return SourceError(
            message,
            hint="its newest commits are in its catalog: read and write it by its name, 'table: catalog.schema.name'",
        )
    if (feature := re.search(_UNSUPPORTED_FEATURE, str(error))) is not None:
        return SessionNeededError(message, why=f"it has {feature[1]}")
    return find_damage(path) or SourceError(message)
