"""Compiles the checks of `validations`, one function each; every problem is reported at its own place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from typing import Any, Final

from sparkassets.core.definitions.definition import digest
from sparkassets.core.entry_points import Factory
from sparkassets.core.instants import Duration, InstantError
from sparkassets.core.query_text import MOST_NESTED, find_excess_nesting
from sparkassets.core.spec.bodies import find_function
from sparkassets.core.spec.drafts import ProjectDraft
from sparkassets.core.spec.module_source import ModuleSource
from sparkassets.core.spec.rule_maps import ForeignKeyMap, RangeMap, RowCountMap
from sparkassets.core.spec.sql_types import TypeNameError, check_type
from sparkassets.core.spec.value_kinds import one_or_more
from sparkassets.core.spec.yaml_document import DocumentPlace
from sparkassets.core.suggestions import KnownColumns
from sparkassets.core.validations import (
    AcceptedCheck,
    Check,
    CheckScope,
    ForeignKeyCheck,
    FreshnessCheck,
    HasColumnsCheck,
    NotNullCheck,
    PatternCheck,
    PythonCheck,
    RangeCheck,
    RowCountChange,
    RowCountCheck,
    SqlCheck,
    UniqueCheck,
)
from sparkassets.frozen import frozen

_BOUNDS: Final = frozenset({"min", "max", "change"})
_DEFAULT_HISTORY: Final = 7
"""Default number of earlier counts to which a row count is compared."""


@frozen
class CodeCatalog:
    """The Python code available: the project's allowed packages, existing modules and registered checks, by name."""

    project: ProjectDraft
    modules: Mapping[str, ModuleSource]
    checks: Mapping[str, Factory] = field(default_factory=dict)


@frozen
class CheckContext:
    """The context in which a check is compiled.

    Attributes:
        scope: Whether it judges rows, partitions or the run.
        columns: All columns of the rows, where they are known.
        of_inlet: Whether the rows are read, not written.
    """

    scope: CheckScope
    columns: KnownColumns | None
    code: CodeCatalog
    of_inlet: bool = False

    @property
    def wide_scope(self) -> Any:  # noqa: ANN401  one of two words
        """The scope of a check that does not judge rows: each partition (``partition``), or the run."""
        return "run" if self.scope == "run" else "partition"

    def check_columns(self, at: DocumentPlace, names: Sequence[str]) -> None:
        """Refuses columns that the rows do not have, and one that is there twice."""
        is_list = isinstance(at.value, list)
        seen: set[str] = set()
        for number, name in enumerate(names):
            place = at / number if is_list else at
            if name.lower() in seen:
                place.add_problem(f"the column {name!r} is listed twice")
            elif self.columns is not None and (refusal := self.columns.find_problem(name)):
                place.add_problem(refusal[0], hint=refusal[1])
            seen.add(name.lower())

    def check_key(self, at: DocumentPlace, name: str) -> None:
        """Refuses a column, which is a key, that the rows do not have."""
        if self.columns is not None and (refusal := self.columns.find_problem(name)):
            at.add_key_problem(refusal[0], hint=refusal[1])


def has_columns(
    written: list[str] | dict[str, str | None], at: DocumentPlace, context: CheckContext
) -> Iterator[Check]:
    """Compiles ``has_columns``."""
    del context
    columns = (
        dict.fromkeys(written, "")
        if isinstance(written, list)
        else {name: kind or "" for name, kind in written.items()}
    )
    for name, kind in columns.items():
        try:
            check_type(kind) if kind else None
        except TypeNameError as error:
            (at / name).add_text_problem(error.position, str(error.args[0]), width=error.width, hint=error.hint)
    if not columns:
        at.add_problem("'has_columns' is empty; expected a column")
    yield HasColumnsCheck(tuple(columns.items()))


def row_count(written: RowCountMap, at: DocumentPlace, context: CheckContext) -> Iterator[Check]:
    """Compiles ``row_count``."""
    if written.min is None and written.max is None and written.change is None and not _BOUNDS & _written_keys(at):
        at.add_problem("'row_count' has no bound; expected 'min', 'max' or 'change'")
    if written.min is not None and written.max is not None and written.min > written.max:
        (at / "max").add_problem(f"'max' is {written.max}, below 'min' {written.min}")
    if written.over is not None and written.change is None:
        (at / "over").add_key_problem("'over' needs 'change', which is missing")
    change = None
    if written.change is not None:
        change = _compile_change(at / "change", written.change, written.over or _DEFAULT_HISTORY)
        if context.of_inlet:
            hint = "validate the asset that writes the rows instead, or use 'min' and 'max'"
            (at / "change").add_key_problem(
                "'change' is not available for inlets: their earlier row counts are not recorded", hint=hint
            )
    yield RowCountCheck(written.min, written.max, change, context.wide_scope)


def _written_keys(at: DocumentPlace) -> set[str]:
    """The keys of the map at a place, valid or not; none where there is no map."""
    value = at.value
    return set(value) if isinstance(value, dict) else set()


def _compile_change(at: DocumentPlace, text: str, history_length: int) -> RowCountChange:
    """The bounds of ``-50%..+100%`` as fractions, None for an open side; 0, no change, must lie within them."""
    least, most = (Decimal(side.rstrip("%")) / 100 if side else None for side in text.split(".."))
    if least is None and most is None:
        at.add_problem("'change' has no bound; expected a range such as -50%..+100%")
    elif (least is not None and least > 0) or (most is not None and most < 0):
        hint = "include 0, as in -50%..+100%"
        at.add_problem(f"'change' is {text!r}: an unchanged number of rows would fail", hint=hint)
    return RowCountChange(least, most, history_length)


def not_null(written: str | list[str], at: DocumentPlace, context: CheckContext) -> Iterator[Check]:
    """Compiles ``not_null``."""
    columns = one_or_more(written)
    context.check_columns(at, columns)
    yield NotNullCheck(columns)


def unique(written: str | list[str], at: DocumentPlace, context: CheckContext) -> Iterator[Check]:
    """Compiles ``unique``."""
    columns = one_or_more(written)
    context.check_columns(at, columns)
    yield UniqueCheck(columns, context.wide_scope)


def accepted_values(written: Mapping[str, list[Any]], at: DocumentPlace, context: CheckContext) -> Iterator[Check]:
    """Compiles ``accepted``."""
    for column, values in written.items():
        context.check_key(at / column, column)
        if not values:
            (at / column).add_problem(f"{column!r} is an empty list: no row would pass")
        yield AcceptedCheck(column, tuple(values))


def range_(written: Mapping[str, RangeMap], at: DocumentPlace, context: CheckContext) -> Iterator[Check]:
    """Compiles ``range``."""
    for column, bounds in written.items():
        context.check_key(at / column, column)
        if bounds.min is None and bounds.max is None and not (at / column).value:
            (at / column).add_problem(f"the range of {column!r} has no bound; expected 'min' or 'max'")
        _check_bounds(at / column, bounds)
        yield RangeCheck(column, bounds.min, bounds.max)


def _check_bounds(at: DocumentPlace, bounds: RangeMap) -> None:
    """Refuses bounds that are booleans, of different kinds, or the wrong way round."""
    low, high = bounds.min, bounds.max
    booleans = [(key, bound) for key, bound in (("min", low), ("max", high)) if isinstance(bound, bool)]
    for key, bound in booleans:
        (at / key).add_problem(f"{key!r} is {str(bound).lower()}; expected a number, a date or a time")
    if low is None or high is None or booleans:
        return
    if isinstance(low, str) != isinstance(high, str):
        (at / "max").add_problem(f"'max' {high!r} and 'min' {low!r} are of different kinds")
    elif high < low:  # type: ignore[operator]  # both are numbers, or both texts
        (at / "max").add_problem(f"'max' is {high!r}, below 'min' {low!r}")


def pattern(written: Mapping[str, str], at: DocumentPlace, context: CheckContext) -> Iterator[Check]:
    """Compiles ``pattern``."""
    for column, regex in written.items():
        context.check_key(at / column, column)
        yield PatternCheck(column, regex)


def freshness(written: Mapping[str, str], at: DocumentPlace, context: CheckContext) -> Iterator[Check]:
    """Compiles ``freshness``."""
    for column, text in written.items():
        context.check_key(at / column, column)
        try:
            max_age = Duration.parse(text)
        except InstantError as error:
            (at / column).add_problem(str(error.args[0]), hint=error.hint)
            continue
        if max(max_age.months, max_age.days, max_age.seconds) <= 0:
            (at / column).add_problem(f"{column!r} is {text!r}; expected a positive duration")
        yield FreshnessCheck(column, max_age, context.wide_scope)


def foreign_key(
    written: Mapping[str, str] | ForeignKeyMap, at: DocumentPlace, context: CheckContext
) -> Iterator[Check]:
    """Compiles ``foreign_key``; the asset and its columns are checked with the inlets."""
    if isinstance(written, ForeignKeyMap):
        key = foreign_key_from_map(written)
        context.check_columns(at / "columns", key.columns)
        if len(key.to) != len(key.columns):
            (at / "to").add_problem(f"'to' has {len(key.to)} columns, but 'columns' has {len(key.columns)}")
        yield key
        return
    for column, target in written.items():
        context.check_key(at / column, column)
        key = foreign_key_from_text(column, target)
        if not key.asset or not key.to[0]:
            (at / column).add_problem(f"{column!r} is {target!r}; expected <asset>.<column>")
        yield key


def foreign_key_from_map(written: ForeignKeyMap) -> ForeignKeyCheck:
    """The foreign key of a map."""
    columns = one_or_more(written.columns)
    return ForeignKeyCheck(columns, written.asset, one_or_more(written.to) or columns)


def foreign_key_from_text(column: str, target: str) -> ForeignKeyCheck:
    """The foreign key of one column, ``asset.column``.

    >>> foreign_key_from_text("shop", "shops.id")
    ForeignKeyCheck(columns=('shop',), asset='shops', to=('id',))
    """
    asset, _, other = target.partition(".")
    return ForeignKeyCheck((column,), asset, (other,))


def sql(written: str, at: DocumentPlace, context: CheckContext) -> Iterator[Check]:
    """Compiles ``sql``."""
    check_text(at, written)
    yield SqlCheck(written.strip(), context.scope)


def python(written: str, at: DocumentPlace, context: CheckContext) -> Iterator[Check]:
    """Compiles ``python``."""
    source = find_function(at, written, context.code.project, context.code.modules)
    if source is None:
        return
    module, function = source
    if len(function.arguments) != 1 or function.arguments[0].collects:
        names = ", ".join(each.name for each in function.arguments) or "none"
        at.add_problem(f"the function {written!r} has the arguments {names}; expected one, for the rows")
    name, _, function_name = written.partition(":")
    code_digest = digest(*(f"{part}={text}" for part, text in sorted(function.parts.items())))
    yield PythonCheck(name, function_name, context.scope, module.search_path, code_digest)


CHECK_BUILDERS: Final[Mapping[str, Callable[[Any, DocumentPlace, CheckContext], Iterator[Check]]]] = {
    "has_columns": has_columns,
    "row_count": row_count,
    "not_null": not_null,
    "unique": unique,
    "accepted": accepted_values,
    "range": range_,
    "pattern": pattern,
    "freshness": freshness,
    "foreign_key": foreign_key,
    "sql": sql,
    "python": python,
}
"""The function that compiles the checks of each key; several columns give one check each."""


def check_text(at: DocumentPlace, text: str | None) -> None:
    """Refuses a text that is empty, a template, or nested too deep for a parser."""
    if text is not None and not text.strip():
        at.add_problem(f"{at.path[-1]!r} is empty")
    elif text is not None and find_excess_nesting(text) is not None:
        at.add_problem(f"{at.path[-1]!r} nests more than {MOST_NESTED:,} brackets")
    elif text is not None and ("{{" in text or "{%" in text):
        at.add_problem(f"{at.path[-1]!r} cannot be a template", hint="it may use only the columns of the rows")
