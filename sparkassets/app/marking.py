"""Correcting what is known of blocks without running them; needs no Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sparkassets.app.backfilling import interval_asked, named_blocks
from sparkassets.app.opened import Opened
from sparkassets.core.instants import unix
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.spec.model import AssetSpec
from sparkassets.errors import InputError
from sparkassets.frozen import frozen
from sparkassets.runtime.news import changed_specs, observe
from sparkassets.runtime.targets import look_at_targets

if TYPE_CHECKING:
    from sparkassets.core.journal.entries import Entry
    from sparkassets.core.journal.marks import Marked, MarkKind
    from sparkassets.core.journal.state import ClaimState, State
    from sparkassets.runtime.ledger import Ledger


@frozen
class Named:
    """What a person names of an asset.

    Attributes:
        partitions: Keys ``A..B`` or ``A``.
        interval: Instants ``A..B``, or ``A`` where it starts, of an asset without partitions.
        run: The name of a run of such an asset.
    """

    partitions: tuple[str, ...] = ()
    interval: str | None = None
    run: str = ""

    def interval_of(self, asset: AssetSpec) -> tuple[int, int] | None:
        """The interval in Unix seconds.

        Raises:
            InputError: The asset has partitions, or the interval is none.
        """
        if asset.partitioning.is_partitioned and (self.run or self.interval is not None):
            given = "--run" if self.run else "--interval"
            raise InputError(f"asset {asset.name!r} has partitions: leave {given} out, which is for those without")
        return interval_asked(asset, self.interval)


class Marking(Opened):
    """What people can say of the partitions of a project."""

    def mark(self, asset: str, kind: MarkKind, *partitions: str, interval: str | None = None, reason: str) -> Marked:
        """Says that partitions are done, missing or to be skipped, without running them; needs no Spark.

        ``done`` counts as computed: what failed, or was loaded by hand, is news for those that read it. ``missing`` is
        computed again, as soon as its gates are open; its rows stay until then. What is to ``skip`` is not wanted until
        it is marked as missing, and nobody waits for it.

        Args:
            asset: Its name.
            kind: ``done``, ``missing`` or ``skip``.
            partitions: Keys ``A..B`` or ``A``, inclusive; none for an asset without partitions.
            interval: Of an asset without partitions that has a run for each instance: the data interval of one of
                them, instants ``A..B``, or ``A`` where it starts; None for all that are due.
            reason: Why, for people; without credentials.

        Raises:
            InputError: The asset is a source, its keys are wrong, no instance has that interval, some of them run, or
                the reason is missing.
        """
        return self._mark(asset, kind, Named(tuple(partitions), interval), reason, verb="mark")

    def accept(
        self, asset: str, *partitions: str, interval: str | None = None, run: str | None = None, reason: str
    ) -> Marked:
        """Says that what is withheld is to be published although its validations fail; needs no Spark.

        The next run computes it again and publishes it; once something new comes for it, it is judged anew.

        Args:
            asset: Its name.
            partitions: Keys ``A..B`` or ``A``, inclusive; none for all that is withheld.
            interval: Instants ``A..B``, for an asset without partitions: the data interval of the withheld run.
            run: The withheld run itself, for such an asset. Where several are withheld, one of them has to be named.
            reason: Why, for people; without credentials.

        Raises:
            InputError: Some of them are not withheld, or run; several runs are, and none is named; the asset is a
                source, or the reason is missing.
        """
        named = Named(tuple(partitions), interval, run or "")
        return self._mark(asset, "accept", named, reason, verb="accept")

    def _mark(self, asset: str, kind: MarkKind, named: Named, reason: str, *, verb: str) -> Marked:
        from sparkassets.core.journal.marks import Marked, MarkEntry
        from sparkassets.core.planner.marking import Marking as Asked
        from sparkassets.core.planner.marking import checked_reason, entries
        from sparkassets.core.planner.pending import meant

        if self.runnable(asset, verb).source is not None:
            raise InputError(
                f"asset {asset!r} is a source: others write it, so there is nothing to {verb}",
                hint="`sparkassets events add` tells of an update",
            )
        spec = self._known(verb).assets[asset]
        blocks = EVERYTHING if kind == "accept" and not named.partitions else named_blocks(spec, named.partitions)
        head = (spec, blocks, kind, checked_reason(reason), self._adapters.user())
        asked = Asked(*head, named.interval_of(spec), named.run)
        known: list[PartitionSet] = []
        asking: list[ClaimState] = []

        def decide(state: State) -> Sequence[Entry]:
            context = self._moment(state)
            own = context.state_of(spec)
            known[:] = [meant(context, spec, own, asked.blocks)]
            asking[:] = [link for each in own.asking for link in own.chains[each.slot] if link is not each]
            return entries(context, asked)

        with self._opened(verb) as ledger:
            ledger.commit(lambda state: changed_specs(self.spec, state))
            ledger.commit(lambda state: self._seen(ledger, state, asset))
            recorded = ledger.commit(decide)
            left = {link.token for link in ledger.state.assets[asset].chain}
        said = [each.entry for each in recorded if isinstance(each.entry, MarkEntry) and each.entry.asset == asset]
        made = PartitionSet.union(entry.blocks for entry in said)
        settled = tuple(link.entry.run for link in asking if link.token not in left)
        partly = kind == "accept" and spec.partitioning.is_partitioned
        rest = NOTHING if blocks.is_everything and partly else known[0] - made
        instance = next((entry.instance for entry in said if entry.instance is not None), asked.interval)
        return Marked(asset, kind, asked.reason, asked.by, made, rest, settled, instance)

    def _seen(self, ledger: Ledger, state: State, asset: str) -> Sequence[Entry]:
        """What happened until now to the sources and to the tables of the asset and of what it reads.

        The mark is about that, too: what is due as it is made is what a run would find.
        """
        given = self._adapters
        over = given.leases().over(state, mine=frozenset())
        news = observe(self.spec, state, given.observer, now=given.clock.now())
        tables = look_at_targets(self.spec, state, given.targets(), gone=over, knows=ledger.knows, select=[asset])
        return [*news.entries, *tables.entries]

    def _moment(self, state: State) -> PlanningContext:
        now = unix(self._adapters.clock.now())
        over = self._adapters.leases().over(state, mine=frozenset())
        return PlanningContext(self.spec, state, now, now, gone=over)
