"""What the asset's own code writes: no commit of it is stamped, so that only who ran it knows that it did."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.validations import Judgement
from sparkassets.ports import CommitMarker, Committed, Computation, RunOrder
from sparkassets.spark.opened import opened
from sparkassets.spark.predicates import belonging
from sparkassets.spark.relation import relation_of
from sparkassets.spark.self_writing import SelfWriting
from sparkassets.spark.targets.judging import asked_of, judged
from sparkassets.spark.workplace import Workplace


class SelfWrittenTarget:
    """A target that a run writes itself; implements `ports.Target` as far as that can be: at least once.

    Fences hold in this process alone, and a run of which this process has not seen the end is not found.
    """

    def __init__(self, workplace: Workplace, asset: AssetSpec) -> None:
        self._workplace = workplace
        self._asset = asset
        self._fenced: int | None = None
        self._done: Committed | None = None

    def transaction_version(self) -> int | None:
        """The newest fence or run of this process."""
        return self._fenced

    def committed(self, runs: Sequence[str], *, above: int = 0) -> Sequence[Committed]:
        """The run, once its code has ended well."""
        del above
        return [self._done] if self._done is not None and self._done.run in runs else []

    def fence(self, computation: Computation | None, *, marker: CommitMarker) -> None:
        """Remembers it; what another process may still write nobody keeps from it."""
        del computation
        self._fenced = marker.version

    def prepare(self, computation: Computation, *, marker: CommitMarker) -> Judgement | None:
        """None: there are no rows before the code has written them."""
        del computation, marker
        return None

    def write(self, computation: Computation, *, marker: CommitMarker) -> None:
        """Has the code write, and judges what is in the table then; where it stands the runtime looks.

        Raises:
            RunError: The code failed, or a rule cannot be asked of such rows.
        """
        if not isinstance(computation, SelfWriting):
            raise TypeError(f"expected what compute returned, got {type(computation).__name__}")
        computation.write()
        self._fenced = marker.version
        marker = replace(marker, measures=computation.measures)
        if self._asset.rules:
            judgement = judged_in_table(self._workplace, computation, self._asset)
            marker = marker.judged(judgement, computation.order)
        self._done = Committed(marker.run, marker.token, marker.attempt, None, None, marker.measures, {})

    def segments(self, order: RunOrder, committed: Committed) -> Mapping[str, Sequence[str]]:
        """Nothing: what there is of a table that others than sparkassets write is for its code to add."""
        del order, committed
        return {}

    def compared(self, order: RunOrder, found: Committed) -> Committed:
        """As it is: whoever records the run looks at its table."""
        del order
        return found

    def remove_staged(self, runs: Sequence[str], *, upto: int, keep: Committed | None) -> None:
        """Nothing is staged."""

    def remove_iterations(self, *, keep: Collection[str], unsettled: Collection[int], tokens: range) -> None:
        """There are none."""


def judged_in_table(workplace: Workplace, computation: SelfWriting, asset: AssetSpec) -> Judgement:
    """What the rules of one of its tables say of the run's blocks, as they are in the table now.

    Raises:
        RunError: A rule cannot be asked of such rows.
        SourceError: An inlet that a rule asks vanished, was re-created or changed.
    """
    order = next(each for each in computation.order.written if each.asset.name == asset.name)
    with workplace.work(order) as (session, work):
        work.check(order.run)
        asked = asked_of(order, computation.compared(session, asset), workplace.packages)
        table = opened(session, relation_of(asset))
        if asked is None or table is None:
            return Judgement()  # whoever records the run says that there is no table
        rows, owner = table.rows(session, table.version)[0], f"the table of {asset.name}"
        predicate = belonging(rows.schema, order.blocks, partitioning=order.asset.partitioning, owner=owner)
        found = judged(order, asked, rows if predicate is None else rows.filter(predicate))
    return found.of_outlet(order.asset.name) if computation.order.outlets else found
