"""Files for sessions whose readers do otherwise than Spark's: paths, headers, texts of NULL, columns of folders."""

from __future__ import annotations

import re
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sparkassets.core.patterns import FileSlot
from sparkassets.core.phrases import escape_unwritable
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.path_columns import path_columns
from sparkassets.errors import RunError
from sparkassets.spark import sqltext
from sparkassets.spark.capabilities import capabilities_of
from sparkassets.spark.failures import describe_header_difference
from sparkassets.spark.pinned_files import FoundFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.types import StructType

_PLAIN_OPTIONS: Final = frozenset(["enforceSchema", "escape", "header", "mode", "nullValue", "sep"])
"""Options of CSV readers, as `FileFormat` and authors have them, by which the first line is the header."""
_MOST_BYTES: Final = 65_536
_GLOB_CHARACTERS = re.compile(r"([\[\]{}*?\\])")


def group_files(session: SparkSession, files: Sequence[FoundFile], *, asset: AssetSpec) -> list[Sequence[FoundFile]]:
    """The files that are read at once: all, or those with equal fields of paths where rows do not name their files."""
    if not path_columns(asset) or not files or capabilities_of(session).names_files:
        return [files]
    groups: dict[FileSlot, list[FoundFile]] = {}
    for file in files:
        groups.setdefault(file.slot, []).append(file)
    return list(groups.values())


def default_options(session: SparkSession, reader: str) -> Mapping[str, str]:
    """What a reader of the session needs to read files as Spark does."""
    return capabilities_of(session).csv_options if reader == "csv" else {}


def _link_files(paths: Sequence[str], *, name: str, ending: str) -> Path | None:
    """A new folder with a folder for each file, named by its number, that holds a link; None where none can be made."""
    folder = Path(tempfile.mkdtemp(prefix="sparkassets-links-"))
    try:
        for number, path in enumerate(paths):
            (folder / f"{name}={number}").mkdir()
            (folder / f"{name}={number}" / f"{number}.{ending}").symlink_to(path)
    except OSError:  # not every system lets everyone make links
        shutil.rmtree(folder, ignore_errors=True)
        return None
    return folder


def read_linked(
    session: SparkSession,
    files: Sequence[FoundFile],
    schema: StructType,
    *,
    asset: AssetSpec,
    options: Mapping[str, str],
    name: str,
) -> DataFrame | None:
    """The rows of files with the same columns, from one scan; None where it might give others, or not all are local.

    The column ``name`` has the number of each row's file: a session that does not name files has columns for folders'
    names, so a folder for each number holds a link to its file. The union of a scan for each of a hundred files takes
    ten times as long. CSV is read without a schema, as it would lack that column with one, so all columns are texts.
    """
    from pyspark.sql.types import StringType, StructField

    reader = asset.file_format.reader
    is_text = "nullvalue" not in map(str.lower, options) and all(
        field.dataType.simpleString() == "string" for field in schema.fields
    )
    is_readable = reader == "json" or (is_text and asset.file_format.has_header(options))
    paths = [file.path.removeprefix("file://") for file in files]
    if not is_readable or name in schema.names or not all(map(partial(_can_link, ending=f".{reader}"), paths)):
        return None
    folder = _link_files(paths, name=name, ending=reader)
    if folder is None:
        return None
    read = session.read.format(reader).options(**{**default_options(session, reader), **options})
    if reader == "json":
        read = read.schema(type(schema)([*schema.fields, StructField(name, StringType())]))
    frame = read.load(str(folder))
    weakref.finalize(frame._plan, shutil.rmtree, folder, ignore_errors=True)  # noqa: SLF001 - all frames of it hold it
    return frame


def _can_link(path: str, *, ending: str) -> bool:
    """Whether the session reads a link as it reads the file: a compressed or hidden one it would not."""
    return path.startswith("/") and path.endswith(ending) and not Path(path).name.startswith((".", "_"))


def check_headers(
    session: SparkSession, files: Sequence[FoundFile], *, asset: AssetSpec, options: Mapping[str, str]
) -> bool:
    """Refuses files whose headers differ, where the session itself would read their columns by position.

    Returns False if files without any header are among them, as blank ones, so that they may have other columns; True
    also without a look, where the format has no headers or the session compares them itself.

    Raises:
        RunError: For the first that differs.
    """
    if not asset.file_format.has_header(options) or capabilities_of(session).checks_headers:
        return True
    reader = session.read.format(asset.file_format.reader).options(**options)
    headers: dict[str, Sequence[str]] = {}
    """Columns by the line that holds them, or by the path of the file."""
    written: list[tuple[FoundFile, Sequence[str]]] = []
    for file, path in zip(files, format_paths(session, files, asset=asset.name), strict=True):
        line = read_header_line(path, options) or path
        if line not in headers:
            headers[line] = reader.load(path).columns
        if headers[line]:
            written.append((file, headers[line]))
    for file, columns in written[1:]:
        if columns != written[0][1]:
            difference = describe_header_difference(columns, written[0][1])
            path = file.path.removeprefix("file://")
            failure = RunError(f"the source {asset.name!r} cannot be read: the header of {path} {difference}")
            failure.is_data_error, failure.files = True, (path,)
            raise failure
    return len(written) == len(files)


def read_header_line(path: str, options: Mapping[str, str]) -> str | None:
    """The first line of a local file, where it is surely the whole header; None where only a session can tell."""
    if not _can_link(path, ending=".csv") or options.keys() - _PLAIN_OPTIONS:
        return None
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - thousands of files may be looked at
            line = file.readline(_MOST_BYTES).decode()
    except (OSError, UnicodeDecodeError):
        return None
    return line if line.endswith("\n") and line.strip() and '"' not in line and line[0] != "\ufeff" else None


def escape_pattern(path: str) -> str:
    """The path as a pattern of Spark's readers that stands for itself alone."""
    return _GLOB_CHARACTERS.sub(r"\\\1", path)


def format_paths(session: SparkSession, files: Sequence[FoundFile], *, asset: str) -> list[str]:
    """The paths of the files as the session's readers take them.

    Raises:
        RunError: A path looks like a pattern, and the session has no way to say that it is none.
    """
    if capabilities_of(session).escapes_patterns:
        return [escape_pattern(file.path) for file in files]
    if pattern := next((file for file in files if _GLOB_CHARACTERS.search(file.path)), None):
        raise RunError(
            f"the file '{escape_unwritable(pattern.relative)}' of {asset!r} has a name that Sail takes for a pattern",
            hint="rename it, or run it with Spark: --engine spark",
        )
    return [file.path.removeprefix("file://") for file in files]  # in a URI, Sail decodes what a name has after `%`


def refuse_folder_columns(files: Sequence[FoundFile], *, asset: str) -> None:
    """Refuses folders such as ``country=nl``, whose columns the session would leave out.

    Raises:
        RunError: For the first.
    """
    folder = next((each for file in files for each in file.relative.split("/")[:-1] if "=" in each), None)
    if folder is not None:
        raise RunError(
            f"the source {asset!r} has a column in the name of the folder '{folder}', which only Spark reads",
            hint="run it with Spark: --engine spark; or write the column as a field: path: …/country={country}/*.csv",
        )


def load_typed(
    session: SparkSession, reader: DataFrameReader, schema: StructType, paths: list[str], *, options: Mapping[str, str]
) -> DataFrame:
    """The rows of text files, typed; a session that ignores the option ``nullValue`` reads texts, and casts them."""
    from pyspark.sql import functions as sql
    from pyspark.sql.types import StringType, StructField, StructType

    null = next((value for key, value in options.items() if key.lower() == "nullvalue"), None)
    if null is None or capabilities_of(session).reads_null_values:
        return reader.schema(schema).load(paths)
    texts = StructType([StructField(name, StringType()) for name in schema.names])
    columns = (
        sql.nullif(sql.col(sqltext.name(each.name)), sql.lit(null)).cast(each.dataType).alias(each.name)
        for each in schema.fields
    )
    return reader.schema(texts).load(paths).select(*columns)
