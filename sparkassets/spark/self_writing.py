"""Assets whose own code writes their target: the computation, and the target at least once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.validations import ForeignKeyCheck, RunJudgement
from sparkassets.ports import CommitStamp, DataCommit, RunComputation, RunOrder
from sparkassets.spark.computation import collect_measures
from sparkassets.spark.context import Context
from sparkassets.spark.inlet_reader import ReadInlets, read_inlets
from sparkassets.spark.open_tables import find_table
from sparkassets.spark.predicates import partition_predicate
from sparkassets.spark.table_locations import location_of
from sparkassets.spark.targets.judged_rows import find_rules, judge_rows
from sparkassets.spark.workplace import SparkWorkplace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class SelfWritingComputation:
    """The work of a run with its inlets opened; nothing is done before `write`.

    Attributes:
        order: The run.
        work: Calls the function or executes the statements.
    """

    order: RunOrder
    context: Context
    inlets: ReadInlets = field(repr=False)
    work: Callable[[], None] = field(repr=False)
    _ended: list[bool] = field(default_factory=list, repr=False)

    def write(self) -> None:
        """Does the work once, however many tables it writes.

        Raises:
            RunError: Whatever its code raised.
        """
        if not self._ended:
            self.work()
            self._ended.append(True)

    def open_compared_inlets(self, session: SparkSession, asset: AssetSpec) -> ReadInlets:
        """Inlets that rules of one table ask; those that the code read by itself are opened here.

        Raises:
            SourceError: Such an inlet vanished, was re-created or changed.
        """
        compared = {rule.check.asset for rule in asset.rules if isinstance(rule.check, ForeignKeyCheck)}
        unread = compared - self.inlets.frames.keys()
        if not unread:
            return self.inlets
        inlets = {name: replace(self.order.asset.inlets[name], waits_only=False) for name in sorted(unread)}
        opened = read_inlets(session, replace(self.order, asset=replace(self.order.asset, inlets=inlets)))
        return replace(self.inlets, frames={**self.inlets.frames, **opened.frames})

    @property
    def measures(self) -> Mapping[str, Any]:
        """As of `SparkComputation`, with the extras of each outlet."""
        extras = {name: dict(outlet.extra) for name, outlet in self.context.outlets.items() if self.order.outlets}
        outlets = {name: extra for name, extra in extras.items() if extra}
        order = self.order.with_new_segments(self.context.added_segments)
        return {**collect_measures(order, self.context, self.inlets), **({"outlets": outlets} if outlets else {})}

    def release(self) -> None:
        """Nothing is held."""


class SelfWrittenTarget:
    """A target that a run writes itself; implements `ports.Target` as far as possible: at least once.

    Fences hold in this process only, and a run whose end this process has not seen is not found.
    """

    def __init__(self, workplace: SparkWorkplace, asset: AssetSpec) -> None:
        self._workplace = workplace
        self._asset = asset
        self._newest_version: int | None = None
        self._ended: DataCommit | None = None

    def transaction_version(self) -> int | None:
        """The newest fence or run of this process."""
        return self._newest_version

    def find_commits(self, runs: Sequence[str], *, above: int = 0) -> Sequence[DataCommit]:
        """The run, once its code has succeeded."""
        del above
        return [self._ended] if self._ended is not None and self._ended.run in runs else []

    def fence(self, computation: RunComputation | None, *, stamp: CommitStamp) -> None:
        """Remembers the fence; nothing stops another process from writing."""
        del computation
        self._newest_version = stamp.version

    def prepare(self, computation: RunComputation, *, stamp: CommitStamp) -> RunJudgement | None:
        """None: there are no rows before the code has written them."""
        del computation, stamp
        return None

    def write(self, computation: RunComputation, *, stamp: CommitStamp) -> None:
        """Runs the code, and judges what is in the table then; the runtime looks where that stands.

        Raises:
            RunError: The code failed, or a rule does not fit the rows.
        """
        if not isinstance(computation, SelfWritingComputation):
            raise TypeError(f"expected what compute returned, got {type(computation).__name__}")
        computation.write()
        self._newest_version = stamp.version
        stamp = replace(stamp, measures=computation.measures)
        if self._asset.rules:
            judgement = judge_written_table(self._workplace, computation, self._asset)
            stamp = stamp.with_judgement(judgement, computation.order)
        self._ended = DataCommit(stamp.run, stamp.token, stamp.attempt, None, None, stamp.measures, {})

    def read_segments(self, order: RunOrder, committed: DataCommit) -> Mapping[str, Sequence[str]]:
        """Nothing: the code itself adds segments of a table that sparkassets does not write."""
        del order, committed
        return {}

    def detect_unchanged(self, order: RunOrder, found: DataCommit) -> DataCommit:
        """Returns ``found``: whoever records the run looks at its table."""
        del order
        return found

    def remove_staged(self, runs: Sequence[str], *, upto: int, keep: DataCommit | None) -> None:
        """Does nothing: nothing is staged."""

    def remove_iterations(self, *, keep: Collection[str], unsettled: Collection[int], tokens: range) -> None:
        """Does nothing: there are none."""


def judge_written_table(
    workplace: SparkWorkplace, computation: SelfWritingComputation, asset: AssetSpec
) -> RunJudgement:
    """The judgement of the run's partitions as they are in one of its tables now.

    Raises:
        RunError: A rule cannot be asked of such rows.
        SourceError: An inlet that a rule asks vanished, was re-created or changed.
    """
    order = next(each for each in computation.order.table_orders if each.asset.name == asset.name)
    with workplace.work(order) as (session, work):
        work.check(order.run)
        rules = find_rules(order, computation.open_compared_inlets(session, asset), workplace.packages)
        table = find_table(session, location_of(asset))
        if rules is None or table is None:
            return RunJudgement()  # whoever records the run says that there is no table
        rows, owner = table.read_rows(session, table.version)[0], f"the table of {asset.name}"
        predicate = partition_predicate(
            rows.schema, order.partitions, partitioning=order.asset.partitioning, owner=owner
        )
        judgement = judge_rows(order, rules, rows if predicate is None else rows.filter(predicate))
    return judgement.with_outlet(order.asset.name) if computation.order.outlets else judgement
