"""Renders a template as one query for all runs: values that differ by run become marks, which no name may hold.

A template whose shape depends on values that only a run knows (``{% if ds … %}``) has no such query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, Final

from jinja2 import TemplateError, nodes

from sparkassets.core.sandbox import SqlFragment, TooMuchError, render_sql
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.templating import NAMES, Template
from sparkassets.errors import InputError
from sparkassets.frozen import frozen

MARK: Final = "sa1907run"
"""Stands for a text that only a run knows."""
_YEAR: Final = "1907"
"""The year of placeholder times, for times that only a run knows."""
MARKS: Final = (MARK, _YEAR)

_FIXED: Final = frozenset({"inlets", "outlets", "params", "partitions"})
_FAILURES: Final = (
    *(InputError, TemplateError, TooMuchError),
    *(RecursionError, ValueError, TypeError, ArithmeticError, LookupError),
)
_SHAPING: Final = (nodes.If, nodes.For, nodes.CondExpr, nodes.Macro, nodes.CallBlock, nodes.Assign, nodes.AssignBlock)


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
        if any(_depends_on_run(node) for node in template.tree.find_all(_SHAPING)):
            return None
        return _render(asset, template, text, params)
    except _FAILURES:
        return None


def render_failure(asset: AssetSpec, text: str, params: Mapping[str, object]) -> str | None:
    """Why no run can render a template; None where one can, or where that depends on what only a run knows."""
    try:
        template = Template.parse(text)
        if any(name.name in NAMES - _FIXED for name in template.tree.find_all(nodes.Name)):
            return None
        _render(asset, template, text, params)
    except _FAILURES as error:
        return str(error) or type(error).__name__
    return None


def _render(asset: AssetSpec, template: Template, text: str, params: Mapping[str, object]) -> RenderedQuery:
    relations: dict[str, str] = {}
    sql = render_sql(text, _names(asset, template, params, relations))
    return RenderedQuery(sql.strip().rstrip(";"), relations)


def _depends_on_run(node: nodes.Node) -> bool:
    """Whether what shapes a query names what only a run knows."""
    inside = (
        [node.test]
        if isinstance(node, nodes.If | nodes.CondExpr)
        else [node.iter]
        if isinstance(node, nodes.For)
        else [node]
    )
    names = (name.name for each in inside for name in (*each.find_all(nodes.Name), *_self(each)))
    return any(name in NAMES - _FIXED for name in names)


def _self(node: nodes.Node) -> Iterator[nodes.Name]:
    if isinstance(node, nodes.Name):
        yield node


def _names(
    asset: AssetSpec, template: Template, params: Mapping[str, object], relations: dict[str, str]
) -> dict[str, object]:
    moment = _moment(template)
    times = ("schedule_date", "data_interval_start", "data_interval_end", "logical_date")
    before = ("prev_data_interval_start_success", "prev_data_interval_end_success")
    texts = {
        "ds": "%Y-%m-%d",
        "ds_nodash": "%Y%m%d",
        "ts_nodash": "%Y%m%dT%H%M%S",
        "ts_nodash_with_tz": "%Y%m%dT%H%M%S%z",
    }
    return {
        "inlets": {name: _RelationPlaceholder(name, relations) for name in template.inlets},
        "outlets": {asset.name: _RelationPlaceholder(asset.name, relations)},
        "partitions": _RelationPlaceholder("", relations),
        "partition": {**dict.fromkeys(asset.partitioning.segment_columns, MARK), **_slot(asset, moment)},
        "run_id": MARK,
        **dict.fromkeys((*times, *before), moment),
        **{name: moment.strftime(form) for name, form in texts.items()},
        "ts": moment.isoformat(),
        "watermark": SimpleNamespace(low=MARK, high=MARK),
        "params": params,
    }


def _moment(template: Template) -> datetime:
    """A time that stands for any; pendulum's where the template asks a value for more than its text."""
    if not any(isinstance(each.node, nodes.Getattr) for each in template.tree.find_all(nodes.Call)):
        return datetime(1907, 6, 5, 4, 3, 2, tzinfo=UTC)
    from pendulum import DateTime

    return DateTime(1907, 6, 5, 4, 3, 2, tzinfo=UTC)


def _slot(asset: AssetSpec, moment: datetime) -> dict[str, object]:
    """The time of a run's one block."""
    time = asset.partitioning.time
    return {} if time is None else {time.column or time.name: moment.date() if time.has_dates else moment}


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
