"""`AssetCommands`: people's decisions about assets, corrections to their recorded state, and their timetables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from sparkassets.app.backfills import named_partitions, parse_interval
from sparkassets.app.context import ProjectContext, Selection
from sparkassets.app.work_runner import WorkRunner
from sparkassets.core.instants import to_unix
from sparkassets.core.journal.entries import Entry, NumberedEntry, PauseEntry
from sparkassets.core.journal.state import ClaimState, State
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.model import AssetSpec
from sparkassets.errors import InputError
from sparkassets.frozen import frozen
from sparkassets.runtime.observation import changed_spec_entries, look_at_targets, observe_sources

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkassets.core.journal.marks import MarkKind, MarkResult
    from sparkassets.core.planner.explain.partition_marks import MarkRequest
    from sparkassets.core.planner.explain.preview import SchedulePreview
    from sparkassets.core.results import Summary
    from sparkassets.core.timetables import Timetable
    from sparkassets.core.timetables.timetable import RunAlignment
    from sparkassets.runtime.ledger import JournalLedger


@frozen
class PartitionSelection:
    """The partitions, interval or run of an asset that a person names.

    Attributes:
        partitions: Keys ``A..B`` or ``A``.
        interval: Instants ``A..B``, or ``A`` where it starts, of an asset without partitions.
        run: The name of a run of such an asset.
    """

    partitions: tuple[str, ...] = ()
    interval: str | None = None
    run: str = ""

    def interval_of(self, asset: AssetSpec) -> tuple[int, int] | None:
        """The named interval in Unix seconds; None if none was named.

        Raises:
            InputError: The asset has partitions, or the text is no interval.
        """
        if asset.partitioning.is_partitioned and (self.run or self.interval is not None):
            option = "--run" if self.run else "--interval"
            raise InputError(f"asset {asset.name!r} has partitions, but {option} is for assets without")
        return parse_interval(asset, self.interval)


class AssetCommands:
    """Pauses and resumes assets, corrects recorded states, rolls back iterations, and reads timetables."""

    def __init__(self, context: ProjectContext, runner: WorkRunner) -> None:
        self._context = context
        self._runner = runner

    def select(self, select: Selection) -> tuple[str, ...]:
        """The names of the assets that a selection means, upstream first; None means all.

        >>> project.assets.select("tag:finance,+best_shops,!state:paused")  # doctest: +SKIP
        ('orders', 'daily_revenue', 'best_shops')

        Raises:
            InputError: A term is wrong, or nothing fits it.
        """
        names = self._context.find_selected(select)
        return tuple(self._context.spec.assets) if names is None else names

    def pause(self, *assets: str, reason: str = "") -> list[str]:
        """Stops these assets from running until they are resumed; what comes for them meanwhile is kept.

        A run that is in progress ends as it would have. Plans show the ``reason``, with the person's name. Returns
        those that ran before.

        >>> project.assets.pause("daily_sales")  # doctest: +SKIP
        ['daily_sales']

        Raises:
            InputError: One is not in the project, or is a source; or the reason cannot be recorded.
        """
        return self._set_paused(assets, paused=True, reason=reason)

    def resume(self, *assets: str, reason: str = "") -> list[str]:
        """Lets paused assets run again, with everything that came due meanwhile; returns those that were paused.

        Raises:
            InputError: One is not in the project, is a source, or is paused by its own YAML.
        """
        for name in assets:
            spec = self._context.runnable_asset(name, "resume")
            if spec.paused:
                raise InputError(
                    (
                        f"asset {name!r} is paused by `paused: true` in {spec.location.file}; `resume` cannot "
                        "change that"
                    ),
                    hint="remove that line",
                )
        return self._set_paused(assets, paused=False, reason=reason)

    def mark(
        self, asset: str, kind: MarkKind, *partitions: str, interval: str | None = None, reason: str
    ) -> MarkResult:
        """Says that partitions are done, missing or to be skipped, without running them; needs no Spark.

        ``done`` counts as computed: what failed, or was loaded by hand, is news for those that read it. ``missing`` is
        computed again, as soon as its gates are open; its rows stay until then. What is to ``skip`` is not wanted until
        it is marked as missing, and nobody waits for it.

        >>> project.assets.mark("daily_sales", "missing", "2025-01-02", reason="a bad load")  # doctest: +SKIP

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
        return self._mark(asset, kind, PartitionSelection(tuple(partitions), interval), reason, verb="mark")

    def accept_code(self, asset: str, *, reason: str) -> MarkResult:
        """Lets a change of code hold from now on: what other code computed counts as computed by the present code.

        Partitions that are stale for another reason are left out, as they are computed again anyway.

        >>> project.assets.accept_code("daily_sales", reason="the old rate stays for old days")  # doctest: +SKIP

        Raises:
            InputError: No other code computed anything that is current, or the mark is refused as by `mark`.
        """
        from sparkassets.core.planner.due.outdated_code import outputs_of_other_code

        self._context.runnable_asset(asset, "mark")
        context = self._context.look(select=[asset])
        spec = context.asset(asset)
        state = context.state_of(spec)
        outdated = PartitionSet.union(each.partitions for each in outputs_of_other_code(spec, state))
        stale = PartitionSet.union(stamps.stamped_partitions() for stamps in state.stale.values())
        if not spec.partitioning.is_partitioned and context.unused_events(state, state.spec.listens):
            stale = EVERYTHING
        if not outdated - stale:
            hint = "the present code recomputes what is stale anyway" if outdated else None
            raise InputError(f"no other code computed any current partition of {asset!r}", hint=hint)
        return self.mark(asset, "done", *spec.partitioning.labels(outdated - stale), reason=reason)

    def accept(
        self, asset: str, *partitions: str, interval: str | None = None, run: str | None = None, reason: str
    ) -> MarkResult:
        """Lets withheld partitions be published although their validations fail; needs no Spark.

        The next run computes it again and publishes it; once something new comes for it, it is validated again.

        >>> project.assets.accept("daily_sales", "2025-01-02", reason="a strike")  # doctest: +SKIP

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
        selection = PartitionSelection(tuple(partitions), interval, run or "")
        return self._mark(asset, "accept", selection, reason, verb="accept")

    def roll_back(self, asset: str, run: str, spark: SparkSession | None = None, *, check: bool = True) -> Summary:
        """Makes the iteration of ``run`` the newest again, which consumers see as an update.

        Spark is started only where it is what commits to the asset's table.

        >>> project.assets.roll_back("model", project.history.iterations("model")[1].iteration.run)  # doctest: +SKIP

        Raises:
            InputError: There is no such iteration, or something of the asset runs.
            RunFailedError: It could not be committed; it holds the summary.
        """
        from sparkassets.app.history import publishing_asset
        from sparkassets.core.planner.batch.iterations import plan_rollback
        from sparkassets.runtime.requested_works import RollbackWork

        self._context.refuse_scope("iterations --rollback")
        self._runner.lend(spark)
        spec = publishing_asset(self._context.spec, asset)
        if spec.written_by:
            message = (
                f"{asset!r} cannot be rolled back alone: it is published together with the other outlets of "
                f"{spec.written_by!r}"
            )
            hint = f"`sparkassets iterations {spec.written_by} --rollback {run}` rolls back all of them"
            raise InputError(message, hint=hint)
        context = self._context.look()
        plan = plan_rollback(context, context.asset(asset), run)
        if not plan.runs:
            reasons = "; ".join(dict.fromkeys(each.reason for each in plan.waiting))
            raise InputError(f"not rolled back: {asset}: {reasons}")
        open_engine = partial(self._runner.open_lazy_engine, spark)
        return self._runner.run([RollbackWork(spec, run)], spark, check=check, open_engine=open_engine)

    def preview(self, *assets: str, start: datetime | str | None = None, count: int = 5) -> list[SchedulePreview]:
        """The next ``count`` runs of the timetable of each of ``assets`` (none means all), from ``start`` (now) on.

        >>> project.assets.preview("daily_sales", count=3)  # doctest: +SKIP

        Raises:
            InputError: ``count`` is not between 1 and `MOST_RUNS`.
        """
        from sparkassets.core.planner.explain.preview import MOST_RUNS, preview_schedule

        if not 1 <= count <= MOST_RUNS:
            raise InputError(f"cannot preview {count} runs of an asset; expected 1 to {MOST_RUNS:,}")
        specs = [self._context.spec.asset(name) for name in assets] or list(self._context.spec.assets.values())
        since, asset_states = self._context.resolve_time(start), self._context.read_state("preview").assets
        paused = {name for name, state in asset_states.items() if state.paused}
        return [preview_schedule(spec, start=since, count=count, paused=spec.name in paused) for spec in specs]

    def align(self, upstream: str, downstream: str, *, at: datetime | str | None = None) -> RunAlignment:
        """Which run of ``upstream`` belongs to the run of ``downstream`` at that time.

        >>> project.assets.align("hourly_clicks", "@daily").delta_seconds  # doctest: +SKIP

        Args:
            upstream: The name of an asset with a timetable, a preset or a cron.
            downstream: Likewise.
            at: When the downstream fires, or later; default now.

        Raises:
            InputError: One is no timetable, or has no run by then.
        """
        from sparkassets.core.timetables.timetable import align_runs

        up, down = self._timetable(upstream), self._timetable(downstream)
        return align_runs(up, down, self._context.resolve_time(at), names=(upstream, downstream))

    def _timetable(self, text: str) -> Timetable:
        """The timetable of the asset with that name, or the one that ``text`` writes as a preset or cron."""
        from sparkassets.core.timetables.timetable import names_no_asset

        if names_no_asset(text):
            from sparkassets.core.timetables.parse import parse_timetable

            return parse_timetable(text, timezone=self._context.spec.timezone)
        spec = self._context.spec.asset(text)
        if spec.schedule.timetable is None:
            from sparkassets.core.planner.explain.preview import describe_untimed

            raise InputError(f"asset {text!r} has no timetable: {describe_untimed(spec)}")
        return spec.schedule.timetable

    def _mark(self, asset: str, kind: MarkKind, selection: PartitionSelection, reason: str, *, verb: str) -> MarkResult:
        """Looks at sources and tables, then records the mark for the partitions to which it applies by the state.

        A mark also answers the question that a run asks a person, what became of the unfinished runs before it in its
        slot; the result names those that it settled.
        """
        from sparkassets.core.planner.due.pending_partitions import resolve_partitions
        from sparkassets.core.planner.explain.partition_marks import build_mark_entries

        request = self._request_mark(asset, kind, selection, reason, verb=verb)
        spec = request.asset
        resolved: list[PartitionSet] = []
        questions: list[ClaimState] = []

        def decide(state: State) -> Sequence[Entry]:  # may be called again, after another driver's commit
            context = self._make_planning(state)
            asset_state = context.state_of(spec)
            resolved[:] = [resolve_partitions(context, spec, asset_state, request.partitions)]
            questions[:] = [
                link
                for claim in asset_state.asking_claims
                for link in asset_state.chains[claim.run_slot]
                if link is not claim
            ]
            return build_mark_entries(context, request)

        with self._context.recording(verb) as ledger:  # specs first: news and mark are decided by the present files
            ledger.commit(lambda state: changed_spec_entries(self._context.spec, state))
            ledger.commit(lambda state: self._find_news(ledger, state, asset))
            recorded = ledger.commit(decide)
            unsettled = {link.token for link in ledger.state.assets[asset].chain}
        settled = tuple(link.entry.run for link in questions if link.token not in unsettled)
        return _mark_result(request, recorded, resolved=resolved[0], settled=settled)

    def _request_mark(
        self, asset: str, kind: MarkKind, selection: PartitionSelection, reason: str, *, verb: str
    ) -> MarkRequest:
        """The mark that a person asks for; checks that the asset can be marked, the keys and the reason."""
        from sparkassets.core.planner.explain.partition_marks import MarkRequest, check_reason

        self._context.refuse_scope(verb)
        if self._context.runnable_asset(asset, verb).source is not None:
            raise InputError(
                f"asset {asset!r} is a source: others write it, so there is nothing to {verb}",
                hint="`sparkassets events add` records an update",
            )
        spec = self._context.known_project(verb).assets[asset]
        partitions = (
            EVERYTHING
            if kind == "accept" and not selection.partitions
            else named_partitions(spec, selection.partitions)
        )
        by = self._context.adapters.user_name()
        return MarkRequest(spec, partitions, kind, check_reason(reason), by, selection.interval_of(spec), selection.run)

    def _find_news(self, ledger: JournalLedger, state: State, asset: str) -> Sequence[Entry]:
        """Entries for what changed until now in the sources, and in the tables of the asset and of its inlets.

        They are recorded before a mark, so that the mark covers these changes: a later run would find them too.
        """
        adapters, lost = self._context.adapters, self._context.lost_claims(state)
        news = observe_sources(self._context.spec, state, adapters.find_observer, now=adapters.clock.now())
        tables = look_at_targets(
            self._context.spec,
            state,
            adapters.make_target_observer(),
            gone_claims=lost,
            knows_run=ledger.knows_run,
            select=[asset],
        )
        return [*news.entries, *tables.entries]

    def _make_planning(self, state: State) -> PlanningContext:
        now = to_unix(self._context.adapters.clock.now())
        return PlanningContext(self._context.spec, state, now, now, gone_claims=self._context.lost_claims(state))

    def _set_paused(self, assets: Sequence[str], *, paused: bool, reason: str) -> list[str]:
        """Records the wanted ``paused`` for the assets that differ from it; returns their names."""
        verb = "pause" if paused else "resume"
        self._context.refuse_scope(verb)
        signed = self._context.sign_reason(reason)
        for name in assets:
            if self._context.runnable_asset(name, verb).source is not None:
                raise InputError(f"asset {name!r} is a source: others write it, so there is nothing to {verb}")

        def decide(state: State) -> Sequence[Entry]:
            specs = changed_spec_entries(self._context.spec, state)
            asset_states = ((name, state.assets.get(name)) for name in dict.fromkeys(assets))
            return [
                *specs,
                *(
                    PauseEntry(name, paused, signed)
                    for name, asset_state in asset_states
                    if (asset_state is not None and asset_state.paused) != paused
                ),
            ]

        with self._context.recording(verb) as ledger:
            recorded = ledger.commit(decide)
        return [each.entry.asset for each in recorded if isinstance(each.entry, PauseEntry)]


def _mark_result(
    request: MarkRequest, recorded: Iterable[NumberedEntry], *, resolved: PartitionSet, settled: tuple[str, ...]
) -> MarkResult:
    """What a mark changed.

    Args:
        request: The requested mark.
        recorded: The entries that it made.
        resolved: The partitions that were asked for; those that got no mark are reported as unchanged.
        settled: Names of runs whose open question the mark answered.
    """
    from sparkassets.core.journal.marks import MarkEntry, MarkResult

    entries, spec = (each.entry for each in recorded), request.asset
    mark_entries = [entry for entry in entries if isinstance(entry, MarkEntry) and entry.asset == spec.name]
    marked = PartitionSet.union(entry.partitions for entry in mark_entries)
    instance = next((entry.instance for entry in mark_entries if entry.instance is not None), request.interval)
    unmarked = NOTHING if request.accepts_all else resolved - marked
    return MarkResult(spec.name, request.kind, request.reason, request.by, marked, unmarked, settled, instance)
