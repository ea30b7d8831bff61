"""A project with its state: what is asked of it, and what is done."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sparkassets.core.instants import parse_instant, unix
from sparkassets.core.journal import events, runs
from sparkassets.core.journal.announce import announced, announced_lines, dataset_of
from sparkassets.core.journal.entries import Entry, EventEntry, PauseEntry
from sparkassets.core.journal.rows import JournalRow
from sparkassets.core.journal.runs import RunRecord, RunStatus
from sparkassets.core.journal.state import State
from sparkassets.core.partitions import RangeSet, TimePartition
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.plan import Plan
from sparkassets.core.planner.planner import plan
from sparkassets.core.results import Summary
from sparkassets.core.spec.graph import descendants
from sparkassets.core.spec.model import AssetSpec, ProjectSpec
from sparkassets.core.timetables import Timetable, parse_timetable
from sparkassets.core.timetables.align import Alignment, aligned, names_no_asset
from sparkassets.errors import InputError
from sparkassets.project import check_storage, load
from sparkassets.runtime.announcing import announce
from sparkassets.runtime.leases import Leases
from sparkassets.runtime.ledger import Ledger
from sparkassets.runtime.news import changed_specs, observe
from sparkassets.runtime.progress import Progress, RunFailedError, Silent
from sparkassets.runtime.targets import look_at_targets
from sparkassets.sources import DeltaTargets, observer
from sparkassets.sources.columns import table_columns, told_by_table
from sparkassets.sources.missing import missing_storage
from sparkassets.state import DeltaStore
from sparkassets.wiring.backfilling import BackfillRequest, backfill_of, blocks_of, refuse_without_run
from sparkassets.wiring.failures import explain_failure
from sparkassets.wiring.host import RandomIds, SystemClock, any_alive, host_identity, kept, process_name
from sparkassets.wiring.keys import plan_with_keys, summary_with_keys, with_keys
from sparkassets.wiring.records import described, newest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkassets.core.planner.explain import Node
    from sparkassets.core.planner.preview import Preview
    from sparkassets.core.planner.status import AssetStatus
    from sparkassets.ports import Engine
    from sparkassets.runtime.driver import Driver
    from sparkassets.runtime.work import Work


class Project:
    """A project with its state; the Python face of the command line.

    A Spark session that it starts is kept for the next run; `close`, or the end of a ``with``, stops it.

    >>> Project.load("conf").run(spark)  # doctest: +SKIP
    """

    def __init__(self, spec: ProjectSpec) -> None:
        self.spec = spec
        self._clock = SystemClock()
        self._store = DeltaStore(spec.state)
        self._driver: Driver | None = None
        self._engine: Engine | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Stops the Spark session that runs started; never one that was there before."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    @classmethod
    def load(
        cls, folder: str | Path = "conf", *, env: Mapping[str, str] | None = None, tables: bool = False
    ) -> Project:
        """Reads and checks the project in ``folder``.

        Args:
            folder: Holds ``project.yml``.
            env: Variables for ``${…}``; by default the process's own.
            tables: Whether sources on a local disk are looked for, and Delta tables asked for their columns, too: who
                has no folder is in the warnings of ``spec``.

        Raises:
            SpecError: Something is wrong with its files; holds every problem.
        """
        variables = os.environ if env is None else env
        spec = load(Path(folder), variables, cache=kept())
        if tables and any(told_by_table(asset) for asset in spec.assets.values()):
            spec = load(Path(folder), variables, tables=table_columns)
        if tables and (missing := missing_storage(spec)):
            spec = replace(spec, warnings=(*spec.warnings, *missing))
        return cls(spec)

    # ------------------------------------------------------------------ looking

    def plan(self, *, at: datetime | str | None = None, select: Collection[str] | None = None) -> Plan:
        """What would run now (or at ``at``), and why the rest would not; looks at sources, records nothing.

        Raises:
            StateError: The state cannot be used.
        """
        return plan_with_keys(plan(self._context(at=at, select=select)), self.spec)

    def plan_backfill(self, request: BackfillRequest, *, at: datetime | str | None = None) -> Plan:
        """What a backfill would run."""
        return plan_with_keys(backfill_of(self.asset(request.asset), request).plan(self._context(at=at)), self.spec)

    def impact(self, plan: Plan, *, at: datetime | str | None = None) -> dict[str, RangeSet | None]:
        """What the runs of a plan make due after them, upstream first: asset to partitions, None for the whole."""
        from sparkassets.core.planner.impact import impact

        updated: dict[str, RangeSet | None] = {run.asset: None for run in plan.runs}
        for run in plan.runs:
            if run.blocks is not None:
                updated[run.asset] = (updated[run.asset] or RangeSet()) | run.blocks
        return impact(self._context(at=at), updated)

    def explain(self, asset: str, *, partition: str | None = None, at: datetime | str | None = None) -> Node:
        """The whole decision for one asset as a tree."""
        from sparkassets.core.planner.explain import explain

        spec = self.asset(asset)
        blocks = blocks_of(spec, partition) if partition is not None else None
        return explain(self._context(at=at), spec, blocks)

    def status(self, *, at: datetime | str | None = None) -> list[AssetStatus]:
        """Every asset at a glance, upstream first."""
        from sparkassets.core.planner.status import asset_status

        context = self._context(at=at)
        return [asset_status(context, asset) for asset in self.spec.assets.values()]

    def preview(self, *assets: str, start: datetime | str | None = None, count: int = 5) -> list[Preview]:
        """The next ``count`` runs of the timetable of each of ``assets`` (none means all), from ``start`` (now) on.

        Raises:
            InputError: ``count`` is not between 1 and `MOST_RUNS`.
        """
        from sparkassets.core.planner.preview import MOST_RUNS, preview

        if not 1 <= count <= MOST_RUNS:
            raise InputError(f"cannot tell the next {count} runs of an asset; expected 1 to {MOST_RUNS:,}")
        specs = [self.asset(name) for name in assets] or list(self.spec.assets.values())
        since, known = self.moment(start), self._state("preview").assets
        paused = {name for name, state in known.items() if state.paused}
        return [preview(spec, start=since, count=count, paused=spec.name in paused) for spec in specs]

    def align(self, upstream: str, downstream: str, *, at: datetime | str | None = None) -> Alignment:
        """Which run of ``upstream`` belongs to the run of ``downstream`` at that time.

        Args:
            upstream: The name of an asset with a timetable, a preset or a cron.
            downstream: Likewise.
            at: When the downstream fires, or later; default now.

        Raises:
            InputError: One is no timetable, or has no run by then.
        """
        up, down = self._timetable(upstream), self._timetable(downstream)
        return aligned(up, down, self.moment(at), names=(upstream, downstream))

    def moment(self, at: datetime | str | None = None) -> datetime:
        """The instant that ``at`` means, by default now; aware, UTC."""
        return self._at(at) or self._clock.now()

    def partitions(self, asset: str, *, at: datetime | str | None = None) -> list[tuple[str, str]]:
        """Every partition of an asset that is wanted or there, with its status."""
        from sparkassets.core.planner.status import grid

        spec, partition = self._partitioned(asset)
        return list(grid(self._context(at=at), spec, partition))

    def stretches(self, asset: str, *, at: datetime | str | None = None) -> list[tuple[str, int, str]]:
        """Those partitions as ``A..B`` of neighbours that share a status, with their number; none spans a gap."""
        from sparkassets.core.planner.status import stretches

        spec, partition = self._partitioned(asset)
        found = stretches(self._context(at=at), spec, partition)
        return [(partition.labels(time)[0], partition.count(time), status) for time, status in found]

    def events(self, *, asset: str | None = None, last: int | None = None) -> list[dict[str, Any]]:
        """Dataset events, oldest first; only the newest ``last``.

        With ``asset``, a name or a dataset URI, those of its dataset, by whatever name they were announced.
        Of each, besides what it says, the ids of the runs that it ``triggered``, and of those that it was
        ``included_in``: they read it, and had another cause.
        """

        def parse(rows: Sequence[JournalRow]) -> list[JournalRow]:
            return [row for row in rows if events.is_event(row)]

        uri = None if asset is None else dataset_of(self.spec, asset)
        rows = newest(lambda limit: self.history(kinds=events.EVENT_KINDS, uri=uri, last=limit), parse, last=last)
        return described(self.spec, self._store, rows)

    def runs(
        self, *, asset: str | None = None, status: RunStatus | None = None, last: int | None = None
    ) -> list[RunRecord]:
        """Runs in the order of their claims; only the newest ``last``."""
        gone = self._leases().over(self._state("runs"), mine=frozenset())

        def parse(rows: Sequence[JournalRow]) -> list[RunRecord]:
            found = runs.of_rows(rows, gone)
            return [with_keys(run, self.spec) for run in found if status in (None, run.status)]

        return newest(lambda limit: self.history(kinds=runs.RUN_KINDS, asset=asset, last=limit), parse, last=last)

    def history(
        self,
        *,
        kinds: Sequence[str] | None = None,
        asset: str | None = None,
        uri: str | None = None,
        run: str | None = None,
        last: int | None = None,
    ) -> Sequence[JournalRow]:
        """Rows of the journal, oldest first; only the newest ``last``."""
        if asset is not None:
            self.asset(asset)
        if not self._store.exists():
            return ()
        self._store.check(project=self.spec.name)
        return self._store.history(kinds=kinds, asset=asset, uri=uri, run=run, last=last)

    # ------------------------------------------------------------------ doing

    def run(
        self,
        spark: SparkSession | None = None,
        *,
        at: datetime | str | None = None,
        select: Collection[str] | None = None,
        progress: Progress | None = None,
        check: bool = True,
    ) -> Summary:
        """Runs what is due until nothing is.

        Args:
            spark: The session to run in; None takes the active one, else starts one when something is due.
            at: Fixes the planner's now.
            select: Assets that may run; None means all.
            progress: Is told what happens.
            check: Whether a failure is raised; without, look at the summary's ``ok``.

        Raises:
            RunFailedError: A run failed, or a source could not be looked at; it holds the summary.
            StateError: The state cannot be used.
            SparkUnavailableError: Something is due and Spark cannot be started.
        """
        from sparkassets.runtime.work import Tick

        return self._drive([Tick(select)], spark, at=at, progress=progress, check=check)

    def backfill(
        self,
        request: BackfillRequest,
        spark: SparkSession | None = None,
        *,
        at: datetime | str | None = None,
        progress: Progress | None = None,
        check: bool = True,
    ) -> Summary:
        """Computes what is missing or stale in a stretch of time, or all of it by force; or rebuilds the table.

        Raises:
            InputError: It makes no sense for the asset, or a rebuild would lose what cannot be computed again.
            RunFailedError: As of `run`.
        """
        from sparkassets.runtime.work import Tick

        if request.rebuild:
            refuse_without_run(self.plan_backfill(request, at=at))
        works: list[Work] = [backfill_of(self.asset(request.asset), request)]
        if request.downstream:
            works.append(Tick(descendants(self.spec.assets, request.asset)))
        return self._drive(works, spark, at=at, progress=progress, check=check)

    def stop(self) -> bool:
        """Asks a `run` in progress to cancel its runs, record that, and return; safe in a signal handler.

        Returns whether one was in progress.
        """
        driver = self._driver
        if driver is not None:
            driver.stop()
        return driver is not None

    def add_event(
        self,
        target: str,
        *,
        partition: str | None = None,
        extra: Mapping[str, Any] | None = None,
        id: str | None = None,  # noqa: A002  the word of the grammar
        at: datetime | str | None = None,
        on_known: Callable[[dict[str, Any]], None] | None = None,
    ) -> dict[str, Any]:
        """Announces that ``target`` (an asset's name or a dataset URI) was updated; needs no Spark.

        Args:
            target: A name, unless it has ``://``, is the identity of an asset, or is one that a condition names.
            partition: Keys ``A..B`` or ``A``, inclusive.
            extra: Free; at most 64 KiB of JSON, without credentials.
            id: Tells the event from others of the dataset: one that is known already is not recorded again.
            at: When it happened; now if not given, and without an offset in the project's zone.
            on_known: Is given the first event of a known ``id``.

        Returns:
            The event as recorded; for a known ``id`` the first one.

        Raises:
            InputError: The event is wrong.
        """
        entry = announced(self.spec, target, partition=partition, extra=extra, id=id, at=at)
        return self._announce([entry], on_known)[0]

    def add_events(
        self,
        lines: Iterable[str | Mapping[str, Any]],
        *,
        name: str = "lines",
        on_known: Callable[[dict[str, Any]], None] | None = None,
    ) -> list[dict[str, Any]]:
        """Announces many updates in one commit, or none of them.

        Args:
            lines: Objects, or their JSON, ``{"asset" or "uri", "partition", "extra", "at", "id"}``.
            name: What they come from, for messages.
            on_known: Is given the first event of each known ``id``.

        Returns:
            The events as recorded, in the order of the lines; for a known ``id`` the first one.

        Raises:
            InputError: Some lines are wrong; tells every one as ``name:line: what is wrong``.
        """
        return self._announce(announced_lines(self.spec, lines, name=name), on_known)

    def pause(self, *assets: str) -> list[str]:
        """Stops these assets from running until they are resumed; what comes for them meanwhile is kept.

        A run that is in progress ends as it would have. Returns those that ran before.

        Raises:
            InputError: One is not in the project, or is a source.
        """
        return self._set_paused(assets, paused=True)

    def resume(self, *assets: str) -> list[str]:
        """Lets these assets run again, with all that came meanwhile; returns those that were paused.

        Raises:
            InputError: One is not in the project, is a source, or is paused by its own YAML.
        """
        for name in assets:
            spec = self.asset(name)
            if spec.paused:
                raise InputError(
                    f"asset {name!r} is paused by `paused: true` in {spec.location.file}, which `resume` cannot change",
                    hint="take that line out",
                )
        return self._set_paused(assets, paused=False)

    def asset(self, name: str) -> AssetSpec:
        """The asset of that name.

        Raises:
            InputError: There is none; with did-you-mean.
        """
        asset = self.spec.assets.get(name)
        if asset is None:
            raise self.spec.no_asset(name)
        return asset

    # ------------------------------------------------------------------ inside

    def _partitioned(self, name: str) -> tuple[AssetSpec, TimePartition]:
        spec = self.asset(name)
        if spec.partition is None:
            raise InputError(f"asset {name!r} has no partitions", hint="`sparkassets status` tells what is known")
        return spec, spec.partition

    def _timetable(self, text: str) -> Timetable:
        """That of an asset, or the one that ``text`` is."""
        if names_no_asset(text):
            return parse_timetable(text, timezone=self.spec.timezone)
        spec = self.asset(text)
        if spec.schedule.timetable is None:
            from sparkassets.core.planner.preview import untimed

            raise InputError(f"asset {text!r} has no timetable: {untimed(spec)}")
        return spec.schedule.timetable

    def _announce(
        self, entries: Sequence[EventEntry], on_known: Callable[[dict[str, Any]], None] | None
    ) -> list[dict[str, Any]]:
        if not entries:
            return []
        ledger = self._opened("events add")
        found = announce(ledger, self._store, entries, before=lambda state: changed_specs(self.spec, state))
        ledger.tidy()
        told = described(self.spec, self._store, [each.row for each in found])
        for each, event in zip(found, told, strict=True):
            if each.known and on_known is not None:
                on_known(event)
        return told

    def _set_paused(self, assets: Sequence[str], *, paused: bool) -> list[str]:
        for name in assets:
            if self.asset(name).source is not None:
                verb = "pause" if paused else "resume"
                raise InputError(f"asset {name!r} is a source: others write it, so there is nothing to {verb}")

        def decide(state: State) -> Sequence[Entry]:
            specs = changed_specs(self.spec, state)
            known = ((name, state.assets.get(name)) for name in dict.fromkeys(assets))
            return [
                *specs,
                *(PauseEntry(name, paused) for name, asset in known if (asset is not None and asset.paused) != paused),
            ]

        ledger = self._opened("pause" if paused else "resume")
        rows = ledger.commit(decide)
        ledger.tidy()
        return [row.asset for row in rows if row.kind in ("pause", "resume") and row.asset is not None]

    def _opened(self, what: str) -> Ledger:
        """A ledger to write to; makes the journal when there is none yet."""
        self._store.create(project=self.spec.name)
        ledger = self._ledger(what)
        ledger.open()
        return ledger

    def _state(self, what: str) -> State:
        """What the journal says; nothing where there is none yet."""
        return self._ledger(what).open() if self._store.exists() else State()

    def _context(self, *, at: datetime | str | None = None, select: Collection[str] | None = None) -> PlanningContext:
        for name in select or ():
            self.asset(name)
        ledger = self._ledger("plan")
        if self._store.exists():
            ledger.open()
        ledger.state = ledger.assume(changed_specs(self.spec, ledger.state))
        news = observe(self.spec, ledger.state, observer, now=self._clock.now())
        over = self._leases().over(ledger.state, mine=frozenset())
        found = look_at_targets(self.spec, ledger.state, DeltaTargets(), gone=over, select=select)
        state: State = ledger.assume([*news.entries, *found.entries])
        clock = self._clock.now()
        return PlanningContext(
            self.spec,
            state,
            unix(self._at(at) or clock),
            unix(clock),
            gone=over,
            select=select,
            faults=news.faults | found.faults,
            notes=news.notes,
        )

    def _drive(
        self,
        works: Sequence[Work],
        spark: SparkSession | None,
        *,
        at: datetime | str | None,
        progress: Progress | None,
        check: bool,
    ) -> Summary:
        from sparkassets.runtime.driver import Driver, DriverIdentity

        for work in works:
            for name in work.select or ():
                self.asset(name)
        fixed = self._at(at)
        check_storage(self.spec)  # links may have come since the project was loaded
        invocation = secrets.token_hex(6)
        self._store.create(project=self.spec.name)
        driver = Driver(
            project=self.spec,
            ledger=self._ledger("run"),
            engine=lambda: self._open_engine(spark),
            observer=observer,
            targets=DeltaTargets(),
            leases=self._leases(),
            clock=self._clock,
            ids=RandomIds(),
            identity=DriverIdentity(process_name(), invocation),
            progress=progress or Silent(),
            explain_failure=partial(explain_failure, self.spec),
            at=fixed,
        )
        self._driver = driver
        try:
            summary = summary_with_keys(driver.run(works), self.spec)
        finally:
            self._driver = None
        if check and summary.failures:
            raise RunFailedError(summary)
        return summary

    def _open_engine(self, spark: SparkSession | None) -> Engine:
        from sparkassets.spark import SparkEngine

        if self._engine is None or spark is not None:
            self._engine = SparkEngine(self.spec, spark)
        return self._engine

    def _ledger(self, what: str) -> Ledger:
        return Ledger(self._store, project=self.spec.name, driver=f"{process_name()} {what}", clock=self._clock)

    def _leases(self) -> Leases:
        return Leases(host=host_identity(), alive=any_alive, clock=self._clock)

    def _at(self, at: datetime | str | None) -> datetime | None:
        return parse_instant(at, zone=self.spec.timezone) if isinstance(at, str) else at
