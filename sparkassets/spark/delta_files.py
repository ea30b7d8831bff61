"""Reads a version of a Delta table from its files where that is faster than Delta's own read and equal.

Delta first reads the table's log in Spark jobs; for a small table that takes longer than reading its rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

from sparkassets.core.partitions import EVERYTHING, UNPARTITIONED, Partitioning, PartitionSet
from sparkassets.delta.features import is_plain_type, maps_columns
from sparkassets.delta.file_split import NewerRows, TableFiles
from sparkassets.delta.live_files import LiveFile, PartitionValue, log_text
from sparkassets.delta.log import DeltaLog, FileAction, LogCommit
from sparkassets.errors import SourceError
from sparkassets.files.object_stores import local_path
from sparkassets.spark import sqltext
from sparkassets.spark.capabilities import capabilities_of, union_all
from sparkassets.spark.own_session import setting
from sparkassets.spark.schemas import GENERATED, IDENTITY
from sparkassets.spark.session_settings import MOST_LISTED

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

UNREADABLE: Final = "only Delta reads the files to rewrite, or reads them faster"
"""Why Spark has to commit where `read_files` reads nothing, as the end of a sentence."""
_MOST_FILES = 128
"""On a disk: this many take nine tenths of the time that Delta takes, thirty take seven tenths."""
_MOST_BYTES = 256 * 2**20
"""Above this, reading rows takes so long that Delta's way of opening files does not matter."""
_MOST_GROUPS = 32
"""Folders that are read one by one where rows do not name their files."""
_MOST_REQUESTS = 8
"""Files in an object store, which Spark requests one after the other."""
_FEATURES = frozenset({"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"})
"""Table features with which the rows of a table are exactly those of its files."""
_GLOB = re.compile(r"[{}\[\]*?\\]")
"""Characters that Spark takes for a pattern in a file's path."""
_NO_HOST = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):///")


def read_version(
    session: SparkSession,
    table: DeltaTable,
    version: int,
    *,
    path: str,
    parts: PartitionSet = EVERYTHING,
    partitioning: Partitioning = UNPARTITIONED,
    newer: NewerRows | None = None,
) -> tuple[DataFrame, bool]:
    """The rows of ``parts``, and maybe others, of a version of ``table``; and whether there are no others.

    Types, order of columns and their metadata are those of Delta's read. Starts no job.

    Args:
        session: In UTC.
        table: Another version may be loaded; afterwards it is this one.
        version: Of the table.
        path: Where the table is, as Spark has it.
        parts: Whole partitions of ``partitioning``.
        partitioning: Tells by which column a row is of a partition.
        newer: The caller needs only these rows; others may be returned, too.
    """
    from deltalake.exceptions import DeltaError

    try:
        if table.version() != version:
            table.load_as_version(version)
        files = TableFiles.load_files(table)
        split = files.split_files(parts, partitioning=partitioning)
    except (DeltaError, SourceError):  # Delta reads more, and tells what it cannot
        split = None
    if split is not None:
        wanted = [*split.inside, *split.mixed]
        if newer is not None:
            needed_paths = {file.path for file in newer.find_files(files)}
            wanted = [file for file in wanted if file.path in needed_paths]
        most = _find_most(session, wanted, path=path, version=version)
        frame = read_files(session, table, wanted, path=path, most=most)
        if frame is not None:
            return frame, not split.mixed
    return session.read.format("delta").option("versionAsOf", version).load(path), False


def _find_most(session: SparkSession, files: Sequence[LiveFile], *, path: str, version: int) -> int | None:
    """All of the files where the session's own read does not reach the version; None where it does."""
    if capabilities_of(session).reads_before_checkpoints or version >= DeltaLog(path).checkpoint():
        return None
    return len(files)


def can_read_files(table: DeltaTable, *, path: str) -> bool:
    """Whether `read_files` reads any number of the table's files."""
    return _find_readable_schema(table) is not None and _GLOB.search(path) is None


def read_files(
    session: SparkSession, table: DeltaTable, files: Sequence[LiveFile], *, path: str, most: int | None = None
) -> DataFrame | None:
    """The rows of live files of the loaded version, typed as in `read_version`.

    None for more files than ``most``, or by default where Delta takes no longer.
    """
    schema = _find_readable_schema(table)
    return (
        None if schema is None else _read_listed_files(session, files, path=path, schema=schema, table=table, most=most)
    )


def name_files(
    session: SparkSession, table: DeltaTable, rows: DataFrame, files: Sequence[LiveFile], *, path: str, column: str
) -> DataFrame | None:
    """The rows of files with a column that names each row's file, as `find_read_files` takes it.

    None where a file cannot be read.

    Args:
        session: In UTC.
        table: Whose files they are.
        rows: Their rows, as of `read_files`.
        files: The files.
        path: Where the table is.
        column: The name of the new column.
    """
    from pyspark.sql import functions as sql

    if capabilities_of(session).names_files:
        return rows.select("*", sql.col("_metadata.file_path").alias(column))
    frames = [(file, read_files(session, table, [file], path=path, most=1)) for file in files]
    named = [frame.withColumn(column, sql.lit(quote(file.place))) for file, frame in frames if frame is not None]
    return union_all(named) if len(named) == len(files) else None


def find_read_files(uris: Iterable[str], files: Sequence[LiveFile]) -> list[LiveFile]:
    """Those of the files that rows name.

    Raises:
        KeyError: A name is of none of them.
    """
    places = {file.place: file for file in files}
    return [places[_match_suffix(unquote(uri), places)] for uri in uris]


def read_appended(session: SparkSession, table: DeltaTable, commit: LogCommit, *, path: str) -> DataFrame:
    """The rows that a commit which only added files brought, with the columns of the loaded version.

    Read from the files where they hold exactly these rows; else Delta reads them, and lists the table's files.
    """
    schema, folder_columns = _find_readable_schema(table), table.metadata().partition_columns
    files = [LiveFile(file.path, 0, None, _find_folder_values(file, folder_columns)) for file in commit.files]
    frame = None
    if schema is not None and not any(file.has_deletion_vector for file in commit.files):
        frame = _read_listed_files(session, files, path=path, schema=schema, table=table, most=len(files))
    if frame is not None:
        return frame
    frame = session.read.format("delta").option("versionAsOf", commit.version).load(path)
    file_names = ", ".join(sqltext.text(file.place.rpartition("/")[2]) for file in files)
    return frame.filter(f"_metadata.file_name IN ({file_names})")


def _find_folder_values(file: FileAction, names: Sequence[str]) -> dict[str, str | None]:
    """Values of the partition columns; empty text is null, as in Delta's protocol."""
    values = file.partition or {}
    return {name: values.get(name) or None for name in names}


def _find_readable_schema(table: DeltaTable) -> StructType | None:
    """The schema of Delta's read; None where rows or types in the files may differ from it."""
    from pyspark.sql.types import StructType

    metadata, features = table.metadata(), table.protocol().reader_features or ()
    if not _FEATURES.issuperset(features) or maps_columns(metadata.configuration):
        return None
    fields = {each["name"]: each for each in json.loads(table.schema().to_json())["fields"]}
    for field in fields.values():
        field["metadata"] = _drop_internal_metadata(field["metadata"])
    if not all(map(_is_plain, fields.values())) or "_metadata" in map(str.lower, fields):
        return None
    if any(fields[name]["type"] == "binary" for name in metadata.partition_columns):
        return None
    return StructType.fromJson({"type": "struct", "fields": [*fields.values()]})


def _drop_internal_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a column without Delta's internal keys."""
    return {key: value for key, value in metadata.items() if key != GENERATED and not key.startswith(IDENTITY)}


def _is_plain(field: Mapping[str, Any]) -> bool:
    return field["nullable"] and field["metadata"].keys() <= {"comment"} and _is_plain_type(field["type"])


def _is_plain_type(kind: str | Mapping[str, Any]) -> bool:
    """Whether the type reads the same from Parquet as from Delta; elements that may not be NULL read differently."""
    if isinstance(kind, str):
        return is_plain_type(kind)
    match kind["type"]:
        case "struct":
            return all(map(_is_plain, kind["fields"]))
        case "array":
            return kind["containsNull"] and _is_plain_type(kind["elementType"])
        case "map":
            return kind["valueContainsNull"] and all(map(_is_plain_type, (kind["keyType"], kind["valueType"])))
        case _:
            return False


def _can_list_quickly(session: SparkSession, files: Sequence[LiveFile], *, path: str) -> bool:
    """Whether Spark itself can list the files quickly, one after the other."""
    if sum(file.size for file in files) > _MOST_BYTES:
        return False
    most = _MOST_FILES if local_path(path) is not None else _MOST_REQUESTS
    return len(files) <= min(most, int(setting(session, MOST_LISTED) or 0))


def _read_listed_files(
    session: SparkSession,
    files: Sequence[LiveFile],
    *,
    path: str,
    schema: StructType,
    table: DeltaTable,
    most: int | None = None,
) -> DataFrame | None:
    """The rows of the files; None where there are more than ``most``, or too many to be faster."""
    if not files:
        return session.createDataFrame([], schema).filter("false")
    is_fast = _can_list_quickly(session, files, path=path) if most is None else len(files) <= most
    if not is_fast or any(map(_is_foreign, files)):
        return None
    folders = table.metadata().partition_columns
    groups = [files] if not folders or capabilities_of(session).names_files else _group_by_folder(files)
    if most is None and len(groups) > _MOST_GROUPS:
        return None
    frames: list[DataFrame] = []
    for group in groups:
        frame = _read_parquet(session, group, path=path, schema=schema, folders=folders)
        if frame is None:
            return None
        frames.append(frame)
    return union_all(frames)


def _is_foreign(file: LiveFile) -> bool:
    """Whether the file is outside the table's folder, as in a clone."""
    return "://" in file.path or file.path.startswith(("/", "file:"))


def _read_parquet(
    session: SparkSession, files: Sequence[LiveFile], *, path: str, schema: StructType, folders: Sequence[str]
) -> DataFrame | None:
    """The rows of the files by one read; None where Spark would not list each of them once."""
    from pyspark.errors import AnalysisException
    from pyspark.sql.types import StructType

    places = [f"{path.rstrip('/')}/{file.place}" for file in files]
    if any(map(_GLOB.search, places)):
        return None
    stored_schema = StructType([field for field in schema.fields if field.name not in folders])
    try:
        frame = session.read.schema(stored_schema).option("recursiveFileLookup", "true").parquet(*places)
        files_by_uri = _match_files_to_uris(frame.inputFiles(), files)
    except AnalysisException:  # one is not there any more: Delta's read tells
        return None
    if files_by_uri is None:
        return None
    return _add_folder_columns(frame, files_by_uri, schema=schema, folders=folders) if folders else frame


def _group_by_folder(files: Sequence[LiveFile]) -> list[list[LiveFile]]:
    """The files of each folder, whose rows have the same values of its columns."""
    groups: dict[tuple[PartitionValue, ...], list[LiveFile]] = {}
    for file in files:
        groups.setdefault(tuple(file.partition.values()), []).append(file)
    return list(groups.values())


def _match_files_to_uris(uris: Iterable[str], files: Sequence[LiveFile]) -> dict[str, LiveFile] | None:
    """The files by the names that Spark gives them; None where it did not list each of them once."""
    unmatched = {file.place: file for file in files}
    files_by_uri = {uri: unmatched.pop(_match_suffix(unquote(uri), unmatched), None) for uri in uris}
    if unmatched or None in files_by_uri.values():
        return None
    return {uri: file for uri, file in files_by_uri.items() if file is not None}


def _match_suffix(text: str, places: Mapping[str, LiveFile]) -> str:
    """The longest suffix of the text that is a known place."""
    while text and text not in places:
        text = text.partition("/")[2]
    return text


def _add_folder_columns(
    frame: DataFrame, files_by_uri: Mapping[str, LiveFile], *, schema: StructType, folders: Sequence[str]
) -> DataFrame:
    """Adds the columns that folders are named by, and puts all columns in the table's order."""
    from pyspark.sql import functions as sql

    types = {name: schema[name].dataType.simpleString() for name in folders}
    rows = {
        uri: [_format_literal(file.partition[name], types[name]) for name in folders]
        for uri, file in files_by_uri.items()
    }
    values = _build_folder_values(rows, folders)
    columns = [
        sql.expr(values[field.name]).alias(field.name, metadata=field.metadata)
        if field.name in values
        else sql.col(sqltext.name(field.name))
        for field in schema.fields
    ]
    return frame.select(*columns)


def _build_folder_values(rows: Mapping[str, Sequence[str]], folders: Sequence[str]) -> dict[str, str]:
    """SQL for the value of each partition column, looked up by the file that a row was read from.

    If all files have the same values these are constants, made nullable as Delta has them.
    """
    first, *others = rows.values()
    if all(each == first for each in others):
        return {name: f"nullif({text}, NULL)" for name, text in zip(folders, first, strict=True)}
    keys = (_hash_sql(sqltext.text(_NO_HOST.sub(r"\1:/", uri))) for uri in rows)
    entries = ", ".join(f"{key}, struct({', '.join(row)})" for key, row in zip(keys, rows.values(), strict=True))
    row = f"coalesce(map({entries})[{_hash_sql('_metadata.file_path')}], raise_error('a file of no partition'))"
    return {name: f"({row}).col{number}" for number, name in enumerate(folders, 1)}


def _hash_sql(path: str) -> str:
    """SQL for a number that stands for a path: Spark searches map keys one by one, and numbers compare faster."""
    return f"xxhash64({path})"


def _format_literal(value: PartitionValue, kind: str) -> str:
    text = log_text(value)
    return f"CAST({'NULL' if text is None else sqltext.text(text)} AS {kind})"
