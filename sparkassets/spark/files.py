"""The files of a source, pinned: which they are, whether they are still what was planned, and their rows."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sparkassets.core.partitions import EVERYTHING, PartitionSet
from sparkassets.core.patterns import PathPattern, fingerprint
from sparkassets.core.spec.model import AssetSpec, SourceSpec
from sparkassets.errors import RunError, SourceChangedError, SourceError
from sparkassets.files import list_files, rowless
from sparkassets.frozen import frozen
from sparkassets.spark import partition_values, sqltext
from sparkassets.spark.csv_headers import no_column
from sparkassets.spark.failures import run_error
from sparkassets.spark.schemas import declared_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

_GLOB_CHARACTERS = re.compile(r"([\[\]{}*?\\])")
_PATH = "__sparkassets_path"
_SCHEME = re.compile("^(?:[A-Za-z][A-Za-z0-9+.-]*:)?/*")
"""Spark writes ``file:/a`` and ``file:///a``, as the reader pleases."""
_SHOWN = 5


@frozen
class FoundFile:
    """A file that the pattern matches.

    Attributes:
        path: As Spark reads and names it, with its scheme.
        relative: To the pattern's root.
        changed: Nanoseconds since 1970.
        start: Of its slot, Unix seconds; None for a source without partitions.
    """

    path: str
    relative: str
    size: int
    changed: int
    start: int | None

    @property
    def key(self) -> str:
        """Its slot's key in the cursor of the source."""
        return "" if self.start is None else str(self.start)


@frozen
class PinnedFiles:
    """The files of one inlet as they were when the run was planned.

    Attributes:
        parts: What is read; everything reads all of it.
        seen: The source's fingerprints of that time, by slot; None where nobody has looked.
    """

    asset: AssetSpec
    parts: PartitionSet = EVERYTHING
    seen: Mapping[str, str] | None = None

    def list(self) -> list[FoundFile]:
        """The files of the pinned time, by path; slots that were not seen when the run was planned are left out.

        Raises:
            SourceError: The folder vanished or cannot be listed.
        """
        if self.asset.storage is None:
            raise SourceError(f"the source {self.asset.name!r} has no path")
        pattern = PathPattern.parse(self.asset.storage.path)
        found = list_files(pattern)
        if found is None:
            raise SourceError(f"the source {self.asset.name!r} vanished: '{pattern.root}' is no longer there")
        files = (self._file(pattern, *each) for each in found)
        kept = (file for file in files if file is not None and (self.seen is None or file.key in self.seen))
        return sorted(kept, key=lambda file: file.path)

    def check(self, files: Sequence[FoundFile]) -> None:
        """Compares files with what was observed when the run was planned.

        Raises:
            SourceChangedError: Naming the partitions that differ.
        """
        groups: dict[str, list[tuple[str, int, int]]] = defaultdict(list)
        for file in files:
            groups[file.key].append((file.relative, file.size, file.changed))
        seen = self.seen or {}
        differing = [key for key in seen if key not in groups or fingerprint(groups[key]) != seen[key]]
        if differing:
            raise SourceChangedError(
                f"the files of {self.asset.name!r} changed before they were read{self._named(differing)}",
                source=self.asset.name,
                hint="the run is planned anew with what is there; 'settle' leaves alone what is still being written",
            )

    def _file(self, pattern: PathPattern, relative: str, size: int, changed: int) -> FoundFile | None:
        text, partition, source = pattern.match(relative), self.asset.partitioning.time, self.asset.source
        if text is None or (source is not None and rowless(source.kind, size)):
            return None
        start = None
        if partition is not None and pattern.field is not None:
            slot = pattern.slot(text, partition)
            if slot is None or not self.parts.overlaps(PartitionSet.span(*slot)):
                return None
            start = slot[0]
        root = _root(pattern)
        path = root if root.endswith(f"/{relative}") and not pattern.is_pattern else f"{root}/{relative}"
        return FoundFile(path, relative, size, changed, start)

    def _named(self, keys: Sequence[str]) -> str:
        partition = self.asset.partitioning.time
        if partition is None:
            return ""
        shown = ", ".join(partition.key(int(key)) for key in sorted(keys)[:_SHOWN])
        return f": {shown}" + (", …" if len(keys) > _SHOWN else "")


def read_files(session: SparkSession, files: Sequence[FoundFile], *, asset: AssetSpec, source: SourceSpec) -> DataFrame:
    """The rows of these files, with the pattern's field as a column: a date, or for hours an instant.

    A column of that name in the files themselves gives way to it, as Spark's own partition columns do.

    Raises:
        RunError: The files do not fit the declared columns, or nothing tells the columns of no files.
    """
    try:
        frame = _rows(session, files, asset=asset, source=source)
        return _with_field(session, frame, files, asset=asset)
    except (RunError, SourceError):
        raise
    except Exception as error:
        raise run_error(error, what=f"the source {asset.name!r} cannot be read") from error


def _rows(session: SparkSession, files: Sequence[FoundFile], *, asset: AssetSpec, source: SourceSpec) -> DataFrame:
    declared = {name: kind for name, kind in asset.columns.items() if name != _field_name(asset)}
    if not files:
        if not declared:
            raise RunError(
                f"the source {asset.name!r} has no files for this run, so its columns are unknown",
                hint=f"declare the 'columns' of {asset.name!r}",
            )
        return session.createDataFrame([], declared_schema(session, declared))
    paths = [_GLOB_CHARACTERS.sub(r"\\\1", file.path) for file in files]
    options = {**_named_folders(files, asset), **_options(source)}
    reader = session.read.format(source.kind).options(**options)
    if source.kind == "csv":
        return _csv(session, reader, paths, declared, asset=asset, given=options)
    if source.kind == "json" and declared:
        reader = reader.schema(declared_schema(session, declared))
    frame = reader.load(paths)
    if source.kind == "parquet" and declared:
        _check_declared(frame, declared, session=session, asset=asset)
    return frame


def _csv(
    session: SparkSession,
    reader: DataFrameReader,
    paths: list[str],
    declared: Mapping[str, str],
    *,
    asset: AssetSpec,
    given: Mapping[str, str],
) -> DataFrame:
    """Names from the files' header, types from the declared columns, else strings."""
    if given["header"].lower() != "true":
        return (reader.schema(declared_schema(session, declared)) if declared else reader).load(paths)
    permissive = session.read.format("csv").options(**{**given, "mode": "PERMISSIVE"})
    names = permissive.load(paths[:1]).columns or permissive.load(paths).columns  # the first may be blank
    missing = [name for name in declared if name not in names]
    if missing:
        raise no_column(missing, paths, asset=asset.name, header=lambda path: permissive.load(path).columns)
    return reader.schema(declared_schema(session, {name: declared.get(name, "string") for name in names})).load(paths)


def _named_folders(files: Sequence[FoundFile], asset: AssetSpec) -> dict[str, str]:
    """Makes columns of folders such as ``country=nl`` in a source that is a folder, as Spark does for the folder."""
    if asset.storage is None or not any("/" in file.relative for file in files):
        return {}
    pattern = PathPattern.parse(asset.storage.path)
    return {} if pattern.is_pattern else {"basePath": _root(pattern)}


def _root(pattern: PathPattern) -> str:
    """As Spark reads it, with its scheme."""
    return pattern.root if "://" in pattern.root else f"file://{pattern.root}"


def _options(source: SourceSpec) -> dict[str, str]:
    """The user's options over ours: what does not parse fails the run, and headers are compared with the schema."""
    csv = {"header": "true", "enforceSchema": "false"} if source.kind == "csv" else {}
    strict = {"mode": "FAILFAST"} if source.kind in {"csv", "json"} else {}
    return {**csv, **strict, **source.options}


def _with_field(session: SparkSession, frame: DataFrame, files: Sequence[FoundFile], *, asset: AssetSpec) -> DataFrame:
    from pyspark.sql import functions as sql

    name, partition = _field_name(asset), asset.partitioning.time
    if name is None or partition is None:
        return frame
    own = [sqltext.name(column) for column in frame.columns if column.lower() != name.lower()]
    starts = {file.start or 0 for file in files}
    if len(starts) <= 1:
        only = partition_values.literal(partition, starts.pop()) if starts else "NULL"
        kind = "TIMESTAMP" if partition.by == "hour" else "DATE"
        return frame.selectExpr(*own, f"CAST({only} AS {kind}) AS {sqltext.name(name)}")
    import pyarrow as pa

    paths = pa.array([_SCHEME.sub("", file.path) for file in files])
    values = [partition_values.value(partition, file.start or 0) for file in files]
    kinds = partition_values.arrow_type(partition)
    slots = session.createDataFrame(pa.table({_PATH: paths, name: pa.array(values, kinds)}))
    encoded = sql.replace(sql.col("_metadata.file_path"), sql.lit("+"), sql.lit("%2B"))
    read_from = sql.regexp_replace(sql.url_decode(encoded), _SCHEME.pattern, "")
    unlisted = sql.raise_error(sql.concat(sql.lit("a file that was not listed was read: "), sql.col(_PATH)))
    return (
        frame.select(*own, read_from.alias(_PATH))
        .join(sql.broadcast(slots), _PATH, "left")
        .select(*own, sql.coalesce(sql.col(sqltext.name(name)), unlisted).alias(name))
    )


def _check_declared(frame: DataFrame, declared: Mapping[str, str], *, session: SparkSession, asset: AssetSpec) -> None:
    actual = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    for field in declared_schema(session, declared).fields:
        wanted = field.dataType.simpleString()
        if actual.get(field.name) != wanted:
            found = actual.get(field.name, "not there")
            raise RunError(f"the column {field.name!r} of {asset.name!r} is declared as {wanted}, but it is {found}")


def _field_name(asset: AssetSpec) -> str | None:
    fields = PathPattern.parse(asset.storage.path).fields if asset.storage is not None else ()
    return fields[0] if fields else None
