"""The derivation of an asset's columns, from its SQL as rendered for it.

A template is rendered as one query for all runs: values that differ by run become marks, which no name may hold. A
template whose shape depends on values that only a run knows (``{% if ds … %}``) has no such query.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from jinja2 import TemplateError, nodes

from sparkassets.core.derivation.column_uses import ColumnUse, QueryDerivation, RowFilter
from sparkassets.core.sandbox import SqlFragment, TooMuchError, render_sql
from sparkassets.core.spec.code_bodies import SqlBody
from sparkassets.core.spec.model import AssetSpec, ReadChanges
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.templating import NAMES, Template, lists_columns
from sparkassets.errors import InputError
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from sparkassets.core.derivation.row_sources import QueryRelation

MARK: Final = "sa1907run"
"""Stands for a text that only a run knows."""
_YEAR: Final = "1907"
"""The year of placeholder times, for times that only a run knows."""
MARKS: Final = (MARK, _YEAR)

_SAME_FOR_ALL_RUNS: Final = frozenset({"inlets", "outlets", "params", "partitions"})
_RENDER_ERRORS: Final = (
    *(InputError, TemplateError, TooMuchError),
    *(RecursionError, ValueError, TypeError, ArithmeticError, LookupError),
)
_SHAPING_NODES: Final = (
    nodes.If,
    nodes.For,
    nodes.CondExpr,
    nodes.Macro,
    nodes.CallBlock,
    nodes.Assign,
    nodes.AssignBlock,
)


@frozen
class RenderedQuery:
    """A query that stands for the queries of all runs.

    Attributes:
        relations: The asset of each relation, by its name in the query; empty for `partitions`.
    """

    sql: str
    relations: Mapping[str, str]


def render_query(asset: AssetSpec, text: str, params: Mapping[str, object]) -> RenderedQuery | None:
    """The template of an asset with these params; None where its runs may have queries of several shapes.

    Args:
        asset: Whose.
        text: The template.
        params: Those of its runs.
    """
    try:
        template = Template.parse(text)
        if any(_depends_on_run(node) for node in template.find(*_SHAPING_NODES)) or _lists_columns(template):
            return None
        return _render(asset, template, text, params)
    except _RENDER_ERRORS:
        return None


def render_failure(asset: AssetSpec, text: str, params: Mapping[str, object]) -> str | None:
    """Why no run can render a template; None where one can, or where that depends on what only a run knows."""
    try:
        template = Template.parse(text)
        if any(name.name in NAMES - _SAME_FOR_ALL_RUNS for name in template.find(nodes.Name)):
            return None
        if _lists_columns(template):
            return None
        _render(asset, template, text, params)
    except _RENDER_ERRORS as error:
        return str(error) or type(error).__name__
    return None


def _render(asset: AssetSpec, template: Template, text: str, params: Mapping[str, object]) -> RenderedQuery:
    """The query with placeholders for what only a run knows, and the relations whose names rendering used."""
    relations: dict[str, str] = {}
    sql = render_sql(text, _placeholder_names(asset, template, params, relations))
    return RenderedQuery(sql.strip().rstrip(";"), relations)


def _depends_on_run(node: nodes.Node) -> bool:
    """Whether a node that shapes the query, such as an ``if`` or a loop, depends on values that only a run knows."""
    shaping_parts = (
        [node.test]
        if isinstance(node, nodes.If | nodes.CondExpr)
        else [node.iter]
        if isinstance(node, nodes.For)
        else [node]
    )
    names = (name.name for each in shaping_parts for name in (*each.find_all(nodes.Name), *_name_itself(each)))
    return any(name in NAMES - _SAME_FOR_ALL_RUNS for name in names)


def _lists_columns(template: Template) -> bool:
    """Whether it prints columns of an inlet that only a run knows."""
    return any(map(lists_columns, template.find(nodes.Call)))


def _name_itself(node: nodes.Node) -> Iterator[nodes.Name]:
    if isinstance(node, nodes.Name):
        yield node


def _placeholder_names(
    asset: AssetSpec, template: Template, params: Mapping[str, object], relations: dict[str, str]
) -> dict[str, object]:
    """The names of a template with values that stand for those of any run.

    Values that differ by run are `MARK`, or one fixed moment. Rendering adds the relations it uses to ``relations``.
    """
    placeholder = _placeholder_time(template)
    times = ("schedule_date", "data_interval_start", "data_interval_end", "logical_date")
    previous_times = ("prev_data_interval_start_success", "prev_data_interval_end_success")
    text_formats = {
        "ds": "%Y-%m-%d",
        "ds_nodash": "%Y%m%d",
        "ts_nodash": "%Y%m%dT%H%M%S",
        "ts_nodash_with_tz": "%Y%m%dT%H%M%S%z",
    }
    return {
        "inlets": {name: _RelationPlaceholder(name, relations) for name in template.inlets},
        "outlets": {asset.name: _RelationPlaceholder(asset.name, relations)},
        "partitions": _RelationPlaceholder("", relations),
        "partition": {
            **dict.fromkeys(asset.partitioning.segment_columns, MARK),
            **_placeholder_of_partition_time(asset, placeholder),
        },
        "run_id": MARK,
        **dict.fromkeys((*times, *previous_times), placeholder),
        **{name: placeholder.strftime(form) for name, form in text_formats.items()},
        "ts": placeholder.isoformat(),
        "watermark": SimpleNamespace(low=MARK, high=MARK),
        "params": params,
    }


def _placeholder_time(template: Template) -> datetime:
    """A time that stands for any; pendulum's where the template asks a value for more than its text."""
    if not any(isinstance(each.node, nodes.Getattr) for each in template.find(nodes.Call)):
        return datetime(1907, 6, 5, 4, 3, 2, tzinfo=UTC)
    from pendulum import DateTime

    return DateTime(1907, 6, 5, 4, 3, 2, tzinfo=UTC)


def _placeholder_of_partition_time(asset: AssetSpec, placeholder: datetime) -> dict[str, object]:
    """The time of a run's one partition."""
    time = asset.partitioning.time
    return {} if time is None else {time.column or time.name: placeholder.date() if time.has_dates else placeholder}


class _RelationPlaceholder:
    """``inlets.x``: printed, its name in the query; its members are quoted columns."""

    __slots__ = ("__asset", "__relations")

    def __init__(self, asset: str, relations: dict[str, str]) -> None:
        self.__asset = asset
        self.__relations = relations

    def __sql__(self) -> str:
        name = f"relation of {self.__asset}"
        self.__relations[name] = self.__asset
        return f"`{name}`"

    def __getitem__(self, column: Any) -> SqlFragment:  # noqa: ANN401  as Jinja asks
        return SqlFragment(f"`{str(column).replace('`', '``')}`")


MOST_PARAMS: Final = 20
"""Sets of params by segment whose queries are compared: all must derive the same."""

StoredColumns = Callable[[AssetSpec], Collection[str] | None]
"""The columns of an asset's table as it is; None where they are not known."""


def _no_stored_columns(asset: AssetSpec) -> Collection[str] | None:
    del asset
    return None


@frozen
class AssetDerivations:
    """Derives the columns of a project's assets, each once.

    Attributes:
        stored: Looks up the stored columns of an asset, where neither a declaration nor its query gives them.
    """

    project: ProjectSpec
    stored: StoredColumns = _no_stored_columns
    _derivations: dict[str, QueryDerivation | None] = field(default_factory=dict)
    _queries: dict[tuple[str, int], RenderedQuery | None] = field(default_factory=dict)

    def query_of(self, asset: AssetSpec, text: str, params: Mapping[str, object]) -> RenderedQuery | None:
        """The result of `render_query` for an asset with one of its sets of params, cached."""
        key = (asset.name, id(params))
        if key not in self._queries:
            self._queries[key] = render_query(asset, text, params)
        return self._queries[key]

    def derivation_of(self, asset: AssetSpec) -> QueryDerivation | None:
        """The derivation of an asset's columns; None where its query is uncertain or missing."""
        if asset.name not in self._derivations:
            self._derivations[asset.name] = None  # unknown while it is derived, which ends a circle of assets
            self._derivations[asset.name] = derive_asset(
                asset, lambda name: self.columns_of(self.project.assets[name]), render=self.query_of
            )
        return self._derivations[asset.name]

    def columns_of(self, asset: AssetSpec) -> tuple[str, ...] | None:
        """All columns of an asset, in order: declared, else derived from its query, else stored; None if unknown."""
        if asset.columns:
            names = list(asset.columns)
            lower = {name.casefold() for name in names}
            return (*names, *(each for each in asset.partitioning.columns if each.casefold() not in lower))
        if (derivation := self.derivation_of(asset)) is not None:
            return (*derivation.columns,)
        stored = self.stored(asset)
        return None if stored is None else (*stored,)

    def reading_columns(self, asset: str, column: str) -> Iterator[tuple[AssetSpec, str, ColumnUse]]:
        """The columns of other assets that use the column: reader, its column, and the use.

        The reader's column is ``*`` where the use decides the set of rows, and ``?`` where the reader's uses are
        uncertain.
        """
        for reader in self.project.assets.values():
            if reader.name != asset and (asset not in reader.inlets or reader.inlets[asset].waits_only):
                continue
            yield from ((reader, name, use) for name, use in self._columns_using(reader, asset, column))

    def _columns_using(self, reader: AssetSpec, asset: str, column: str) -> Iterator[tuple[str, ColumnUse]]:
        """The columns of ``reader`` that use the column, each with its use; ``*`` where it decides the set of rows.

        Yields ``?`` if some uses are uncertain, unless the reader reads itself.
        """
        derivation = self.derivation_of(reader)
        uses_by_name = [] if derivation is None else [*derivation.columns.items(), ("*", derivation.rows)]
        is_uncertain = derivation is None or any(uses is None for _, uses in uses_by_name)
        if is_uncertain and reader.name != asset:
            yield "?", ColumnUse(asset, column)
        for name, uses in uses_by_name:
            yield from ((name, use) for use in uses or () if use.is_of(asset, column))


def param_sets(asset: AssetSpec) -> Sequence[Mapping[str, object]]:
    """The params of an asset's runs: one set for all, or one for each segment."""
    return [asset.params] if asset.segment_params is None else [*asset.segment_params.params.values()]


def derive_asset(
    asset: AssetSpec,
    columns: Callable[[str], Sequence[str] | None],
    *,
    render: Callable[[AssetSpec, str, Mapping[str, object]], RenderedQuery | None] = render_query,
) -> QueryDerivation | None:
    """The derivation of each column of an asset from its query; None if it is uncertain, or there is no query.

    With several sets of params, all must lead to the same derivation.

    Args:
        asset: The asset with the query.
        columns: Looks up all columns of an inlet by its name; None if they are unknown.
        render: Renders the query.
    """
    if not isinstance(asset.body, SqlBody) or asset.outlets:
        return None
    sets = param_sets(asset)
    if len(sets) > MOST_PARAMS:
        return None
    derivation: QueryDerivation | None = None
    for params in sets:
        query = render(asset, asset.body.text, params)
        derived = _derive_rendered_query(asset, query, columns) if query is not None else None
        if derived is None or (derivation is not None and derived != derivation):
            return None
        derivation = derived
    return _with_write_columns(derivation, asset) if derivation is not None else None


def asset_filters(asset: AssetSpec, columns: Callable[[str], Sequence[str] | None]) -> Mapping[str, RowFilter]:
    """By inlet, a filter that all its rows satisfy which a run of the asset can use; without uncertain filters.

    Args:
        asset: The asset with the query.
        columns: As of `derive_asset`.
    """
    from sparkassets.core.derivation.row_filters import find_row_filters  # with sqlglot

    if not isinstance(asset.body, SqlBody) or asset.outlets:
        return {}
    sets = param_sets(asset)
    common_filters: Mapping[str, RowFilter] | None = None
    for params in sets if len(sets) <= MOST_PARAMS else ():
        query = render_query(asset, asset.body.text, params)
        filters = (
            find_row_filters(query.sql, _relations_of_query(asset, query, columns), unknown=MARKS)
            if query is not None
            else {}
        )
        if not filters or (common_filters is not None and filters != common_filters):
            return {}
        common_filters = filters
    return common_filters or {}


def _derive_rendered_query(
    asset: AssetSpec, query: RenderedQuery, columns: Callable[[str], Sequence[str] | None]
) -> QueryDerivation | None:
    from sparkassets.core.derivation.query_derivation import derive_query  # with sqlglot

    derivation = derive_query(query.sql, _relations_of_query(asset, query, columns), value=MARK)
    return None if derivation is None or _has_mark_in_name(derivation) else derivation


def _relations_of_query(
    asset: AssetSpec, query: RenderedQuery, columns: Callable[[str], Sequence[str] | None]
) -> dict[str, QueryRelation]:
    """The relations that a rendered query reads, with their columns, by their names in it."""
    from sparkassets.core.derivation.row_sources import QueryRelation

    relations = {}
    for name, asset_name in query.relations.items():
        if not asset_name:
            bound_columns = ("start", "end") if asset.partitioning.time is not None else ()
            relations[name] = QueryRelation("", (*asset.partitioning.columns, *bound_columns))
        else:
            asset_columns = (
                None if asset_name == asset.name or _reads_change_feed(asset, asset_name) else columns(asset_name)
            )
            relations[name] = QueryRelation(asset_name, None if asset_columns is None else (*asset_columns,))
    return relations


def _reads_change_feed(asset: AssetSpec, inlet: str) -> bool:
    """Whether the asset reads the inlet's changes, whose rows have more columns than the inlet."""
    return inlet in asset.inlets and isinstance(asset.inlets[inlet].read, ReadChanges)


def _has_mark_in_name(derivation: QueryDerivation) -> bool:
    """Whether a value that only a run knows became part of a column's name, so that the derivation holds for no run."""
    uses = (use.column for each in (*derivation.columns.values(), derivation.rows) for use in each or ())
    return any(mark in name for name in (*derivation.columns, *uses) for mark in MARKS)


def _with_write_columns(derivation: QueryDerivation, asset: AssetSpec) -> QueryDerivation:
    """The derivation of the stored columns: the write drops some and adds those of a history."""
    if asset.write is None:
        return derivation
    stored = {name: uses for name, uses in derivation.columns.items() if asset.write.stores_column(name)}
    stored_names = {name.casefold() for name in stored}
    added = {name: None for name in asset.write.added_columns if name.casefold() not in stored_names}
    return QueryDerivation({**stored, **added}, derivation.rows)
