"""The code of a run as text: its inlets as views at their pins, and its SQL over them. Starts no Spark.

Equal to what a run executes, but for two things that a note of the text says: the unchanged rows that a run takes out
of changes, and the upper bound of a watermark, which the pinned version implies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from sparkassets.core.documents.rendered_run import RenderedCode
from sparkassets.core.iterations import ROWS, iteration_folder
from sparkassets.core.patterns import FileSlot
from sparkassets.core.query_text import split_statements
from sparkassets.core.redaction import redact
from sparkassets.core.runs import InletPin, TablePosition
from sparkassets.core.spec.code_bodies import PythonBody, SqlBody
from sparkassets.core.spec.model import AssetSpec, ReadAfter, ReadChanges
from sparkassets.core.spec.path_columns import path_columns
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.delta.features import maps_columns
from sparkassets.delta.file_split import TableFiles, find_highest
from sparkassets.delta.tables import is_table, load_table
from sparkassets.errors import RunError, SourceError
from sparkassets.frozen import frozen
from sparkassets.ports import RunOrder
from sparkassets.spark import sqltext
from sparkassets.spark.context import WatermarkBounds, make_context
from sparkassets.spark.file_reader import group_by_glob, missing_column_error, reader_options
from sparkassets.spark.inlet_reader import condition_above
from sparkassets.spark.path_fields import field_literals, name_other_columns
from sparkassets.spark.pinned_files import FoundFile, PinnedFiles
from sparkassets.spark.predicates import partition_predicate
from sparkassets.spark.reader_gaps import read_header_line
from sparkassets.spark.schemas import column_type
from sparkassets.spark.sql_template import TemplateRelations, insert_relations, render_body, render_select
from sparkassets.spark.table_locations import location_of, path_of, table_sql

if TYPE_CHECKING:
    import pyarrow as pa

ReadColumns = Callable[[AssetSpec, int], Mapping[str, str]]
"""Reads the columns of an asset's table at a version, with Spark's names of their types."""

_UTC: Final = "SET TIME ZONE 'UTC'"
"""The session of a run is in UTC, and so the text has to be."""
_DOUBLE_QUOTED_NAMES: Final = "spark.sql.ansi.doubleQuotedIdentifiers"


@frozen
class TextView:
    """A view of the rows that a name of a template stands for.

    Attributes:
        name: Its name in SQL.
        statements: What creates it.
        columns: As of `NamedRelation`.
    """

    name: str
    statements: tuple[str, ...]
    columns: Sequence[str] | None


class QueryRenderer:
    """Renders the code of a project's runs.

    Args:
        project: The project of the runs.
        read_columns: As of `ReadColumns`; asked only where a run's partitions or watermark filter a table.
    """

    def __init__(self, project: ProjectSpec, read_columns: ReadColumns) -> None:
        self._project = project
        self._read_columns = read_columns

    def render(self, order: RunOrder) -> tuple[tuple[RenderedCode, ...], tuple[str, ...]]:
        """The code of a run for each table that it writes, and notes on what the text leaves out.

        Raises:
            RunError: The template refuses the run, or an inlet cannot be written as text.
            SourceError: An inlet has changed or vanished.
        """
        texts = _InletTexts(order, self._read_columns)
        context = make_context(order, watermark=texts.watermark(), project=self._project)
        body = order.asset.body
        if isinstance(body, PythonBody):
            code: tuple[RenderedCode, ...] = (_render_call(order, body, texts.views),)
        else:
            quoted = str(self._project.spark.get(_DOUBLE_QUOTED_NAMES, "false")).lower() == "true"
            code = tuple(
                _render_sql(
                    each,
                    TemplateRelations(
                        each,
                        texts.views,
                        context,
                        _view_partitions,
                        outlet=None if order.asset.writes_itself else partial(_view_outlet, each.asset),
                    ),
                    double_quoted_names=lambda: quoted,
                )
                for each in order.table_orders
            )
        return code, tuple(texts.notes)


def _render_sql(
    order: RunOrder, relations: TemplateRelations[TextView], *, double_quoted_names: Callable[[], bool]
) -> RenderedCode:
    body = order.asset.body
    if not isinstance(body, SqlBody):
        raise RunError(f"{order.asset.name} has neither SQL nor a function")
    if order.asset.writes_itself:
        rendered = render_body(body, relations, double_quoted_names=double_quoted_names)
        statements = [text.strip() for _, text in split_statements(rendered)]
    else:
        rendered = render_select(body, relations, double_quoted_names=double_quoted_names)
        statements = [rendered.strip().rstrip(";").rstrip()]
    names = [each.name for each in relations.relations]
    views = [statement for each in relations.relations for statement in each.statements]
    return _hide_credentials(order, [*views, *(insert_relations(each, names) for each in statements)])


def _render_call(order: RunOrder, body: PythonBody, views: Mapping[str, TextView]) -> RenderedCode:
    """The function's name, what it is passed, and the views of the inlets among that."""
    passed = {name: f"the rows of the view {views[name].name}" for name in body.arguments if name in views}
    code = _hide_credentials(order, [each for name in passed for each in views[name].statements])
    arguments = [(name, passed.get(name, "the run's context")) for name in body.arguments]
    return RenderedCode(code.asset, code.statements, f"{body.module}:{body.function}", tuple(arguments))


def _hide_credentials(order: RunOrder, statements: Iterable[str]) -> RenderedCode:
    return RenderedCode(order.asset.name, (_UTC, *map(redact, statements)))


class _InletTexts:
    """The views of a run's inlets.

    Attributes:
        views: By inlet; without inlets that are only waited for.
        notes: What the texts leave out.
    """

    def __init__(self, order: RunOrder, read_columns: ReadColumns) -> None:
        self.notes: list[str] = []
        self._order = order
        self._read_columns = read_columns
        self._bounds: list[WatermarkBounds] = []
        inlets = [inlet for inlet in order.asset.inlets.values() if not inlet.waits_only]
        self.views = {inlet.name: self._view(inlet.name) for inlet in inlets}

    def watermark(self) -> WatermarkBounds | None:
        """The bounds of the one inlet that is read above a watermark; None with no or several such inlets."""
        return self._bounds[0] if len(self._bounds) == 1 else None

    def _view(self, name: str) -> TextView:
        asset, pin = self._order.inlets[name], self._order.pins[name]
        if asset.is_known_by_events:
            raise RunError(f"the inlet {name!r} is only known by its events: there is nothing to read")
        kind = asset.source.kind if asset.source is not None else "delta"
        if kind == "tables":
            raise RunError(
                f"the inlet {name!r} is a set of tables, which a run joins: it cannot be written as one SELECT"
            )
        if kind != "delta":
            return self._view_files(asset, pin)
        read = self._order.asset.inlets[name].read
        if pin.version is None:
            self._bounds += [WatermarkBounds(pin.low, pin.low)] if read is not None else []
            return _view_nothing(asset)
        if isinstance(read, ReadChanges):
            return self._view_changes(asset, pin, pin.version)
        if pin.iteration:
            path = f"{path_of(asset).rstrip('/')}/{iteration_folder(pin.iteration, ROWS)}"
            return _view(asset, f"SELECT * FROM delta.{sqltext.name(path)}", list(asset.columns) or None)  # noqa: S608
        columns = self._read_columns(asset, pin.version)
        rows = f"SELECT * FROM {table_sql(location_of(asset))} VERSION AS OF {pin.version:d}"  # noqa: S608  quoted
        return _view(asset, _filter(rows, self._conditions(asset, pin, columns)), [*columns])

    def _conditions(self, asset: AssetSpec, pin: InletPin, columns: Mapping[str, str]) -> list[str]:
        """The conditions of the pinned partitions and of the watermark."""
        owner, read = f"the inlet {asset.name!r}", self._order.asset.inlets[asset.name].read
        predicate = partition_predicate(columns, pin.parts, partitioning=asset.partitioning, owner=owner)
        conditions = [] if predicate is None else [predicate]
        if isinstance(read, ReadAfter):
            column, kind = column_type(columns, read.column, owner=owner)
            conditions.append(condition_above(pin.low, read.overlap, column=column, kind=kind, owner=owner))
            high = _find_highest(asset, pin, column)
            if high is None:
                self.notes.append(f"watermark.high of {asset.name} is found when a run reads it; here it is NULL")
            self._bounds.append(WatermarkBounds(pin.low, high))
        return conditions

    def _view_changes(self, asset: AssetSpec, pin: InletPin, version: int) -> TextView:
        """The change feed after the pin's position, as Delta has it; without a position all rows as inserts."""
        location = location_of(asset)
        inserted = (
            f"'insert' AS _change_type, {version}L AS _commit_version, CAST(NULL AS TIMESTAMP) AS _commit_timestamp"
        )
        inserts = f"SELECT *, {inserted} FROM {table_sql(location)} VERSION AS OF {version}"  # noqa: S608  quoted
        if pin.low is None:
            self._bounds.append(WatermarkBounds(None, str(version)))
            return _view(asset, inserts, None)
        position = TablePosition.parse(pin.low)
        if position is None or position.table_id != pin.table_id:
            raise RunError(
                f"the inlet {asset.name!r} was read up to {pin.low}, from where there are no changes to read"
            )
        self._bounds.append(WatermarkBounds(str(position.version), str(version)))
        if position.version == version:
            return _view(asset, f"{inserts} WHERE false", None)
        if location.table:
            function, table = "table_changes", ".".join(location.table)
        else:
            function, table = "table_changes_by_path", location.path
        self.notes.append(
            f"the changes of {asset.name} hold rows that are the same before and after, which a run leaves out"
        )
        rows = f"SELECT * FROM {function}({sqltext.text(table)}, {position.version + 1}, {version})"  # noqa: S608  quoted
        return _view(asset, rows, None)

    def _view_files(self, asset: AssetSpec, pin: InletPin) -> TextView:
        """The files of the pin, one view for those of each partition, and their union."""
        pinned = PinnedFiles(asset, pin.parts, self._order.files.get(asset.name))
        files = pinned.list_files()
        pinned.check(files)
        if not files:
            return _view_nothing(asset)
        header = _find_header(asset, files[0])
        if header is None and asset.column_types and asset.file_format.has_header(reader_options(asset)):
            self.notes.append(f"only a session knows the columns of {asset.name}: the text may need Spark 4")
        statements, selects = list[str](), list[str]()
        for number, (pattern, slot) in enumerate(group_by_glob(files), 1):
            name = sqltext.name(f"{asset.name}_files_{number}")
            statements.append(_create_file_view(name, asset, pattern, header))
            selects.append(_select_files(name, asset, slot, header))
        conditions = [] if asset.in_paths is None else self._conditions(asset, pin, asset.column_types)
        union = "\nUNION ALL\n".join(selects)
        rows = _filter(f"SELECT * FROM (\n{union}\n)", conditions) if conditions else union  # noqa: S608
        view = _view(asset, rows, None)
        return TextView(view.name, (*statements, *view.statements), None)


def _find_highest(asset: AssetSpec, pin: InletPin, column: str) -> str | None:
    """The greatest value of a column at the pinned version as text, by the log; None where that does not tell it."""
    from deltalake.exceptions import DeltaError

    if asset.is_named or pin.version is None or not pin.parts.is_everything:
        return None
    try:
        table = load_table(path_of(asset), version=pin.version)
        if table.protocol().reader_features or maps_columns(table.metadata().configuration):
            return None  # deleted rows may be in the files, and columns have other names there
        return find_highest(TableFiles.load_files(table), column)
    except (DeltaError, SourceError):
        return None


def _view(asset: AssetSpec, rows: str, columns: Sequence[str] | None) -> TextView:
    name = sqltext.name(asset.name)
    return TextView(name, (f"CREATE OR REPLACE TEMPORARY VIEW {name} AS\n{rows}",), columns)


def _filter(rows: str, conditions: Sequence[str]) -> str:
    return f"{rows}\nWHERE {' AND '.join(f'({each})' for each in conditions)}" if conditions else rows


def _view_nothing(asset: AssetSpec) -> TextView:
    """No rows, in the declared columns.

    Raises:
        RunError: None are declared.
    """
    if not asset.columns:
        raise RunError(
            f"there is nothing to read of {asset.name!r} yet, so its columns are unknown", hint="declare its 'columns'"
        )
    nulls = ", ".join(f"CAST(NULL AS {kind}) AS {sqltext.name(name)}" for name, kind in asset.columns.items())
    return _view(asset, f"SELECT {nulls} WHERE false", [*asset.columns])


def _view_outlet(asset: AssetSpec) -> TextView:
    """The target as it is before the run."""
    location = location_of(asset)
    if not location.table and not is_table(location.path):
        return _view_nothing(asset)
    return _view(asset, f"SELECT * FROM {table_sql(location)}", [*asset.columns] or None)  # noqa: S608  quoted


def _view_partitions(rows: pa.Table, types: Mapping[str, str]) -> TextView:
    """The run's partitions."""
    values = ",\n".join(
        "  (" + ", ".join(map(partial(_literal, types=types), row.items())) + ")" for row in rows.to_pylist()
    )
    columns = ", ".join(map(sqltext.name, rows.column_names))
    text = f"CREATE OR REPLACE TEMPORARY VIEW partitions ({columns}) AS\nVALUES\n{values}"
    return TextView("partitions", (text,), rows.column_names)


def _literal(cell: tuple[str, Any], *, types: Mapping[str, str]) -> str:
    name, value = cell
    match value:
        case None:
            return "NULL"
        case datetime():
            return sqltext.moment(int(value.replace(tzinfo=value.tzinfo or UTC).timestamp()))
        case date():
            return sqltext.day(value)
    kind = types.get(name, "string")
    return sqltext.text(value) if kind == "string" else f"CAST({sqltext.text(value)} AS {kind})"


def _find_header(asset: AssetSpec, file: FoundFile) -> list[str] | None:
    """The columns that the header of a file names, which a run wants in all files; None where only Spark can tell.

    Raises:
        RunError: A declared column is not among them.
    """
    options = reader_options(asset)
    separator = options.get("sep", ",")
    if not asset.file_format.has_header(options) or len(separator) != 1:
        return None
    line = read_header_line(file.path.removeprefix("file://"), options)
    names = [] if line is None else line.rstrip("\r\n").split(separator)
    if not all(names) or not names or len({name.lower() for name in names}) < len(names):
        return None  # Spark names columns without a name, and those of one name, in its own way
    missing = [name for name in asset.column_types if name not in names and name not in path_columns(asset)]
    if missing:
        raise missing_column_error(missing, [file.path], asset=asset.name, header=lambda _: names)
    return names


def _create_file_view(name: str, asset: AssetSpec, pattern: str, header: Sequence[str] | None) -> str:
    """What creates the view of the files of a pattern, as Spark's reader has their rows."""
    file_format, fields = asset.file_format, path_columns(asset)
    options = reader_options(asset)
    declared = {column: kind for column, kind in asset.column_types.items() if column not in fields}
    if header is not None:
        declared = {column: declared.get(column, "string") for column in header}
    elif file_format.columns == "own" or file_format.has_header(options):
        declared = {}
    schema = ", ".join(f"{sqltext.name(column)} {kind}" for column, kind in declared.items())
    settings = ", ".join(f"{_quote(key)} = {_quote(value)}" for key, value in {**options, "path": pattern}.items())
    return (
        f"CREATE OR REPLACE TEMPORARY VIEW {name} {f'({schema}) ' if schema else ''}"
        f"USING {file_format.reader} OPTIONS ({settings})"
    )


def _select_files(name: str, asset: AssetSpec, slot: FileSlot, header: Sequence[str] | None) -> str:
    """The rows of a view of files with the declared types, and the fields of their paths."""
    file_format, fields = asset.file_format, path_columns(asset)
    literals = field_literals(slot, asset)
    constants = [f"CAST({literals[column]} AS {kind}) AS {sqltext.name(column)}" for column, kind in fields.items()]
    declared = {column: kind for column, kind in asset.column_types.items() if column not in fields}
    if file_format.expressions:
        columns = [*file_format.expressions]
    elif header is not None:
        columns = name_other_columns(header, fields)
    elif file_format.has_header(reader_options(asset)) and declared:
        casts = [
            f"CAST({sqltext.name(column)} AS {kind}) AS {sqltext.name(column)}" for column, kind in declared.items()
        ]
        columns = [f"* EXCEPT ({', '.join(map(sqltext.name, declared))})", *casts]
    else:
        columns = ["*"]
    return f"SELECT {', '.join([*columns, *constants])} FROM {name}"  # noqa: S608  quoted


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
