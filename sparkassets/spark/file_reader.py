"""Reads the files of sources, with the fields of their paths."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from sparkassets.core.patterns import FileSlot
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.path_columns import path_columns
from sparkassets.core.spec.source_views import source_pattern
from sparkassets.core.suggestions import suggest_close
from sparkassets.errors import RunError
from sparkassets.spark.capabilities import capabilities_of, union_all
from sparkassets.spark.failures import explain_errors
from sparkassets.spark.path_fields import PATH_COLUMN, add_path_fields, join_path_fields
from sparkassets.spark.pinned_files import FoundFile, find_root
from sparkassets.spark.reader_gaps import (
    check_headers,
    default_options,
    escape_pattern,
    format_paths,
    group_files,
    load_typed,
    read_linked,
    refuse_folder_columns,
)
from sparkassets.spark.schemas import declared_schema

if TYPE_CHECKING:
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


def read_files(session: SparkSession, files: Sequence[FoundFile], *, asset: AssetSpec) -> DataFrame:
    """The rows of these files, with the pattern's fields as columns.

    The field of time is a date, or for hours an instant; segments are strings, or of their declared types. Columns
    of these names in the files are replaced by them, as by Spark's own partition columns.

    Raises:
        RunError: The files do not fit the declared columns, or there are no files and no declared columns.
    """
    options = reader_options(asset)
    with explain_errors(what=f"the source {asset.name!r} cannot be read"):
        is_alike = check_headers(session, files, asset=asset, options=options)
        first, *others = group_files(session, files, asset=asset)
        rows = _read_rows(session, first, asset=asset, options=options)
        frames = [add_path_fields(session, rows, first, asset=asset)]
        schema = rows.schema if others and is_alike and asset.file_format.columns != "own" else None
        if schema is not None:
            linked = read_linked(session, files, schema, asset=asset, options=options, name=PATH_COLUMN)
            if linked is not None:
                return join_path_fields(session, linked, files, asset=asset, columns=schema.names)
        for group in others:
            rows = _read_rows(session, group, asset=asset, options=options, schema=schema)
            frames.append(add_path_fields(session, rows, group, asset=asset, schema=schema))
        return union_all(frames)


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
        return _make_no_rows(session, declared, asset=asset)
    paths = format_paths(session, files, asset=asset.name)
    base_path = _find_base_path(files, asset)
    if base_path and not capabilities_of(session).names_folders:
        refuse_folder_columns(files, asset=asset.name)
    file_format = asset.file_format
    options = {**default_options(session, file_format.reader), **base_path, **options}
    reader = session.read.format(file_format.reader).options(**options)
    if schema is not None:
        return load_typed(session, reader, schema, paths, options=options)
    if file_format.has_header(options):
        return _read_with_header(session, reader, paths, declared, asset=asset, options=options)
    has_own_columns = file_format.columns == "own"
    if declared and not has_own_columns:
        frame = load_typed(session, reader, declared_schema(session, declared), paths, options=options)
    else:
        frame = reader.load(paths)
    if file_format.expressions:
        frame = frame.selectExpr(*file_format.expressions)
    if declared and has_own_columns:
        _check_declared(frame, declared, session=session, asset=asset)
    return frame


def _make_no_rows(session: SparkSession, declared: Mapping[str, str], *, asset: AssetSpec) -> DataFrame:
    if not asset.columns:
        raise RunError(
            f"the source {asset.name!r} has no files for this run, so its columns are unknown",
            hint=f"declare the 'columns' of {asset.name!r}",
        )
    return session.createDataFrame([], declared_schema(session, declared))


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
