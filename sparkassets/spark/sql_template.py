"""A run's SQL: renders the template with the run's names, as one SELECT over its inlets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Protocol, TypeVar

from jinja2 import StrictUndefined, TemplateError, TemplateRuntimeError, TemplateSyntaxError, UndefinedError
from jinja2.exceptions import SecurityError

from sparkassets.core.instants import find_zone
from sparkassets.core.partitions import Partitioning, PartitionSet
from sparkassets.core.query_text import find_select_fault, split_statements
from sparkassets.core.sandbox import FILE, SqlFragment, ValueInSqlError, render_sql
from sparkassets.core.spec.code_bodies import SqlBody
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.unlisted_segments import refuse_unlisted_segments
from sparkassets.core.suggestions import did_you_mean
from sparkassets.core.templating import Template as Parsed
from sparkassets.errors import RunError
from sparkassets.spark import predicates, sqltext
from sparkassets.spark.author_values import for_author
from sparkassets.spark.capabilities import capabilities_of
from sparkassets.spark.context import Context
from sparkassets.spark.failures import explain_errors
from sparkassets.spark.own_session import setting
from sparkassets.spark.table_locations import location_of, table_sql
from sparkassets.spark.versions import from_arrow

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from sparkassets.ports import RunOrder

_RELATION = re.compile("\x00(\\d+)\x00")
_ALL = re.compile(r"\ball\b", re.IGNORECASE)
"""In every query with ``GROUP BY ALL``, and in few others."""


class NamedRelation(Protocol):
    """What stands for ``{{ inlets.x }}``: a DataFrame, or the name of a view."""

    @property
    def columns(self) -> Sequence[str] | None:
        """Its columns; None if nobody knows them yet, so that a name is not checked."""


R = TypeVar("R", bound=NamedRelation)
MakePartitions = Callable[["pa.Table", Mapping[str, str]], R]
"""Makes the relation of a run's partitions, of their rows and the type that each segment's column gets."""


def run_sql(
    session: SparkSession,
    order: RunOrder,
    body: SqlBody,
    *,
    inlets: Mapping[str, DataFrame],
    outlet: Callable[[], DataFrame],
    context: Context,
) -> DataFrame:
    """The rows of the asset's SQL, not computed yet.

    ``outlet`` reads the target as it was before the run, and is called only if the template names it.

    Raises:
        RunError: The template, or Spark, refuses it; with the place in the SQL.
    """
    relations = TemplateRelations(order, inlets, context, partial(_make_partitions_frame, session), outlet=outlet)
    rendered = render_select(body, relations, double_quoted_names=partial(_has_double_quoted_names, session))
    if _ALL.search(rendered) and not capabilities_of(session).groups_by_all:
        from sparkassets.core.group_by_all import expand_group_by_all  # parsing takes a package that few queries need

        rendered = expand_group_by_all(rendered)
    query = _pass_frames(rendered.strip().rstrip(";"), relations.relations)
    lines_cut = len(rendered) - len(rendered.lstrip())
    place = replace(body.location, line=max(body.location.line, 1) + rendered[:lines_cut].count("\n"))
    with explain_errors(place=place):
        return session.sql(f"SELECT * FROM (\n{query}\n)", **_name_frames(relations.relations))  # noqa: S608 - the author's own query


def run_statements(
    session: SparkSession, order: RunOrder, body: SqlBody, *, inlets: Mapping[str, DataFrame], context: Context
) -> None:
    """Executes the asset's SQL, one statement after the other.

    Raises:
        RunError: The template or a statement fails; with the place in the SQL. Earlier statements are not undone.
    """
    relations = TemplateRelations(order, inlets, context, partial(_make_partitions_frame, session))
    rendered = render_body(body, relations, double_quoted_names=partial(_has_double_quoted_names, session))
    for offset, text in split_statements(rendered):
        lines_cut = offset + len(text) - len(text.lstrip())
        place = replace(body.location, line=max(body.location.line, 1) + rendered[:lines_cut].count("\n"))
        with explain_errors(place=place):
            session.sql(_pass_frames(text.strip(), relations.relations), **_name_frames(relations.relations))


def _name_frames(frames: Sequence[DataFrame]) -> dict[str, DataFrame]:
    """The frames as arguments of `SparkSession.sql`."""
    return {f"r{number}": frame for number, frame in enumerate(frames)}


def _pass_frames(text: str, frames: Sequence[DataFrame]) -> str:
    """The query or statement with its relations as arguments of `SparkSession.sql`."""
    if not frames:
        return text  # nothing is put into it there, so that braces stay as they are
    return insert_relations(
        text.replace("{", "{{").replace("}", "}}"), [f"{{{name}}}" for name in _name_frames(frames)]
    )


def insert_relations(rendered: str, texts: Sequence[str]) -> str:
    """The rendered text with the text of each relation in its places."""
    return _RELATION.sub(lambda found: texts[int(found[1])], rendered)


def render_select(body: SqlBody, relations: TemplateRelations[Any], *, double_quoted_names: Callable[[], bool]) -> str:
    """The one SELECT of a run, with places for its relations.

    Raises:
        RunError: The template cannot be rendered, or it is no SELECT.
    """
    rendered = render_body(body, relations, double_quoted_names=double_quoted_names)
    if fault := find_select_fault(rendered.replace("\x00", "`")):
        raise RunError(
            f"{_format_line(body, rendered[: fault.position].count(chr(10)) + 1)}: {fault.message}", hint=fault.hint
        )
    return rendered


def render_body(body: SqlBody, relations: TemplateRelations[Any], *, double_quoted_names: Callable[[], bool]) -> str:
    """The text of one run, with places for its relations; every error of the template is a RunError at its line."""
    try:
        return render_sql(body.text, relations.names(), double_quoted_names=double_quoted_names)
    except RunError as error:
        raise RunError(f"{_format_place(body, error)}: {error.args[0]}", hint=error.hint) from error
    except ValueInSqlError as error:
        line = _own_line(body, error.line) if error.line else _find_template_line(error, body)
        raise RunError(f"{_format_line(body, line)}: {error}", hint=error.hint) from error
    except SecurityError as error:
        raise RunError(f"{_format_place(body, error)}: the template tries to leave its sandbox: {error}") from error
    except UndefinedError as error:
        hint = "where it may be missing, write {% if … is defined %} or {{ … | default('…') }}"
        raise RunError(f"{_format_place(body, error)}: {error}", hint=hint) from error
    except TemplateSyntaxError as error:
        raise RunError(f"{_format_line(body, _own_line(body, error.lineno))}: {error}") from error
    except TemplateError as error:
        raise RunError(f"{_format_place(body, error)}: {error}") from error
    except RecursionError as error:
        place = _format_line(body, _find_template_line(error, body))
        raise RunError(f"{place}: the template recurses too deeply") from error
    except Exception as error:
        raise RunError(
            f"{_format_line(body, _find_template_line(error, body))}: {type(error).__name__}: {error}"
        ) from error


def _has_double_quoted_names(session: SparkSession) -> bool:
    """Whether the session's parser reads double quotes as names."""
    settings = ("spark.sql.ansi.enabled", "spark.sql.ansi.doubleQuotedIdentifiers")
    return all(setting(session, each) == "true" for each in settings)


def _find_template_line(error: BaseException, body: SqlBody) -> int:
    """The line of the template at which an error was raised while it was rendered; 1 if none is known.

    For an error in a macro it is the line that calls the macro.
    """
    line, frame, lines_of_macros = 1, error.__traceback__, body.macros.count("\n")
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == FILE and frame.tb_lineno > lines_of_macros:
            line = frame.tb_lineno - lines_of_macros
        frame = frame.tb_next
    return line


def _own_line(body: SqlBody, line: int) -> int:
    """The line of the template's own text; 1 for a line of a macro."""
    return max(1, line - body.macros.count("\n"))


def _format_place(body: SqlBody, error: Exception) -> str:
    """``file:line`` of an error in the template, with the column if the error quotes a name of that line."""
    line = _find_template_line(error, body)
    column = Parsed.parse(body.template).quoted_in(str(error.args[0]), line=line)
    return _format_line(body, line) + (f":{max(body.location.column, 1) + column - 1}" if column else "")


def _format_line(body: SqlBody, line: int) -> str:
    """``file:line`` of a line of the template."""
    return f"{body.location.file}:{max(body.location.line, 1) + line - 1}"


class TemplateRelations(Generic[R]):
    """The relations that a template uses; each prints a placeholder that `insert_relations` resolves in the query.

    Args:
        order: The run.
        inlets: What the run reads, by inlet.
        context: Has the other names.
        make_partitions: Makes the relation of the run's partitions, if the template names it.
        outlet: Makes the target as it was before the run; None for statements that write the target.

    Attributes:
        relations: Those that the template has used, by the number of their placeholder.
    """

    def __init__(
        self,
        order: RunOrder,
        inlets: Mapping[str, R],
        context: Context,
        make_partitions: MakePartitions[R],
        *,
        outlet: Callable[[], R] | None = None,
    ) -> None:
        self.relations: list[R] = []
        self._order = order
        self._inlets = inlets
        self._make_partitions = make_partitions
        self._outlet = outlet
        self._context = context
        self._placeholders: dict[str, str] = {}

    def names(self) -> dict[str, Any]:
        """The value of each name of a template; names without a value are undefined, and say why when they are used."""
        asset = self._order.asset
        inlets = {
            name: _CheckedRelation(self, f"inlet {name}", partial(self._inlets.__getitem__, name))
            for name in self._inlets
        }
        values = {name: value for name, value in self._context.names().items() if name not in {"asset", "extra"}}
        unset = {
            name: _make_undefined(f"the run has no data interval, so {name!r} has no value")
            for name in ("data_interval_start", "data_interval_end", "logical_date", *_INTERVAL_TEXTS)
        }
        for name in ("prev_data_interval_start_success", "prev_data_interval_end_success"):
            unset[name] = _make_undefined(
                f"{name!r} has no value: no earlier run of {asset.name} with a data interval has succeeded"
            )
        unset["watermark"] = _make_unfit("'watermark' needs exactly one inlet that is read above a watermark")
        return {
            **unset,
            **values,
            "inlets": inlets,
            "outlets": {asset.name: self._target_relation()},
            "partitions": self._partition_relation(),
            "partition": self._make_partition_value(),
            "triggering_event": self._triggering_event(),
            "triggering_dataset_events": self._context.triggering_events,
        }

    def _target_relation(self) -> object:
        """The target as it was before the run, or its name where statements write it."""
        asset = self._order.asset
        if self._outlet is not None:
            return _CheckedRelation(self, f"outlet {asset.name}", self._outlet)
        return (
            SqlFragment(table_sql(location_of(asset)))
            if asset.storage is not None
            else _make_unfit(f"{asset.name} has no table")
        )

    def add_placeholder(self, key: str, make_relation: Callable[[], R]) -> str:
        """The placeholder of a relation until the query is complete."""
        if key not in self._placeholders:
            self._placeholders[key] = f"\x00{len(self.relations)}\x00"
            self.relations.append(make_relation())
        return self._placeholders[key]

    def _triggering_event(self) -> object:
        try:
            return self._context.triggering_event
        except RunError as error:
            return _make_unfit(str(error.args[0]))

    def _partition_relation(self) -> object:
        asset = self._order.asset
        if not asset.listed_partition_names:
            return _make_unfit(_lacking_partitions(asset))
        return _CheckedRelation(self, "partitions", self._relate_partitions)

    def _listed_partitions(self) -> tuple[Partitioning, PartitionSet]:
        """The run's partitions, without segments that only rows make known: a join by these would leave rows out."""
        asset = self._order.asset
        return asset.partitioning.without_segments(self._order.partitions, asset.segments_from_rows)

    def _relate_partitions(self) -> R:
        """The run's partitions; segments as text, or in the column's declared type."""
        partitioning, partitions = self._listed_partitions()
        declared = {name.lower(): kind for name, kind in self._order.asset.column_types.items()}
        types = {each.column: declared.get(each.column.lower(), "string") for each in partitioning.segments}
        return self._make_partitions(predicates.partitions_table(partitioning, partitions), types)

    def _make_partition_value(self) -> object:
        """The run's one partition, for the name `partition`; for other runs an undefined value that says why."""
        asset = self._order.asset
        if not asset.listed_partition_names:
            return _make_unfit(_lacking_partitions(asset))
        partitioning, partitions = self._listed_partitions()
        found = list(islice(partitioning.slots(partitions), 2))
        if len(found) != 1:
            many = f"'partition' has no single value: the run has {partitioning.count(partitions)} partitions"
            return _make_unfit(f"{many}; join {{{{ partitions }}}} instead")
        return for_author(predicates.name_partition(partitioning, found[0]), find_zone(asset.local_zone))


def _make_partitions_frame(session: SparkSession, rows: pa.Table, types: Mapping[str, str]) -> DataFrame:
    """The rows of a run's partitions, with the columns of ``types`` cast."""
    frame = from_arrow(session, rows)
    for name, kind in types.items():
        frame = frame.withColumn(name, frame[sqltext.name(name)].cast(kind))
    return frame


def _lacking_partitions(asset: AssetSpec) -> str:
    """Why the code of an asset is given no partitions."""
    if not asset.segments_from_rows:
        return f"{asset.name} has no partitions"
    return refuse_unlisted_segments("partitions", min(asset.segments_from_rows), ())[0]


_INTERVAL_TEXTS = ("ds", "ds_nodash", "ts", "ts_nodash", "ts_nodash_with_tz")


class _CheckedRelation:
    """``inlets.x``: renders as a relation; its attributes are checked column names."""

    __slots__ = ("__key", "__make_relation", "__owner")

    def __init__(self, owner: TemplateRelations[Any], key: str, make_relation: Callable[[], NamedRelation]) -> None:
        self.__owner = owner
        self.__key = key
        self.__make_relation = make_relation

    def __sql__(self) -> str:
        return self.__owner.add_placeholder(self.__key, self.__make_relation)

    def __getitem__(self, column: str) -> SqlFragment:
        columns = self.__make_relation().columns
        if columns is None:
            return SqlFragment(sqltext.name(str(column)))
        for name in columns:
            if name.lower() == str(column).lower():
                return SqlFragment(sqltext.name(name))
        raise RunError(f"{self.__key} has no column {column!r}", hint=did_you_mean(str(column), columns))

    def columns_except(self, *names: str) -> SqlFragment:
        """All columns but these, separated by commas; named as `COLUMNS_EXCEPT` in templates."""
        columns = self.__make_relation().columns
        if columns is None:
            raise RunError(f"the columns of {self.__key} are only known to a run", hint="declare its 'columns'")
        left_out = {str(self[name]) for name in names}
        kept = [quoted for quoted in map(sqltext.name, columns) if quoted not in left_out]
        if not kept:
            raise RunError(f"{self.__key} has no column but {', '.join(map(repr, names))}")
        return SqlFragment(", ".join(kept))

    def __iter__(self) -> Iterator[NoReturn]:
        raise RunError(f"{self.__key} is a relation; it cannot be looped over in a template")


def _make_undefined(reason: str) -> StrictUndefined:
    """An undefined value for a name that only other runs have."""
    return StrictUndefined(hint=reason)


def _make_unfit(reason: str) -> StrictUndefined:
    """An undefined value for a name that is used in the wrong way."""
    return StrictUndefined(hint=reason, exc=TemplateRuntimeError)
