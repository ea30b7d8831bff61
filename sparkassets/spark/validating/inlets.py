"""Validations of inlets: what is about to be read is judged before any work, all of an inlet as one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.spec.model import AssetSpec, InletSpec
from sparkassets.core.validations import HasColumns, Judgement, Rule, Verdict, judge
from sparkassets.errors import RunError
from sparkassets.ports import RunOrder
from sparkassets.spark.validating.blocks import BlockKeys
from sparkassets.spark.validating.calling import Caller
from sparkassets.spark.validating.failing import Asked
from sparkassets.spark.validating.measuring import measure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MOST_ROWS = 3
"""Rows that fail in a message."""


def check_inlets(order: RunOrder, frames: Mapping[str, DataFrame], packages: Collection[str]) -> tuple[Verdict, ...]:
    """What the rules of the inlets found; each with the inlet and the blocks of the run.

    Args:
        order: The run.
        frames: What it is about to read, by inlet.
        packages: Those that functions may come from.

    Raises:
        RunError: An inlet breaks one of its rules.
    """
    told: list[Verdict] = []
    for name, inlet in order.asset.inlets.items():
        rules = tuple(_rules(inlet, order.inlets[name])) if name in frames else ()
        if not rules:
            continue
        judgement = _judged(order, name, rules, frames, packages)
        if bad := judgement.of("withheld"):
            raise _refusal(order.asset, name, bad)
        asked = {rule.name for rule in inlet.rules}
        told += [replace(each, blocks=order.blocks, inlet=name) for each in judgement.verdicts if each.rule in asked]
    return tuple(told)


def _rules(inlet: InletSpec, read: AssetSpec) -> Iterator[Rule]:
    """Its own, and that a table that others write has the columns which are declared of it."""
    if read.source is not None and read.source.kind in ("delta", "tables") and read.columns:
        yield Rule(f"has_columns of {read.name}", HasColumns(tuple(read.columns.items())), place=read.location)
    yield from inlet.rules


def _judged(
    order: RunOrder, name: str, rules: tuple[Rule, ...], frames: Mapping[str, DataFrame], packages: Collection[str]
) -> Judgement:
    read = order.inlets[name]
    asked = Asked(
        f"the inlet {name!r}",
        rules,
        frames,
        Caller(order.asset.name, packages, order.asset.location),
        read.partitioning.time.timezone if read.partitioning.time is not None else read.timezone,
        frozenset(column.lower() for column in read.private),
    )
    return judge(rules, measure(frames[name], asked, BlockKeys.whole(EVERYTHING)), [EVERYTHING])


def _refusal(asset: AssetSpec, name: str, bad: tuple[Verdict, ...]) -> RunError:
    """What is said of an inlet that breaks its rules."""
    told = "; ".join(each.text for each in bad)
    samples = [sample for each in bad for sample in each.samples][:_MOST_ROWS]
    rows = "; ".join(", ".join(f"{key}={value}" for key, value in sample.items()) for sample in samples)
    shown = f" (such as {rows})" if rows else ""
    made = RunError(f"{asset.name}: the inlet {name!r} breaks what is asked of it: {told}{shown}")
    made.of_data = True
    return made
