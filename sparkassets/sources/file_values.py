"""The partitions of one Parquet file of a source, by the values of its columns.

Reads only its footer if the statistics suffice, else the columns of partitions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import quote

from sparkassets.core.partitions import Partitioning, PartitionSet, Segment
from sparkassets.core.phrases import escape_unwritable
from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.file_parts import Cell, FileParts
from sparkassets.delta.live_files import open_file
from sparkassets.delta.partition_columns import columns_of
from sparkassets.errors import SourceError
from sparkassets.frozen import frozen
from sparkassets.ports import FileContent

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

_PHYSICAL = "delta.columnMapping.physicalName"
_SYNONYMS = {"timestamp_ltz": "timestamp"}
_DELTA_TYPES = {
    "date32[day]": "date",
    "string": "string",
    "large_string": "string",
    "bool": "boolean",
    "int8": "byte",
    "int16": "short",
    "int32": "integer",
    "int64": "long",
}


@frozen
class FileValues:
    """Reads files of a source for the partitions of a view.

    Attributes:
        root: The root of its files' paths; for a single file its folder.
    """

    asset: AssetSpec
    view: Partitioning
    root: str

    def read_content(self, path: str, segment: Segment) -> FileContent:
        """The partitions of the file's rows.

        Args:
            path: Relative to the root.
            segment: The segments that its path tells.

        Raises:
            SourceError: It cannot be read, or lacks a column.
        """
        fields = dict(zip(self.asset.path_partitioning.segment_columns, segment, strict=True))
        types = {column: fields[column] for column in self.view.columns if column in fields}
        try:
            with closing(self._open(path)) as stream:
                parts, cells = self._read_cells(stream, types)
        except SourceError as error:
            raise SourceError(f"{error.args[0]} (in the file '{escape_unwritable(path)}')", hint=error.hint) from error
        except (OSError, ValueError, EOFError) as error:
            reason = str(error).partition("\n")[0]
            raise SourceError(
                f"the file '{escape_unwritable(path)}' of the source '{self.asset.name}' cannot be read: {reason}",
                hint="remove it or write it again; 'settle' skips files that are still being written",
            ) from error
        excluded = {column: sorted(values) for column, values in parts.ignored_values.items()}
        return FileContent(PartitionSet.from_slots(cells), excluded)

    def _open(self, path: str) -> BinaryIO:
        return open_file(self.root, quote(path))

    def _make_parts(self, columns: Mapping[str, str], types: Mapping[str, str]) -> FileParts:
        """Maps rows with these columns to partitions; case is ignored, as in Spark.

        Raises:
            SourceError: A column of the view is missing, or its type tells no partition.
        """
        view_columns = {column.lower(): column for column in self.view.columns}
        fields = [
            {
                "name": view_columns.get(name.lower(), name),
                "type": _SYNONYMS.get(kind, kind),
                "metadata": {_PHYSICAL: name},
            }
            for name, kind in ({**columns, **dict.fromkeys(types, "string")}).items()
        ]
        schema = json.dumps({"fields": fields})
        return FileParts.from_columns(columns_of(schema, self.view, source=self.asset.name), self.view)

    def _read_cells(self, stream: BinaryIO, types: Mapping[str, str]) -> tuple[FileParts, list[Cell]]:
        """The partition of each distinct combination of values in the file, and what noted values of no partition."""
        from pyarrow.parquet import ParquetFile

        from sparkassets.delta.rows import RowRequest, count_file_rows

        with ParquetFile(stream, coerce_int96_timestamp_unit="us") as file:
            parts = self._make_parts(_column_types(file), types)
            path_segments = tuple(types.get(each.name) for each in parts.columns.segments)
            rows = count_file_rows(file, RowRequest(parts.columns, self.view.time, None, path_segments), parts.times)
        cells: list[Cell] = []
        for (values, span), count in rows.items():
            segment = parts.segment_of(values) if parts.segments else ()
            cells += [(segment, span)] if count and segment is not None else []
        return parts, cells


def _column_types(file: ParquetFile) -> dict[str, str]:
    """The types of a file's columns, as Spark reads them and Delta names them."""
    int96_columns = {
        file.schema.column(index).name
        for index in range(len(file.schema))
        if file.schema.column(index).physical_type == "INT96"
    }
    types = {}
    for field in file.schema_arrow:
        text = str(getattr(field.type, "value_type", field.type))
        if text.startswith("timestamp"):
            text = "timestamp" if "tz=" in text or field.name in int96_columns else "timestamp_ntz"
        elif text.startswith("decimal128"):
            text = text.replace("decimal128", "decimal").replace(" ", "")
        types[str(field.name)] = _DELTA_TYPES.get(text, text)
    return types
