"""Rows that a run describes but has not computed yet, with the plans that its outlets share.

A function that splits rows (`randomSplit`, a random number, its own code) describes each part separately, and Spark
would compute everything before the split once for each: rows that differ the second time could be in both parts, or in
none. So the common part of the outlets' plans is cached.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from sparkassets.core.partitions import PartitionSet
from sparkassets.core.partitions.json_form import encode_partitions
from sparkassets.core.validations import verdicts_to
from sparkassets.ports import RunComputation, RunOrder
from sparkassets.spark.capabilities import capabilities_of
from sparkassets.spark.context import Context
from sparkassets.spark.failures import explain_errors
from sparkassets.spark.inlet_reader import ReadInlets
from sparkassets.spark.open_tables import TableDescription
from sparkassets.spark.own_session import is_remote
from sparkassets.spark.partition_guard import guard_for
from sparkassets.spark.upserts.staged_rows import KeptRows
from sparkassets.spark.versions import dataset_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_CHEAP: Final = frozenset(
    ["Filter", "LocalRelation", "LogicalRDD", "LogicalRelation", "Project", "Range", "Relation", "SubqueryAlias"]
)
"""Plan nodes that only read or pick rows: computing them twice is cheaper than caching, and deterministic."""


def cache_common_plan(frames: Sequence[DataFrame]) -> Any | None:  # noqa: ANN401  a data set of the JVM
    """Caches the largest plan that all frames share, until ``unpersist`` of the returned frame.

    None if they share nothing worth it, or if the session cannot cache or does not reveal its plans (Spark Connect).
    """
    if len(frames) < 2 or is_remote(frames[0].sparkSession):  # noqa: PLR2004  two have something in common
        return None
    with suppress(Exception):  # a platform's own Spark may have no such classes: nothing is held then
        common = _find_common_plan([frame._jdf.queryExecution().analyzed() for frame in frames])  # noqa: SLF001  no other way
        return None if common is None else dataset_of(frames[0], common).persist()
    return None


def _find_common_plan(plans: Sequence[Any]) -> Any | None:  # noqa: ANN401  a plan of the JVM
    """The topmost part of the first plan that is in all other plans and worth caching; None if there is none."""
    others = [{node.semanticHash() for node in _walk_plan(plan)} for plan in plans[1:]]
    return next(
        (
            node
            for node in _walk_plan(plans[0])
            if all(node.semanticHash() in hashes for hashes in others) and _is_worth_caching(node)
        ),
        None,
    )


def _is_worth_caching(plan: Any) -> bool:  # noqa: ANN401  a plan of the JVM
    """Whether the plan is worth caching: it does more than read and pick rows, or may yield others the second time."""
    return not plan.deterministic() or any(node.nodeName() not in _CHEAP for node in _walk_plan(plan))


def _walk_plan(plan: Any) -> Iterator[Any]:  # noqa: ANN401  plans of the JVM
    """The plan and all plans below it, from the top."""
    queue = [plan]
    for node in queue:
        yield node
        children = node.children()
        queue += [children.apply(number) for number in range(children.size())]


@dataclass(frozen=True)
class SparkComputation:
    """The rows of one table, described but not computed yet.

    Attributes:
        order: The run whose rows they are.
        schema: Their schema; a fence creates a missing table with it.
        target: The table as it was; None where there was none.
        read_version: The table's version that the rows were made from; None if they do not read it.
        writes_files: Whether the function wrote files, to which the rows only point.
        kept_rows: The rows as staged to be judged; None before.
    """

    order: RunOrder
    frame: DataFrame
    schema: StructType
    target: TableDescription | None
    context: Context
    inlets: ReadInlets = field(repr=False)
    read_version: int | None = None
    writes_files: bool = False
    kept_rows: KeptRows | None = None

    def release(self) -> None:
        """Nothing is held but while it is written."""

    def without(self, withheld: PartitionSet) -> SparkComputation:
        """The same without the rows of withheld partitions."""
        if not withheld:
            return self
        order = self.order.restrict_to(self.order.partitions - withheld)
        partitions = guard_for(order, self.frame.schema)
        return replace(
            self, order=order, frame=self.frame if partitions is None else self.frame.filter(partitions.predicate)
        )

    @property
    def measures(self) -> Mapping[str, Any]:
        """The measures of the run, and whether its function wrote files."""
        measures = collect_measures(self.order, self.context, self.inlets)
        return {**measures, "writes": "files"} if self.writes_files else measures


def collect_measures(order: RunOrder, context: Context, inlets: ReadInlets) -> dict[str, Any]:
    """Watermarks by inlet, extras and events of a function, and verdicts of inlets' rules."""
    highs = {name: mark.high for name, mark in inlets.watermarks.items() if mark.high is not None}
    highs |= {name: str(changes.position) for name, changes in inlets.changes.items()}
    added, left = context.added_segments, order.left_segments
    columns = sorted({*added, *left})
    measures = {
        "watermarks": highs,
        "extra": dict(context.extra),
        "events": list(context.announced_events),
        "keys": {each: [*dict.fromkeys((*added.get(each, ()), *left.get(each, ())))] for each in columns},
        "found": encode_partitions(order.discovered_partitions) if order.discovered_partitions else None,
        "inlets": verdicts_to(inlets.verdicts),
    }
    return {name: value for name, value in measures.items() if value}


@dataclass(frozen=True)
class OutletComputations:
    """The rows of each outlet of a multi-asset's run, from one context and the same inlets.

    Attributes:
        parts: By outlet.
    """

    parts: Mapping[str, SparkComputation]
    _cached_frames: contextlib.ExitStack = field(default_factory=contextlib.ExitStack, repr=False)
    _common_rows: list[Any] = field(default_factory=list, repr=False)

    def hold(self) -> None:
        """Caches what all outlets have in common until `release`, where a session can."""
        if self._common_rows:
            return
        common = cache_common_plan([part.frame for part in self.parts.values()])
        self._common_rows.append(common)
        if common is not None:
            self._cached_frames.callback(common.unpersist, False)  # noqa: FBT003  of the JVM

    def release(self) -> None:
        """Releases everything that is held."""
        self._cached_frames.close()

    @property
    def measures(self) -> Mapping[str, Any]:
        """The measures of the run, and the extras of each outlet."""
        measures = dict(next(iter(self.parts.values())).measures)
        extras = {name: dict(part.context.outlets[name].extra) for name, part in self.parts.items()}
        if any(extras.values()):
            measures["outlets"] = {name: extra for name, extra in extras.items() if extra}
        return measures


def computation_for(computation: RunComputation, outlet: str) -> SparkComputation:
    """The computation of one outlet."""
    if isinstance(computation, OutletComputations):
        return computation.parts[outlet]
    if not isinstance(computation, SparkComputation):
        raise TypeError(f"expected what compute returned, got {type(computation).__name__}")
    return computation


@contextlib.contextmanager
def hold_rows(computation: SparkComputation, *, always: bool = False) -> Iterator[None]:
    """Computes rows that come from files once, and caches them while the context lasts.

    The files can then be checked after they were read and before anything is committed. ``always`` caches any rows.

    Raises:
        RunError: The rows cannot be computed.
        SourceError: Files changed while they were read.
    """
    from pyspark.errors import PySparkException

    if not computation.inlets.files and not always:
        yield
        return
    cached = None
    if capabilities_of(computation.frame.sparkSession).holds_rows:
        with suppress(PySparkException):  # a serverless session refuses
            cached = computation.frame.persist()
    if cached is None:  # the check comes before the read only
        computation.inlets.check_files()
        yield
        return
    try:
        with explain_errors(what=computation.order.asset.name):
            cached.count()
        computation.inlets.check_files()
        yield
    finally:
        cached.unpersist()
