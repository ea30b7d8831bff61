"""The partitions of values in CSV and JSON files, which only Spark reads."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from sparkassets.core.partitions import Partitioning, PartitionSet
from sparkassets.core.phrases import escape_unwritable
from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.file_parts import FileParts
from sparkassets.delta.partition_columns import columns_of
from sparkassets.errors import RunError, SourceError
from sparkassets.ports import FileContent
from sparkassets.spark import sqltext
from sparkassets.spark.capabilities import capabilities_of, union_all
from sparkassets.spark.failures import first_line
from sparkassets.spark.file_reader import read_leniently
from sparkassets.spark.path_fields import without_scheme
from sparkassets.spark.pinned_files import FoundFile, PinnedFiles
from sparkassets.spark.row_partitions import RowParts
from sparkassets.spark.workplace import SparkWorkplace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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
        named = _select_named(session, rows, frame, files, asset=asset, constant=in_path)
        for file, *found in named.distinct().collect():
            values[without_scheme(unquote(file))].append(found)
    for each in files:
        rows, given = RowParts(_make_parts(schema, asset, view)), dict(zip(fields, each.slot.segment, strict=True))
        fixed = {number: given[column] for number, column in enumerate(view.segment_columns) if column in in_path}
        yield each.relative, _find_content(rows, values[without_scheme(each.path)], fixed)


def _find_content(rows: RowParts, found: Iterable[Sequence[Any]], fixed: Mapping[int, str]) -> FileContent:
    """The partitions of a file's distinct values, some of which its path fixes: by their numbers."""
    cells = (rows.find_cell([fixed.get(number, value) for number, value in enumerate(values)]) for values in found)
    parts = PartitionSet.from_slots([cell for cell in cells if cell is not None])
    return FileContent(parts, {column: sorted(some) for column, some in rows.file_parts.ignored_values.items()})


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
