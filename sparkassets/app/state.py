"""`StateCommands`: compacts, verifies, exports and migrates the state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sparkassets.app.context import ProjectContext
from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.journal.recent_events import RecentEvents
from sparkassets.core.journal.rows import SnapshotRow
from sparkassets.core.journal.state import State
from sparkassets.errors import StateError
from sparkassets.frozen import frozen
from sparkassets.ports import HistoryQuery

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from sparkassets.core.documents.report import ReportDocuments
    from sparkassets.ports import JournalImage, StateDamage
    from sparkassets.runtime.ledger import JournalLedger


@frozen
class CompactionResult:
    """The result of a compaction.

    Attributes:
        entries: Number of entries that remain in the journal.
        let_go: Number of entries that expired.
    """

    entries: int
    let_go: int


@frozen
class VerificationResult:
    """The result of reading the whole state.

    Attributes:
        begins: The number of the oldest entry that is kept.
        entries: Number of entries that were read.
        damages: Each problem, with what to do.
        tables: Assets whose tables differ from what is recorded, with how; the next run takes account of it.
    """

    begins: int
    entries: int
    damages: tuple[StateDamage, ...]
    tables: tuple[tuple[str, str], ...]


class StateCommands:
    """Compacts, verifies, exports and migrates the state, and reads all of it for the report."""

    def __init__(self, context: ProjectContext) -> None:
        self._context = context
        self._followed: JournalLedger | None = None

    def compact(self) -> CompactionResult:
        """Saves a snapshot, expires old entries, merges files and deletes unneeded ones, whether or not it is due.

        Safe beside drivers that run.

        Raises:
            StateError: There is no state, or it cannot be used.
        """
        self._context.adapters.store.check(project=self._context.spec.name)
        ledger = self._context.make_ledger("state compact")
        ledger.open()
        expired = ledger.compact()
        # entries are numbered without gaps, so those that are kept need not be counted
        return CompactionResult(ledger.state.seq + 1 - self._context.adapters.store.oldest_seq(), expired)

    def verify(self) -> VerificationResult:
        """Reads all of the state, replays it, and looks at the assets' tables; writes nothing.

        Raises:
            StateError: There is none, or it is not this project's, or newer.
        """
        store = self._context.adapters.store
        store.check(project=self._context.spec.name)
        damages, tables = [*store.find_damages()], list[tuple[str, str]]()
        entries, oldest_seq = 0, store.oldest_seq()
        if not damages:
            from sparkassets.ports import StateDamage

            try:
                image = store.read_image(project=self._context.spec.name)
                damages += self._replay(image)
                ledger = self._context.make_ledger("state verify")
                entries = ledger.open().seq + 1 - oldest_seq
                tables = [*self._changed_tables(ledger)]
            except StateError as error:
                damages.append(StateDamage(str(error.args[0]), error.hint or "restore the state from a backup"))
        return VerificationResult(oldest_seq, entries, tuple(damages), tuple(tables))

    def _replay(self, image: JournalImage) -> Iterator[StateDamage]:
        """Yields the damage if the snapshot differs from the entries that it stands for; folds every kept entry.

        It starts from the base: a snapshot of what the entries said that are no longer kept.
        """
        from sparkassets.core.journal.codec import decode
        from sparkassets.core.journal.fold.dispatch import fold
        from sparkassets.ports import StateDamage
        from sparkassets.runtime.ledger import read_entries

        store, snapshot = self._context.adapters.store, decode(image.snapshot, journal_id=image.journal_id)
        rows, seq = store.read_base()
        if seq + 1 < store.oldest_seq():  # entries after the base and before the oldest one are lost
            problem = (
                f"the record of everything before entry {store.oldest_seq()} is missing; only the snapshot still has it"
            )
            yield StateDamage(problem, "restore the state's `base` from a backup; do not remove `watermarks`")
            return
        state = replace(decode(rows, journal_id=image.journal_id), seq=seq)
        for entries in read_entries(store, after=seq, up_to=image.snapshot_seq):
            state = fold(state, entries, commit=image.commit)
        if state.seq == image.snapshot_seq and (names := find_differences(state, snapshot)):
            from sparkassets.core.phrases import few

            problem = f"the snapshot at entry {image.snapshot_seq} differs from the journal for {few(names)}"
            yield StateDamage(
                problem, "stop all drivers and remove the state's `watermarks`; it is rebuilt from the journal"
            )

    def export_lines(self) -> Iterator[dict[str, Any]]:
        """All that is stored, as objects for the lines of an export; credentials are redacted.

        Raises:
            StateError: There is no state, or it cannot be used.
        """
        from sparkassets.core.journal.codec.formats import base_line, entry_line, head_line, snapshot_line
        from sparkassets.core.redaction import redact_json
        from sparkassets.runtime.ledger import ENTRIES_PER_READ

        store = self._context.adapters.store
        image = store.read_image(project=self._context.spec.name)
        oldest_seq, (base, _) = store.oldest_seq(), store.read_base()
        newest = image.tail[-1].seq if image.tail else image.snapshot_seq

        def lines() -> Iterator[dict[str, Any]]:
            yield head_line(self._context.spec.name, image.journal_id, begins=oldest_seq, newest=newest)
            yield from map(base_line, base)
            for first in range(oldest_seq - 1, newest, ENTRIES_PER_READ):  # each read begins after `first`
                yield from map(
                    entry_line,
                    store.read_history(HistoryQuery(after_seq=first, up_to_seq=min(first + ENTRIES_PER_READ, newest))),
                )
            yield from map(snapshot_line, image.snapshot)

        return (redact_json(line, variables=self._context.spec.variables) for line in lines())

    def migrate(self) -> int:
        """Rewrites rows of older releases in today's format; returns how many changed.

        Raises:
            StateError: There is no state, it is damaged, or it cannot be written.
        """
        from sparkassets.core.journal.codec.snapshot import upgrade_entry_row, upgrade_snapshot_row
        from sparkassets.ports import FormatUpgrade

        store = self._context.adapters.store
        store.check(project=self._context.spec.name)
        if damages := store.find_damages():
            message = f"the state is damaged: {damages[0].problem}"
            raise StateError(message, hint=f"{damages[0].repair}; `sparkassets state verify` lists all damage")
        return store.migrate(FormatUpgrade(upgrade_entry_row, upgrade_snapshot_row))

    def report(self, *, at: datetime | str | None = None) -> ReportDocuments:
        """The documents of the report, as of now or of ``at``; looks at sources and tables, records nothing.

        Raises:
            StateError: The state cannot be used.
        """
        from sparkassets.app.run_rendering import RunRenderer
        from sparkassets.core.documents.report import KINDS, MOST_ENTRIES, ReportHistory, build_report
        from sparkassets.core.journal.codec import from_row
        from sparkassets.core.planner.planner import make_plan

        context = self._context.look(at=at)
        plan = make_plan(context)
        store = self._context.adapters.store
        rows = store.read_history(HistoryQuery(kinds=KINDS, last=MOST_ENTRIES)) if store.exists() else ()
        report_history = ReportHistory.from_entries(
            [*map(from_row, rows)], whole=len(rows) < MOST_ENTRIES, gone=context.gone_claims
        )
        renderer = RunRenderer(self._context, context, "report")
        return build_report(context, plan, report_history, render=renderer.render_without_spark)

    def newest_entry(self) -> int:
        """The number of the journal's newest entry, which grows whenever anything is recorded; cheap to ask again."""
        if self._followed is not None:
            return self._followed.refresh().seq
        if not self._context.adapters.store.exists():
            return 0
        self._followed = self._context.make_ledger("report")
        return self._followed.open().seq

    def _changed_tables(self, ledger: JournalLedger) -> Iterator[tuple[str, str]]:
        """Assets whose tables differ from what the journal records, each with how, or why it cannot be looked at."""
        from sparkassets.core.journal.table_findings import TargetEntry
        from sparkassets.runtime.observation import changed_spec_entries, look_at_targets

        state = ledger.assume(changed_spec_entries(self._context.spec, ledger.state))
        lost = self._context.lost_claims(state)
        news = look_at_targets(
            self._context.spec,
            state,
            self._context.adapters.make_target_observer(),
            gone_claims=lost,
            knows_run=ledger.knows_run,
        )
        for entry in news.entries:
            if isinstance(entry, TargetEntry):
                yield entry.asset, entry.found.reason or entry.found.kind
        yield from news.faults.items()


def find_differences(replayed: State, snapshot: State) -> list[str]:
    """Names of assets and URIs of datasets whose rows differ between the two states, ascending."""
    replayed_rows, stored_rows = _encoded_rows(replayed), _encoded_rows(snapshot)
    return sorted(
        {
            asset or uri
            for asset, uri in replayed_rows.keys() | stored_rows.keys()
            if _rows_differ(replayed_rows, stored_rows, (asset, uri))
        }
    )


def _encoded_rows(state: State) -> dict[tuple[str, str], SnapshotRow]:
    """(Asset name, dataset URI) to its snapshot row, in a form in which a replayed state equals a stored snapshot."""
    datasets = {
        uri: replace(dataset, recent=RecentEvents.from_events(dataset.recent))
        for uri, dataset in state.datasets.items()
    }
    packed = encode(replace(state, datasets=datasets))  # decoding packs events as if all had come at once
    encoded = encode(decode(packed, journal_id=""))  # encoding leaves out empty values
    rows = ((row.asset or "", "" if row.asset else row.uri or "", row) for row in encoded)
    return {(asset, uri): replace(row, commit=0) for asset, uri, row in rows}


def _rows_differ(
    replayed_rows: Mapping[tuple[str, str], SnapshotRow],
    stored_rows: Mapping[tuple[str, str], SnapshotRow],
    key: tuple[str, str],
) -> bool:
    return replayed_rows.get(key) != stored_rows.get(key)
