"""Correcting what is known of blocks without running them; needs no Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sparkassets.app.backfilling import named_blocks
from sparkassets.app.opened import Opened
from sparkassets.core.instants import unix
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.context import PlanningContext
from sparkassets.errors import InputError
from sparkassets.runtime.news import changed_specs, observe
from sparkassets.runtime.targets import look_at_targets

if TYPE_CHECKING:
    from sparkassets.core.journal.entries import Entry
    from sparkassets.core.journal.marks import Marked, MarkKind
    from sparkassets.core.journal.state import ClaimState, State


class Marking(Opened):
    """What people can say of the partitions of a project."""

    def mark(self, asset: str, kind: MarkKind, *partitions: str, reason: str) -> Marked:
        """Says that partitions are done, missing or to be skipped, without running them; needs no Spark.

        ``done`` counts as computed: what failed, or was loaded by hand, is news for those that read it. ``missing`` is
        computed again, as soon as its gates are open; its rows stay until then. What is to ``skip`` is not wanted until
        it is marked as missing, and nobody waits for it.

        Args:
            asset: Its name.
            kind: ``done``, ``missing`` or ``skip``.
            partitions: Keys ``A..B`` or ``A``, inclusive; none for an asset without partitions.
            reason: Why, for people; without credentials.

        Raises:
            InputError: The asset is a source, its keys are wrong, some of them run, or the reason is missing.
        """
        return self._mark(asset, kind, partitions, reason, verb="mark")

    def accept(self, asset: str, *partitions: str, reason: str) -> Marked:
        """Says that what is withheld is to be published although its validations fail; needs no Spark.

        The next run computes it again and publishes it; once something new comes for it, it is judged anew.

        Args:
            asset: Its name.
            partitions: Keys ``A..B`` or ``A``, inclusive; none for all that is withheld.
            reason: Why, for people; without credentials.

        Raises:
            InputError: Some of them are not withheld, or run; the asset is a source, or the reason is missing.
        """
        return self._mark(asset, "accept", partitions, reason, verb="accept")

    def _mark(self, asset: str, kind: MarkKind, partitions: Sequence[str], reason: str, *, verb: str) -> Marked:
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
        blocks = EVERYTHING if kind == "accept" and not partitions else named_blocks(spec, partitions)
        asked = Asked(spec, blocks, kind, checked_reason(reason), self._adapters.user())
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
            ledger.commit(lambda state: self._seen(state, asset))
            recorded = ledger.commit(decide)
            left = {link.token for link in ledger.state.assets[asset].chain}
        own = (each.entry for each in recorded if isinstance(each.entry, MarkEntry))
        made = PartitionSet.union(entry.blocks for entry in own if entry.asset == asset)
        settled = tuple(link.entry.run for link in asking if link.token not in left)
        rest = NOTHING if blocks.is_everything and kind == "accept" else known[0] - made
        return Marked(asset, kind, asked.reason, asked.by, made, rest, settled)

    def _seen(self, state: State, asset: str) -> Sequence[Entry]:
        """What happened until now to the sources and to the tables of the asset and of what it reads.

        The mark is about that, too: what is due as it is made is what a run would find.
        """
        given = self._adapters
        over = given.leases().over(state, mine=frozenset())
        news = observe(self.spec, state, given.observer, now=given.clock.now())
        tables = look_at_targets(self.spec, state, given.targets(), gone=over, select=[asset])
        return [*news.entries, *tables.entries]

    def _moment(self, state: State) -> PlanningContext:
        now = unix(self._adapters.clock.now())
        over = self._adapters.leases().over(state, mine=frozenset())
        return PlanningContext(self.spec, state, now, now, gone=over)
