"""`HistoryCommands`: the journal's record of the past: runs, events, iterations, and its rows as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from sparkassets.app.context import ProjectContext, with_keys
from sparkassets.core.instants import format_zoned
from sparkassets.core.journal.codec import from_row
from sparkassets.errors import InputError
from sparkassets.ports import HistoryQuery

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkassets.core.documents.iterations import ListedIteration
    from sparkassets.core.documents.table_difference import ReplayResult
    from sparkassets.core.journal.entries import NumberedEntry
    from sparkassets.core.journal.history import RunRecord, RunStatus
    from sparkassets.core.journal.rows import JournalRow
    from sparkassets.core.spec.model import AssetSpec
    from sparkassets.core.spec.project_spec import ProjectSpec


class RunReplayer(Protocol):
    """Computes runs again; records nothing, and writes to no table of the project."""

    def replay(self, record: RunRecord, spark: SparkSession | None, *, keep: str, samples: int) -> ReplayResult:
        """As of `HistoryCommands.replay`."""


class HistoryCommands:
    """Reads the journal without Spark; a replay computes a run again."""

    def __init__(self, context: ProjectContext, replayer: RunReplayer) -> None:
        self._context = context
        self._replayer = replayer

    def runs(
        self, *, asset: str | None = None, status: RunStatus | None = None, last: int | None = None
    ) -> list[RunRecord]:
        """Runs in the order of their claims; with ``last`` only the newest so many.

        ``asset`` may also be one that has left the project. For an outlet, the runs of its multi-asset are listed.

        >>> [run.run for run in project.history.runs(status="failed", last=5)]  # doctest: +SKIP

        Raises:
            InputError: There is no such asset, nor was there one.
        """
        from sparkassets.app.events import read_newest
        from sparkassets.core.journal.history import RUN_KINDS, run_records

        recorded_name = self._recorded_name(asset) if asset is not None else None
        lost = self._context.lost_claims(self._context.read_state("runs"))

        def parse(rows: Sequence[JournalRow]) -> list[RunRecord]:
            records = run_records(map(from_row, rows), lost)
            return [with_keys(run, self._context.spec) for run in records if status in (None, run.status)]

        return read_newest(lambda limit: self.rows(kinds=RUN_KINDS, asset=recorded_name, last=limit), parse, last=last)

    def run(self, run: str) -> tuple[RunRecord, str]:
        """One run, and the name of its driver: host and process.

        Raises:
            InputError: The journal knows no such run.
        """
        from sparkassets.core.journal.history import RUN_KINDS, run_records

        spec = self._context.spec
        claims = self.rows(kinds=("claim",), run=run, last=1)
        if not claims:
            hint = "; ".join(filter(None, ["`sparkassets runs` lists them", self.cut_note()]))
            raise InputError(f"unknown run {run!r} in project {spec.name!r}", hint=hint)
        lost = self._context.lost_claims(self._context.read_state("runs"))
        name = claims[0].asset if claims[0].asset in spec.assets else None
        store = self._context.adapters.store
        rows = store.read_history(HistoryQuery(kinds=RUN_KINDS, asset=name, after_seq=claims[0].seq - 1))
        record = next(each for each in run_records(map(from_row, rows), lost) if each.run == run)
        return with_keys(record, spec), claims[0].driver

    def replay(self, run: str, spark: SparkSession | None = None, *, keep: str = "", samples: int = 5) -> ReplayResult:
        """Computes a run again by its recorded code, at the versions and files that it read, and compares the rows.

        >>> project.history.replay("daily_sales-20250302T0600-1a2b", spark).is_equal  # doctest: +SKIP

        Args:
            run: Id of a run that succeeded.
            spark: The session; by default the active one or a new one.
            keep: Folder in which the replayed rows stay, as a Delta table for each table of the run.
            samples: Differing rows that are shown for each table.

        Raises:
            InputError: There is no such run, or it cannot be computed again in the same way.
            RunError: Its code fails, or a version that it read or wrote is gone.
            SourceError: A file or a table that it read has changed or is gone.
        """
        record, _ = self.run(run)
        return self._replayer.replay(record, spark, keep=keep, samples=samples)

    def events(self, *, asset: str | None = None, last: int | None = None) -> list[dict[str, Any]]:
        """Dataset events, oldest first; with ``last`` only the newest so many.

        ``asset`` is a name or a dataset URI: all events of that dataset are listed, under whatever name they were
        announced.
        Each event has the ids of the runs that it ``triggered``, and of those that it was ``included_in``: they read
        the update, but had another cause.

        >>> project.history.events(asset="orders", last=1)  # doctest: +SKIP
        """
        from sparkassets.app.events import describe_events, read_newest
        from sparkassets.core.journal.announcements import dataset_uri_of
        from sparkassets.core.journal.history import EVENT_KINDS
        from sparkassets.core.journal.state import EventRef

        def parse(rows: Sequence[JournalRow]) -> list[NumberedEntry]:
            return [each for each in map(from_row, rows) if EventRef.from_entry(each) is not None]

        uri = None if asset is None else dataset_uri_of(self._context.spec, asset)
        entries = read_newest(lambda limit: self.rows(kinds=EVENT_KINDS, uri=uri, last=limit), parse, last=last)
        return describe_events(self._context.spec, self._context.adapters.store, entries)

    def iterations(self, asset: str) -> list[ListedIteration]:
        """The iterations of an asset that still exist, the newest record first.

        >>> [each.iteration.run for each in project.history.iterations("model")]  # doctest: +SKIP

        Raises:
            InputError: There is no such asset, or it does not publish.
        """
        from sparkassets.core.documents.iterations import list_iterations
        from sparkassets.core.journal.entries import PublishedEntry
        from sparkassets.core.spec.outlets import list_outlet_names

        spec = publishing_asset(self._context.spec, asset)
        if spec.outlets:
            message = f"{asset!r} is a multi-asset without data of its own: ask for the iterations of an outlet"
            raise InputError(message, hint=f"name {list_outlet_names(spec.outlets)}")
        asset_state = self._context.read_state("iterations").assets.get(asset)
        if asset_state is None or not asset_state.iterations:
            return []
        first = min(each.seq for each in asset_state.iterations) - 1  # `after_seq` leaves out its own entry
        rows = self._context.adapters.store.read_history(
            HistoryQuery(kinds=("success", "outlet"), asset=asset, after_seq=first)
        )
        entries = (each.entry for each in map(from_row, rows))
        written = (each for each in entries if isinstance(each, PublishedEntry) and each.iteration)
        extras = {each.run: each.extra for each in written}
        return list_iterations(spec, asset_state.iterations, extras)

    def rows(
        self,
        *,
        kinds: Sequence[str] | None = None,
        asset: str | None = None,
        uri: str | None = None,
        run: str | None = None,
        last: int | None = None,
    ) -> Sequence[JournalRow]:
        """Rows of the journal, oldest first; with ``last`` only the newest so many.

        Raises:
            InputError: The asset is not in the project and never was.
        """
        if asset is not None:
            self._recorded_name(asset)
        store = self._context.adapters.store
        if not store.exists():
            return ()
        store.check(project=self._context.spec.name)
        return store.read_history(HistoryQuery(kinds=kinds, asset=asset, uri=uri, run=run, last=last))

    def cut_note(self) -> str:
        """A sentence on how far back the journal reaches; empty if it still has all entries."""
        store = self._context.adapters.store
        if not store.exists() or store.oldest_seq() == 1:
            return ""
        from sparkassets.runtime.ledger import find_oldest_entry

        oldest = find_oldest_entry(store)
        when = format_zoned(oldest[1], self._context.spec.timezone, seconds=True) if oldest is not None else "now"
        return f"entries before {when} are no longer kept (`retention` of the state)"

    def _recorded_name(self, asset: str) -> str:
        """The name under which the journal has an asset's runs: the multi-asset of an outlet, else its own.

        Raises:
            InputError: The asset is not in the project and never was.
        """
        past_assets = self._context.read_state("runs").assets if asset not in self._context.spec.assets else {}
        if asset in past_assets:
            return next((name for name, each in past_assets.items() if asset in dict(each.spec.outlets)), asset)
        return self._context.spec.asset(asset).written_by or asset


def publishing_asset(spec: ProjectSpec, name: str) -> AssetSpec:
    """The asset of that name, if it publishes iterations.

    Raises:
        InputError: There is none, or it has no iterations.
    """
    asset = spec.asset(name)
    if not asset.publishes:
        raise InputError(
            f"asset {name!r} has no iterations", hint="write: {publish: {keep: 10}} keeps one for each run"
        )
    return asset
