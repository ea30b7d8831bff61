"""Reads files of sources: those that a run has pinned, and CSV or JSON for values in them."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from sparkassets.core.partitions import Partitioning, PartitionSet
from sparkassets.core.patterns import FileSlot
from sparkassets.core.phrases import escape_unwritable
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.source import path_columns
from sparkassets.core.spec.source_views import source_pattern
from sparkassets.core.suggestions import suggest_close
from sparkassets.delta.file_parts import FileParts
from sparkassets.delta.partition_columns import columns_of
from sparkassets.errors import RunError, SourceError
from sparkassets.ports import FileContent
from sparkassets.spark import predicates, sqltext
from sparkassets.spark.capabilities import capabilities_of, union_all
from sparkassets.spark.failures import first_line, run_error
from sparkassets.spark.pinned_files import FoundFile, PinnedFiles, find_root
from sparkassets.spark.reader_gaps import (
    check_headers,
    escape_pattern,
    format_paths,
    group_files,
    load_typed,
    read_linked,
    refuse_folder_columns,
)
from sparkassets.spark.row_partitions import RowParts
from sparkassets.spark.schemas import declared_schema
from sparkassets.spark.versions import from_arrow
from sparkassets.spark.workplace import SparkWorkplace

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.types import StructType

_SEPARATORS = {";": "';'", "\t": '"\\t"', "|": "'|'", ",": "','"}
_MOST_FILES = 20
"""How many headers are read to find the file; each takes a job."""


def missing_column_error(
    missing: Sequence[str], paths: Sequence[str], *, asset: str, header: Callable[[str], Sequence[str]]
) -> RunError:
    """The error for files that lack declared columns.

    Args:
        missing: Declared columns that Spark found in no header.
        paths: Of the files.
        asset: The source.
        header: Reads the columns of one file.
    """
    file, columns = paths[0], header(paths[0])
    for path in paths[1:_MOST_FILES]:
        if not set(missing) - set(columns):
            file, columns = path, header(path)
    absent = [name for name in missing if name not in columns] or list(missing)
    shown = ", ".join(map(repr, absent))
    refusal = RunError(
        f"the file {file.removeprefix('file://')} of {asset!r} has no column {shown} in its header of "
        f"{len(columns)} column{'' if len(columns) == 1 else 's'}",
        hint=_suggest_fix(absent[0], columns),
    )
    refusal.is_data_error = True
    refusal.files = (file,)
    return refusal


def _suggest_fix(name: str, columns: Sequence[str]) -> str | None:
    if len(columns) == 1:
        separator_counts = {
            separator: columns[0].count(separator) for separator in _SEPARATORS if separator in columns[0]
        }
        if separator_counts:
            separator = max(separator_counts, key=lambda each: separator_counts[each])
            return f"the separator is probably {_SEPARATORS[separator]}: options: {{sep: {_SEPARATORS[separator]}}}"
    return suggest_close(name, columns)


_PATH = "__sparkassets_path"
_SCHEME = re.compile("^(?:[A-Za-z][A-Za-z0-9+.-]*:)?/*")
"""Spark writes ``file:/a`` or ``file:///a``, depending on the reader."""


def without_scheme(path: str) -> str:
    """A local path without its scheme, however Spark writes that; for comparison.

    >>> without_scheme("file:///a/b.csv") == without_scheme("file:/a/b.csv") == "a/b.csv"
    True
    """
    return _SCHEME.sub("", path)


def read_files(session: SparkSession, files: Sequence[FoundFile], *, asset: AssetSpec) -> DataFrame:
    """The rows of these files, with the pattern's fields as columns.

    The field of time is a date, or for hours an instant; segments are strings, or of their declared types. Columns
    of these names in the files are replaced by them, as by Spark's own partition columns.

    Raises:
        RunError: The files do not fit the declared columns, or there are no files and no declared columns.
    """
    options = reader_options(asset)
    try:
        is_alike = check_headers(session, files, asset=asset, options=options)
        first, *others = group_files(session, files, asset=asset)
        rows = _read_rows(session, first, asset=asset, options=options)
        frames = [_add_path_fields(session, rows, first, asset=asset)]
        schema = rows.schema if others and is_alike and asset.file_format.columns != "own" else None
        if schema is not None:
            linked = read_linked(session, files, schema, asset=asset, options=options, name=_PATH)
            if linked is not None:
                return _join_path_fields(session, linked, files, asset=asset, columns=schema.names)
        for group in others:
            rows = _read_rows(session, group, asset=asset, options=options, schema=schema)
            frames.append(_add_path_fields(session, rows, group, asset=asset, schema=schema))
        return union_all(frames)
    except (RunError, SourceError):
        raise
    except Exception as error:
        raise run_error(error, what=f"the source {asset.name!r} cannot be read") from error


def read_leniently(session: SparkSession, files: Sequence[FoundFile], *, asset: AssetSpec) -> DataFrame:
    """The rows of text files without the fields of their paths; values that cannot be parsed are NULL.

    For looking at values only: a run reads by `read_files`, which fails where the author's options say so.

    Raises:
        RunError: The files lack declared columns.
        Exception: Whatever Spark says.
    """
    options = {key: value for key, value in reader_options(asset).items() if value.upper() != "FAILFAST"}
    return _read_rows(session, files, asset=asset, options={"mode": "PERMISSIVE", **options})


def _read_rows(
    session: SparkSession,
    files: Sequence[FoundFile],
    *,
    asset: AssetSpec,
    options: Mapping[str, str],
    schema: StructType | None = None,
) -> DataFrame:
    """The rows of the files without the columns of their paths; no rows, in the declared columns, without files.

    ``schema`` is theirs, where it is known already.

    Raises:
        RunError: There are no files and no declared columns, or the files do not fit the declared ones.
    """
    fields = path_columns(asset)
    declared = {name: kind for name, kind in asset.column_types.items() if name not in fields}
    if not files:
        if not asset.columns:
            raise RunError(
                f"the source {asset.name!r} has no files for this run, so its columns are unknown",
                hint=f"declare the 'columns' of {asset.name!r}",
            )
        return session.createDataFrame([], declared_schema(session, declared))
    paths = format_paths(session, files, asset=asset.name)
    base_path = _find_base_path(files, asset)
    if base_path and not capabilities_of(session).names_folders:
        refuse_folder_columns(files, asset=asset.name)
    file_format = asset.file_format
    defaults = capabilities_of(session).csv_options if file_format.reader == "csv" else {}
    options = {**defaults, **base_path, **options}
    reader = session.read.format(file_format.reader).options(**options)
    if schema is not None:
        return load_typed(session, reader, schema, paths, options=options)
    if file_format.has_header(options):
        return _read_with_header(session, reader, paths, declared, asset=asset, options=options)
    if file_format.columns != "own" and declared:
        frame = load_typed(session, reader, declared_schema(session, declared), paths, options=options)
    else:
        frame = reader.load(paths)
    if file_format.expressions:
        frame = frame.selectExpr(*file_format.expressions)
    if file_format.columns == "own" and declared:
        _check_declared(frame, declared, session=session, asset=asset)
    return frame


def _read_with_header(
    session: SparkSession,
    reader: DataFrameReader,
    paths: list[str],
    declared: Mapping[str, str],
    *,
    asset: AssetSpec,
    options: Mapping[str, str],
) -> DataFrame:
    """The rows with the columns of the files' header; undeclared columns are strings.

    Raises:
        RunError: A declared column is in no header.
    """
    lenient_reader = session.read.format(asset.file_format.reader).options(**{**options, "mode": "PERMISSIVE"})
    names = lenient_reader.load(paths[:1]).columns or lenient_reader.load(paths).columns  # the first may be blank
    if not names and declared:
        return session.createDataFrame([], declared_schema(session, declared))
    missing = [name for name in declared if name not in names]
    if missing:
        raise missing_column_error(
            missing, paths, asset=asset.name, header=lambda path: lenient_reader.load(path).columns
        )
    schema = declared_schema(session, {name: declared.get(name, "string") for name in names})
    return load_typed(session, reader, schema, paths, options=options)


def group_by_glob(files: Sequence[FoundFile]) -> list[tuple[str, FileSlot]]:
    """Paths as Spark takes patterns, which together stand for these files alone, each with the slot of its files.

    Files of one slot share a pattern, unless their names hold what means something in one.
    """
    by_slot: defaultdict[FileSlot, list[FoundFile]] = defaultdict(list)
    for file in files:
        by_slot[file.slot].append(file)
    patterns: list[tuple[str, FileSlot]] = []
    for slot, found in by_slot.items():
        root = escape_pattern(found[0].path.removesuffix(found[0].relative))
        names = [file.relative for file in found]
        if len(names) > 1 and not any("," in name or escape_pattern(name) != name for name in names):
            names = [f"{{{','.join(names)}}}"]
        else:
            names = [*map(escape_pattern, names)]
        patterns += [(root + name, slot) for name in names]
    return patterns


def _find_base_path(files: Sequence[FoundFile], asset: AssetSpec) -> dict[str, str]:
    """The option that makes columns of folders such as ``country=nl``, for a source that is a folder; else empty."""
    if not any("/" in file.relative for file in files):
        return {}
    pattern = source_pattern(asset)
    return {} if pattern.is_pattern else {"basePath": find_root(pattern)}


def reader_options(asset: AssetSpec) -> dict[str, str]:
    """The options of the format, then the author's; a registered format has the author's in its own options already."""
    written = asset.source.options if asset.source is not None and asset.source.registered is None else {}
    return {**asset.file_format.options, **written}


def _add_path_fields(
    session: SparkSession,
    frame: DataFrame,
    files: Sequence[FoundFile],
    *,
    asset: AssetSpec,
    schema: StructType | None = None,
) -> DataFrame:
    """The rows with the fields of their file's path as columns, in place of columns of the same names.

    ``schema`` is that of the rows, where it is known already.

    If all files have the same fields these are constants. Otherwise each row is joined to its file by Spark's
    ``_metadata.file_path``, which is encoded as a URL; a file that was not listed fails the job.
    """
    from pyspark.sql import functions as sql

    fields = path_columns(asset)
    if not fields:
        return frame
    columns = frame.columns if schema is None else schema.names
    other_columns = _name_other_columns(columns, fields)
    slots = {file.slot for file in files}
    if len(slots) <= 1:
        literals = field_literals(slots.pop() if slots else None, asset)
        constants = [f"CAST({literals[name]} AS {kind}) AS {sqltext.name(name)}" for name, kind in fields.items()]
        return frame.selectExpr(*other_columns, *constants)
    table = _make_field_table(session, [without_scheme(file.path) for file in files], files, asset)
    encoded = sql.replace(sql.col("_metadata.file_path"), sql.lit("+"), sql.lit("%2B"))
    read_from = sql.regexp_replace(sql.url_decode(encoded), _SCHEME.pattern, "")
    unlisted = sql.raise_error(sql.concat(sql.lit("a file that was not listed was read: "), sql.col(_PATH)))
    field_columns = [
        sql.coalesce(sql.col(sqltext.name(name)), unlisted).cast(kind.lower()).alias(name)
        for name, kind in fields.items()
    ]
    return (
        frame.select(*other_columns, read_from.alias(_PATH))
        .join(sql.broadcast(table), _PATH, "left")
        .select(*other_columns, *field_columns)
    )


def _join_path_fields(
    session: SparkSession, linked: DataFrame, files: Sequence[FoundFile], *, asset: AssetSpec, columns: Sequence[str]
) -> DataFrame:
    """The rows of `read_linked`, which have these ``columns``, with the fields of their file's path as columns."""
    from pyspark.sql import functions as sql

    fields = path_columns(asset)
    table = _make_field_table(session, [*map(str, range(len(files)))], files, asset)
    added = [sql.col(sqltext.name(name)).cast(kind.lower()).alias(name) for name, kind in fields.items()]
    others = _name_other_columns(columns, fields)
    return linked.select(*others, _PATH).join(sql.broadcast(table), _PATH).select(*others, *added)


def _name_other_columns(columns: Sequence[str], fields: Collection[str]) -> list[str]:
    """The columns, as SQL, that no field of the path replaces."""
    replaced = {name.lower() for name in fields}
    return [sqltext.name(column) for column in columns if column.lower() not in replaced]


def _make_field_table(
    session: SparkSession, keys: Sequence[str], files: Sequence[FoundFile], asset: AssetSpec
) -> DataFrame:
    """The fields of each file's path, beside a key for each file."""
    import pyarrow as pa

    fields = _build_field_arrays([file.slot for file in files], asset)
    return from_arrow(session, pa.table({_PATH: pa.array(keys, pa.string()), **fields}))


def field_literals(slot: FileSlot | None, asset: AssetSpec) -> dict[str, str]:
    """SQL for the value of each field of the path; NULL without a slot."""
    fields, time = path_columns(asset), asset.path_partitioning.time
    if slot is None:
        return dict.fromkeys(fields, "NULL")
    texts = map(sqltext.text, slot.segment)
    segments = dict(zip(asset.path_partitioning.segment_columns, texts, strict=True))
    if time is None or slot.start is None:
        return segments
    return {next(iter(fields)): predicates.literal(time, slot.start), **segments}


def _build_field_arrays(slots: Sequence[FileSlot], asset: AssetSpec) -> dict[str, pa.Array]:
    """The values of each field as a column, a row for each of ``slots``."""
    import pyarrow as pa

    fields, time = path_columns(asset), asset.path_partitioning.time
    columns = enumerate(asset.path_partitioning.segment_columns)
    segments = {column: pa.array([slot.segment[index] for slot in slots], pa.string()) for index, column in columns}
    if time is None:
        return segments
    starts = [predicates.column_value(time, slot.start or 0) for slot in slots]
    return {next(iter(fields)): pa.array(starts, predicates.arrow_type(time)), **segments}


def _check_declared(frame: DataFrame, declared: Mapping[str, str], *, session: SparkSession, asset: AssetSpec) -> None:
    """Refuses files that carry their own types, such as Parquet, where a type is not the declared one."""
    actual = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    for field in declared_schema(session, declared).fields:
        wanted = field.dataType.simpleString()
        if actual.get(field.name) != wanted:
            actual_type = actual.get(field.name, "not there")
            raise RunError(
                f"the column {field.name!r} of {asset.name!r} is declared as {wanted}, but it is {actual_type}"
            )


class SparkTextFileReader:
    """Finds the partitions of values in CSV and JSON files; implements `ports.TextFileReader`.

    Args:
        workplace: Returns the session to read in; None until somebody needs Spark.
    """

    def __init__(self, workplace: Callable[[], SparkWorkplace | None]) -> None:
        self._workplace = workplace

    def read_contents(
        self, asset: AssetSpec, view: Partitioning, paths: Sequence[str]
    ) -> Mapping[str, FileContent] | None:
        """The partitions of the rows in each file, by its path; None without a session.

        Raises:
            SourceError: A file is gone, cannot be read, or lacks a column.
        """
        workplace = self._workplace()
        if workplace is None:
            return None
        files = {each.relative: each for each in PinnedFiles(asset).list_files()}
        if missing := [path for path in paths if path not in files]:
            raise SourceError(
                f"the file '{escape_unwritable(missing[0])}' of the source '{asset.name}' disappeared while it was read"
            )
        with workplace.enter_session(asset) as session:
            return _find_contents(session, asset, view, [files[path] for path in paths])


def _find_contents(
    session: SparkSession, asset: AssetSpec, view: Partitioning, files: Sequence[FoundFile]
) -> Mapping[str, FileContent]:
    """The partitions of the rows in each file, from one job for all.

    If that fails, the files are read one by one: their headers may differ, or one is broken, which the error then
    names.
    """
    try:
        return dict(_read_together(session, asset, view, files))
    except Exception as error:
        if len(files) > 1:
            return {
                path: content
                for file in files
                for path, content in _find_contents(session, asset, view, [file]).items()
            }
        path = escape_unwritable(files[0].relative)
        if isinstance(error, SourceError | RunError):
            raise SourceError(f"{error.args[0]} (in the file '{path}')", hint=error.hint) from error
        raise SourceError(
            f"the file '{path}' of the source '{asset.name}' cannot be read: {first_line(error)}",
            hint="remove it or write it again; 'settle' skips files that are still being written",
        ) from error


def _read_together(
    session: SparkSession, asset: AssetSpec, view: Partitioning, files: Sequence[FoundFile]
) -> Iterator[tuple[str, FileContent]]:
    """The relative path and the content of each file, from one Spark job over all of them.

    Only distinct values of the partition columns are collected; columns that the paths tell are not read at all.
    """
    fields = asset.path_partitioning.segment_columns
    in_path = [column for column in view.columns if column in fields]
    frame = read_leniently(session, files, asset=asset)
    schema = _select_schema(frame, asset, view, in_path)
    values: defaultdict[str, list[Sequence[Any]]] = defaultdict(list)
    if frame.inputFiles():
        rows = RowParts(_make_parts(schema, asset, view))
        for file, *found in (
            _select_named(session, rows, frame, files, asset=asset, constant=in_path).distinct().collect()
        ):
            values[without_scheme(unquote(file))].append(found)
    for each in files:
        rows, given = RowParts(_make_parts(schema, asset, view)), dict(zip(fields, each.slot.segment, strict=True))
        segments = enumerate(view.segment_columns)
        fixed = {number: given[column] for number, column in segments if column in in_path}
        cells = (
            rows.find_cell([fixed.get(number, value) for number, value in enumerate(found)])
            for found in values[without_scheme(each.path)]
        )
        parts = PartitionSet.from_slots([cell for cell in cells if cell is not None])
        yield (
            each.relative,
            FileContent(parts, {column: sorted(some) for column, some in rows.file_parts.ignored_values.items()}),
        )


def _select_named(
    session: SparkSession,
    rows: RowParts,
    frame: DataFrame,
    files: Sequence[FoundFile],
    *,
    asset: AssetSpec,
    constant: Sequence[str],
) -> DataFrame:
    """For each row of the files, all of which are in ``frame``, its file and the columns that tell its partition."""
    if capabilities_of(session).names_files:
        return rows.select(frame, constant=constant)
    return union_all(
        [
            rows.select(
                read_leniently(session, [file], asset=asset), constant=constant, file=sqltext.text(quote(file.path))
            )
            for file in files
        ]
    )


def _make_parts(schema: str, asset: AssetSpec, view: Partitioning) -> FileParts:
    return FileParts.from_columns(columns_of(schema, view, source=asset.name), view)


def _select_schema(frame: DataFrame, asset: AssetSpec, view: Partitioning, in_path: Sequence[str]) -> str:
    """The declared or requested columns, as JSON; case is ignored, as in Spark.

    Other columns are never shown in an error about a missing one.
    """
    requested = {column.lower(): column for column in view.columns}
    known = {*map(str.lower, asset.listed_columns), *requested}
    types = {field["name"]: field["type"] for field in json.loads(frame.schema.json())["fields"]}
    selected = {requested.get(name.lower(), name): kind for name, kind in types.items() if name.lower() in known}
    selected |= dict.fromkeys(in_path, "string")
    return json.dumps({"fields": [{"name": name, "type": kind, "metadata": {}} for name, kind in selected.items()]})
