"""Traces a column upstream to its sources and downstream to its last readers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sparkassets.core.derivation.asset_columns import AssetDerivations
from sparkassets.core.derivation.column_uses import ColumnUse, UseKind
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.suggestions import did_you_mean
from sparkassets.errors import InputError
from sparkassets.frozen import frozen


@frozen
class LineageStep:
    """One step of a lineage: a column from which another is derived, or that is derived from it.

    Attributes:
        column: Empty where the column only decides which rows there are.
        how: How the one column is used in the other.
        masked: Whether only a hash of it comes through.
        is_certain: Whether the step is known; it is not for functions, nor for every query.
        is_repeated: Whether the step, with all that follow it, is listed elsewhere already.
        next_steps: The steps from there on, away from the column that was asked for.
    """

    asset: str
    column: str
    how: tuple[UseKind, ...] = ()
    masked: bool = False
    is_certain: bool = True
    is_repeated: bool = False
    next_steps: tuple[LineageStep, ...] = ()


@frozen
class ColumnLineage:
    """The lineage of one column, upstream and downstream.

    Attributes:
        sure: Whether its origin is known; a source's column has none.
        made_of: Columns that its values come from, or depend on.
        rows: Columns that decide which rows its asset has; None where that is uncertain.
        used_by: Columns that are derived from it.
    """

    asset: str
    column: str
    sure: bool
    made_of: tuple[LineageStep, ...]
    rows: tuple[LineageStep, ...] | None
    used_by: tuple[LineageStep, ...]


@frozen
class AssetColumnLineage:
    """The origin of each column of an asset, one step back.

    Attributes:
        columns: In order; None for an uncertain column. The whole is None where the columns are not known.
        rows: Columns that decide which rows there are; None where that is uncertain.
    """

    asset: str
    columns: dict[str, tuple[LineageStep, ...] | None] | None
    rows: tuple[LineageStep, ...] | None


def trace_column(derivations: AssetDerivations, asset: AssetSpec, column: str) -> ColumnLineage:
    """Traces one column upstream and downstream.

    Raises:
        InputError: The asset has no such column.
    """
    name, derivation = _find_column_name(derivations, asset, column), derivations.derivation_of(asset)
    uses = derivation.uses_of_column(name) if derivation is not None else None
    rows = derivation.rows if derivation is not None else None
    return ColumnLineage(
        asset.name,
        name,
        uses is not None or asset.source is not None,
        _UpstreamTracer(derivations).trace_steps(uses or ()),
        None if rows is None else _steps_one_back(rows),
        _DownstreamTracer(derivations).trace_steps(asset.name, name),
    )


def _find_column_name(derivations: AssetDerivations, asset: AssetSpec, column: str) -> str:
    """The name of the column as its asset has it; ``column`` itself where the asset's columns are not known.

    Raises:
        InputError: The asset has no such column.
    """
    known = derivations.columns_of(asset)
    if known is None:
        return column
    name = next((each for each in known if each.casefold() == column.casefold()), None)
    if name is None:
        raise InputError(f"asset {asset.name!r} has no column {column!r}", hint=did_you_mean(column, known))
    return name


def trace_asset_columns(derivations: AssetDerivations, asset: AssetSpec) -> AssetColumnLineage:
    """Traces every column of an asset one step upstream."""
    derivation = derivations.derivation_of(asset)
    if derivation is None:
        known = derivations.columns_of(asset)
        no_steps = () if asset.source is not None else None
        return AssetColumnLineage(asset.name, dict.fromkeys(known, no_steps) if known is not None else None, no_steps)
    columns = {name: None if uses is None else _steps_one_back(uses) for name, uses in derivation.columns.items()}
    return AssetColumnLineage(
        asset.name, columns, None if derivation.rows is None else _steps_one_back(derivation.rows)
    )


def _steps_one_back(uses: Iterable[ColumnUse]) -> tuple[LineageStep, ...]:
    return tuple(_build_step(asset, column, column_uses) for (asset, column), column_uses in _merge_uses(uses))


def _merge_uses(uses: Iterable[ColumnUse]) -> Iterator[tuple[tuple[str, str], list[ColumnUse]]]:
    """The uses of each column, in order of its name."""
    uses_by_column: dict[tuple[str, str], list[ColumnUse]] = {}
    for use in sorted(uses, key=lambda each: (each.asset, each.column, each.how)):
        uses_by_column.setdefault((use.asset, use.column), []).append(use)
    yield from uses_by_column.items()


def _build_step(asset: str, column: str, uses: Iterable[ColumnUse], *, is_certain: bool = True) -> LineageStep:
    all_uses = list(uses)
    how = tuple(dict.fromkeys(each.how for each in all_uses)) if is_certain else ()
    return LineageStep(asset, column, how, any(each.masked for each in all_uses), is_certain)


class _UpstreamTracer:
    """Traces towards the sources; each step is listed with its further steps once."""

    def __init__(self, derivations: AssetDerivations) -> None:
        self._derivations = derivations
        self._visited: set[tuple[str, str]] = set()

    def trace_steps(self, uses: Iterable[ColumnUse]) -> tuple[LineageStep, ...]:
        """The columns of these uses, each with its own origin."""
        return tuple(self._trace_further(_build_step(*key, column_uses), key) for key, column_uses in _merge_uses(uses))

    def _trace_further(self, step: LineageStep, key: tuple[str, str]) -> LineageStep:
        """The step with the columns that its own column comes from; ``key`` identifies the column.

        A column that was traced before is marked as repeated instead: its steps are listed where it came first.
        """
        asset = self._derivations.project.assets.get(step.asset)
        derivation = self._derivations.derivation_of(asset) if asset is not None else None
        uses = derivation.uses_of_column(step.column) if derivation is not None else None
        is_certain = uses is not None or asset is None or asset.source is not None
        if key in self._visited:
            return LineageStep(step.asset, step.column, step.how, step.masked, is_certain, is_repeated=bool(uses))
        self._visited.add(key)
        return LineageStep(
            step.asset, step.column, step.how, step.masked, is_certain, next_steps=self.trace_steps(uses or ())
        )


class _DownstreamTracer:
    """Traces towards the last readers; each step is listed with its further steps once."""

    def __init__(self, derivations: AssetDerivations) -> None:
        self._derivations = derivations
        self._visited: set[tuple[str, str]] = set()

    def trace_steps(self, asset: str, column: str) -> tuple[LineageStep, ...]:
        """The columns that are derived from a column, each with those derived from it."""
        self._visited.add((asset, column.casefold()))
        uses_by_reader: dict[tuple[str, str], list[ColumnUse]] = {}
        for reader, name, use in self._derivations.reading_columns(asset, column):
            uses_by_reader.setdefault((reader.name, name), []).append(use)
        return tuple(self._trace_further(*key, column_uses) for key, column_uses in uses_by_reader.items())

    def _trace_further(self, asset: str, column: str, uses: list[ColumnUse]) -> LineageStep:
        """The step to a reader's column with the steps from there on.

        ``*``, for the reader's set of rows, and ``?``, for uncertain uses, are no columns, so the trace ends there.
        """
        step = _build_step(asset, "" if column in ("*", "?") else column, uses, is_certain=column != "?")
        if not step.column:
            return step
        if (asset, column.casefold()) in self._visited:
            return LineageStep(asset, step.column, step.how, step.masked, is_repeated=True)
        return LineageStep(asset, step.column, step.how, step.masked, next_steps=self.trace_steps(asset, column))
