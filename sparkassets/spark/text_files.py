"""The partitions of the rows in CSV and JSON files, as Spark reads them: the one reader of text, for looks and runs."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from sparkassets.core.partitions import Partitioning, PartitionSet
from sparkassets.core.phrases import escape_unwritable
from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.columns import columns_of
from sparkassets.delta.file_parts import FileParts
from sparkassets.errors import RunError, SourceError
from sparkassets.ports import FileContent
from sparkassets.spark.failures import first_line
from sparkassets.spark.pinned_files import FoundFile, PinnedFiles, read_leniently, without_scheme
from sparkassets.spark.row_parts import RowParts
from sparkassets.spark.workplace import SparkWorkplace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SparkTextFileReader:
    """Implements `ports.TextFileReader`.

    Args:
        workplace: Gives where to read, None as long as nobody has asked for Spark.
    """

    def __init__(self, workplace: Callable[[], SparkWorkplace | None]) -> None:
        self._workplace = workplace

    def read_contents(
        self, asset: AssetSpec, view: Partitioning, paths: Sequence[str]
    ) -> Mapping[str, FileContent] | None:
        """What each file holds; None without a session.

        Raises:
            SourceError: A file cannot be read, or lacks a column.
        """
        workplace = self._workplace()
        if workplace is None:
            return None
        listed = {each.relative: each for each in PinnedFiles(asset).list_files()}
        if gone := [path for path in paths if path not in listed]:
            raise SourceError(
                f"the file '{escape_unwritable(gone[0])}' of the source '{asset.name}' went while it was looked at"
            )
        with workplace.enter_session(asset) as session:
            return _contents(session, asset, view, [listed[path] for path in paths])


def _contents(
    session: SparkSession, asset: AssetSpec, view: Partitioning, files: Sequence[FoundFile]
) -> Mapping[str, FileContent]:
    """What the files hold, read in one job; one by one where headers differ, or to name a file that is broken."""
    try:
        return dict(_together(session, asset, view, files))
    except Exception as error:
        if len(files) > 1:
            return {path: found for file in files for path, found in _contents(session, asset, view, [file]).items()}
        path = escape_unwritable(files[0].relative)
        if isinstance(error, SourceError | RunError):
            raise SourceError(f"{error.args[0]} (in the file '{path}')", hint=error.hint) from error
        raise SourceError(
            f"the file '{path}' of the source '{asset.name}' cannot be read: {first_line(error)}",
            hint="take it away or write it again; 'settle' leaves alone what is still being written",
        ) from error


def _together(
    session: SparkSession, asset: AssetSpec, view: Partitioning, files: Sequence[FoundFile]
) -> Iterator[tuple[str, FileContent]]:
    fields = asset.path_partitioning.segment_columns
    in_path = [column for column in view.columns if column in fields]
    frame = read_leniently(session, files, asset=asset)
    schema = _schema(frame, asset, view, in_path)
    values: defaultdict[str, list[Sequence[Any]]] = defaultdict(list)
    if frame.inputFiles():
        rows = RowParts(_parts(schema, asset, view))
        for file, *found in rows.select(frame, constant=in_path).distinct().collect():
            values[without_scheme(unquote(file))].append(found)
    for each in files:
        rows, given = RowParts(_parts(schema, asset, view)), dict(zip(fields, each.slot.segment, strict=True))
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


def _parts(schema: str, asset: AssetSpec, view: Partitioning) -> FileParts:
    return FileParts.from_columns(columns_of(schema, view, source=asset.name), view)


def _schema(frame: DataFrame, asset: AssetSpec, view: Partitioning, in_path: Sequence[str]) -> str:
    """The columns that are declared or asked for, as JSON; upper and lower case are the same, as in Spark.

    Others of the files are not shown to anybody who asks for one that is not there.
    """
    asked = {column.lower(): column for column in view.columns}
    known = {*map(str.lower, asset.columns), *asked}
    kinds = {field["name"]: field["type"] for field in json.loads(frame.schema.json())["fields"]}
    found = {asked.get(name.lower(), name): kind for name, kind in kinds.items() if name.lower() in known}
    found |= dict.fromkeys(in_path, "string")
    return json.dumps({"fields": [{"name": name, "type": kind, "metadata": {}} for name, kind in found.items()]})
