"""What a session can do: Spark itself, of any kind, or Sail, which lacks some of it.

Code asks for a capability, never for the engine. Features that a Spark Connect server may lack are tried where they are
used (`failures.is_lacking`); here are those whose lack shows in no error, or only when rows are computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from sparkassets.errors import RunError
from sparkassets.frozen import frozen
from sparkassets.spark.failures import is_out_of_reach
from sparkassets.spark.own_session import is_remote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@frozen
class SessionCapabilities:
    """What a session can do.

    Attributes:
        commits: It commits to Delta tables with a transaction's version, so that runs are exactly once.
        holds_rows: It keeps rows that are computed once (``persist``).
        names_files: Rows of files have ``_metadata.file_path``.
        names_folders: Files that are read one by one have the columns of their folders' names (``basePath``).
        reads_feeds: It reads change feeds of Delta tables.
        reads_before_checkpoints: It reads versions of Delta tables before their last checkpoint.
        escapes_patterns: In a path, a backslash makes a character of a pattern one of a name.
        groups_by_all: It knows ``GROUP BY ALL``.
        rebalances: It follows the hint ``rebalance``, by which one task writes all rows of a folder.
        checks_headers: It compares the headers of CSV files with the schema.
        reads_null_values: It follows the option ``nullValue`` of text files.
        csv_options: Options by which it reads CSV files as Spark does without options.
        parses_json_strictly: Its ``from_json`` takes ISO times, and fails for values of another type.
        masks_fields: In rows that it is sent, the fields of a NULL struct are NULL.
    """

    commits: bool = True
    holds_rows: bool = True
    names_files: bool = True
    names_folders: bool = True
    reads_feeds: bool = True
    reads_before_checkpoints: bool = True
    escapes_patterns: bool = True
    groups_by_all: bool = True
    rebalances: bool = True
    checks_headers: bool = True
    reads_null_values: bool = True
    csv_options: Mapping[str, str] = field(default_factory=dict)
    parses_json_strictly: bool = True
    masks_fields: bool = True


_OF_SPARK: Final = SessionCapabilities()
_OF_SAIL: Final = SessionCapabilities(
    commits=False,
    holds_rows=False,
    names_files=False,
    names_folders=False,
    reads_feeds=False,
    reads_before_checkpoints=False,
    escapes_patterns=False,
    groups_by_all=False,
    rebalances=False,
    checks_headers=False,
    reads_null_values=False,
    csv_options={"escape": "\\"},
    parses_json_strictly=False,
    masks_fields=False,
)
_SAIL_CATALOG: Final = "sail"
"""The catalog in which a session of Sail begins; Spark's is ``spark_catalog``."""
_KNOWN: WeakKeyDictionary[SparkSession, SessionCapabilities] = WeakKeyDictionary()


def capabilities_of(session: SparkSession) -> SessionCapabilities:
    """What the session can do; a server is asked once."""
    if not is_remote(session):
        return _OF_SPARK
    found = _KNOWN.get(session)
    if found is None:
        found = _KNOWN[session] = _OF_SAIL if _read_catalog(session) == _SAIL_CATALOG else _OF_SPARK
    return found


def _read_catalog(session: SparkSession) -> str:
    """The current catalog; empty where the session does not reveal it."""
    from pyspark.errors import PySparkException

    try:
        return str(session.catalog.currentCatalog())
    except PySparkException as error:
        if is_out_of_reach(error):
            raise
        return ""


def require_commits(session: SparkSession, asset: str, reason: str) -> None:
    """Refuses a commit that the driver leaves to a session which cannot make it exactly once.

    Args:
        session: The session.
        asset: The asset that commits.
        reason: Why the driver cannot commit, as the end of a sentence.

    Raises:
        RunError: With what to do about it.
    """
    if not capabilities_of(session).commits:
        raise RunError(f"{asset}: Sail cannot commit to its table: {reason}", hint="run it with Spark: --engine spark")


def union_all(frames: Sequence[DataFrame]) -> DataFrame:
    """The rows of all frames, by the names of their columns; a column that only some have is NULL in the others.

    Halves are put together, not one frame after the other: a plan that is hundreds of unions deep overflows the stack.
    """
    if len(frames) == 1:
        return frames[0]
    middle = len(frames) // 2
    return union_all(frames[:middle]).unionByName(union_all(frames[middle:]), allowMissingColumns=True)
