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
    known = derivations.columns_of(asset)
    name = next((each for each in known or () if each.casefold() == column.casefold()), None)
    if known is not None and name is None:
        raise InputError(f"asset {asset.name!r} has no column {column!r}", hint=did_you_mean(column, known))
    name, found = name or column, derivations.derivation_of(asset)
    uses = found.uses_of_column(name) if found is not None else None
    rows = found.rows if found is not None else None
    return ColumnLineage(
        asset.name,
        name,
        uses is not None or asset.source is not None,
        _UpstreamTracer(derivations).trace_steps(uses or ()),
        None if rows is None else _steps_one_back(rows),
        _DownstreamTracer(derivations).trace_steps(asset.name, name),
    )


def trace_asset_columns(derivations: AssetDerivations, asset: AssetSpec) -> AssetColumnLineage:
    """Traces every column of an asset one step upstream."""
    found = derivations.derivation_of(asset)
    if found is None:
        known = derivations.columns_of(asset)
        open_ = () if asset.source is not None else None
        return AssetColumnLineage(asset.name, dict.fromkeys(known, open_) if known is not None else None, open_)
    columns = {name: None if uses is None else _steps_one_back(uses) for name, uses in found.columns.items()}
    return AssetColumnLineage(asset.name, columns, None if found.rows is None else _steps_one_back(found.rows))


def _steps_one_back(uses: Iterable[ColumnUse]) -> tuple[LineageStep, ...]:
    return tuple(_step(asset, column, own) for (asset, column), own in _merge_uses(uses))


def _merge_uses(uses: Iterable[ColumnUse]) -> Iterator[tuple[tuple[str, str], list[ColumnUse]]]:
    """The uses of each column, in order of its name."""
    found: dict[tuple[str, str], list[ColumnUse]] = {}
    for use in sorted(uses, key=lambda each: (each.asset, each.column, each.how)):
        found.setdefault((use.asset, use.column), []).append(use)
    yield from found.items()


def _step(asset: str, column: str, uses: Iterable[ColumnUse], *, sure: bool = True) -> LineageStep:
    found = list(uses)
    how = tuple(dict.fromkeys(each.how for each in found)) if sure else ()
    return LineageStep(asset, column, how, any(each.masked for each in found), sure)


class _UpstreamTracer:
    """Traces towards the sources; each step is listed with its further steps once."""

    def __init__(self, derivations: AssetDerivations) -> None:
        self._derivations = derivations
        self._told: set[tuple[str, str]] = set()

    def trace_steps(self, uses: Iterable[ColumnUse]) -> tuple[LineageStep, ...]:
        """The columns of these uses, each with its own origin."""
        return tuple(self._trace_further(_step(*key, own), key) for key, own in _merge_uses(uses))

    def _trace_further(self, step: LineageStep, key: tuple[str, str]) -> LineageStep:
        """The step with the columns that its own column comes from; ``key`` identifies the column.

        A column that was traced before is marked as repeated instead: its steps are listed where it came first.
        """
        asset = self._derivations.project.assets.get(step.asset)
        found = self._derivations.derivation_of(asset) if asset is not None else None
        uses = found.uses_of_column(step.column) if found is not None else None
        sure = uses is not None or asset is None or asset.source is not None
        if key in self._told:
            return LineageStep(step.asset, step.column, step.how, step.masked, sure, is_repeated=bool(uses))
        self._told.add(key)
        return LineageStep(
            step.asset, step.column, step.how, step.masked, sure, next_steps=self.trace_steps(uses or ())
        )


class _DownstreamTracer:
    """Traces towards the last readers; each step is listed with its further steps once."""

    def __init__(self, derivations: AssetDerivations) -> None:
        self._derivations = derivations
        self._told: set[tuple[str, str]] = set()

    def trace_steps(self, asset: str, column: str) -> tuple[LineageStep, ...]:
        """The columns that are derived from a column, each with those derived from it."""
        self._told.add((asset, column.casefold()))
        found: dict[tuple[str, str], list[ColumnUse]] = {}
        for reader, name, use in self._derivations.reading_columns(asset, column):
            found.setdefault((reader.name, name), []).append(use)
        return tuple(self._trace_further(*key, own) for key, own in found.items())

    def _trace_further(self, asset: str, column: str, uses: list[ColumnUse]) -> LineageStep:
        step = _step(asset, "" if column in ("*", "?") else column, uses, sure=column != "?")
        if not step.column:
            return step
        if (asset, column.casefold()) in self._told:
            return LineageStep(asset, step.column, step.how, step.masked, is_repeated=True)
        return LineageStep(asset, step.column, step.how, step.masked, next_steps=self.trace_steps(asset, column))
