"""`ProjectContext`: a project with its state and adapters, for all commands; adds keys."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeVar

from sparkassets.app.adapters import Adapters
from sparkassets.core.instants import format_zoned, from_unix, parse_instant, to_unix
from sparkassets.core.journal.retention import RetentionPolicy
from sparkassets.core.journal.state import AssetState, State
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.errors import InputError
from sparkassets.frozen import replace
from sparkassets.runtime.ledger import JournalLedger
from sparkassets.runtime.observation import changed_spec_entries, look_at_targets, observe_sources
from sparkassets.runtime.sink_dispatch import SinkDispatcher

if TYPE_CHECKING:
    from sparkassets.core.journal.entries import Entry
    from sparkassets.core.journal.history import RunRecord
    from sparkassets.core.planner.plan import AssetNote, Plan, PlannedRun, Waiting
    from sparkassets.core.results import RunResult, Summary
    from sparkassets.core.run_costs import InletVolume
    from sparkassets.core.runs import ChangeAvailability, InletPin, TablePosition
    from sparkassets.ports import ChangeFeeds, VolumeEstimator
    from sparkassets.runtime.driver_work import DriverWork

Named = TypeVar("Named", "PlannedRun", "Waiting", "AssetNote", "RunResult", "RunRecord")


def plan_with_keys(plan: Plan, project: ProjectSpec) -> Plan:
    """The plan with the partition keys of its runs, waiting lines and notes filled in."""
    return replace(
        plan,
        runs=tuple(with_keys(run, project) for run in plan.runs),
        waiting=tuple(with_keys(item, project) for item in plan.waiting),
        notes=tuple(with_keys(note, project) for note in plan.notes),
    )


def summary_with_keys(summary: Summary, project: ProjectSpec) -> Summary:
    """The summary with the partition keys of its runs, waiting lines and notes filled in."""
    runs = tuple(_with_withheld_keys(with_keys(run, project), project) for run in summary.runs)
    waiting = tuple(with_keys(item, project) for item in summary.waiting)
    return replace(summary, runs=runs, waiting=waiting, notes=tuple(with_keys(note, project) for note in summary.notes))


def _with_withheld_keys(run: RunResult, project: ProjectSpec) -> RunResult:
    """The result with the keys of its withheld partitions; for a run of one instance, its data interval instead."""
    asset = project.assets.get(run.asset)
    if not run.withheld or asset is None:
        return run
    if run.request.is_instance and run.interval is not None:
        return replace(run, held=("..".join(format_zoned(from_unix(at), project.timezone) for at in run.interval),))
    return replace(run, held=tuple(asset.partitioning.labels(run.withheld)))


def with_keys(item: Named, project: ProjectSpec) -> Named:
    """The item with its partition keys filled in; unchanged if the project does not have its asset."""
    asset = project.assets.get(item.asset)
    labels = asset.partitioning.labels(item.partitions) if asset is not None else []
    return replace(item, partition_keys=tuple(labels)) if labels else item


Selection = Collection[str] | str | None
"""The assets that may run: terms of `core.spec.selection`, in a list or separated by commas; None means all."""


class WorkScope(Protocol):
    """The part of a project that commands work on, such as the assets that a branch computes.

    Attributes:
        title: What it is called in messages.
    """

    title: str

    def select(self, select: Selection) -> Collection[str] | None:
        """The selected assets that the scope computes; None means no limit.

        Raises:
            InputError: An asset is not in the project, or the scope computes none of the selected ones.
        """

    def check(self, name: str, verb: str) -> None:
        """Refuses an asset that the scope does not compute.

        Raises:
            InputError: With how to do ``verb`` to it all the same.
        """

    def notes(self, context: PlanningContext) -> tuple[AssetNote, ...]:
        """Notes for a plan: which assets the scope computes, which it does not, and why."""

    def begin(self, works: Sequence[DriverWork]) -> list[DriverWork]:
        """The works wrapped in what the scope has to record before them."""

    def end(self, summary: Summary) -> None:
        """Called when an invocation has run its works."""


class ProjectContext:
    """A project with what reaches its state and the outside; every namespace of commands uses it.

    Attributes:
        spec: The project as its files say it.
        adapters: What reaches the outside.
        scope: The part that is worked on; None for all of it.
    """

    def __init__(self, spec: ProjectSpec, adapters: Adapters, scope: WorkScope | None = None) -> None:
        self.spec = spec
        self.adapters = adapters
        self.scope = scope
        self._volumes: VolumeEstimator | None = None
        self._feeds: ChangeFeeds | None = None
        self._sinks = SinkDispatcher(adapters.sinks, project=spec, note=_warn)

    def runnable_asset(self, name: str, verb: str) -> AssetSpec:
        """The asset of that name, if it has runs of its own; ``verb`` is the command, for messages.

        Raises:
            InputError: There is none, it is an outlet, or the scope does not compute it.
        """
        if self.scope is not None:
            self.scope.check(name, verb)
        asset = self.spec.asset(name)
        if asset.written_by:
            message = f"{name!r} is an outlet, and is written by the runs of {asset.written_by!r}"
            raise InputError(message, hint=f"`sparkassets {verb} {asset.written_by}`")
        return asset

    def select(self, select: Selection) -> Collection[str] | None:
        """The assets that may run; None means all. For an outlet, its multi-asset is added, whose runs write it.

        Raises:
            InputError: A name is not in the project, or no asset fits a pattern.
        """
        if self.scope is not None:
            return self.scope.select(select)
        names = self.find_selected(select)
        if names is None:
            return None
        writers = (self.spec.asset(name).written_by for name in names)
        return tuple(dict.fromkeys([*names, *filter(None, writers)]))

    def find_selected(self, select: Selection) -> tuple[str, ...] | None:
        """The assets that a selection means, upstream first, whether the scope computes them or not; None means all.

        Raises:
            InputError: A term is wrong, or nothing fits it.
        """
        if select is None:
            return None
        from sparkassets.core.spec.selection import select_assets

        texts = [select] if isinstance(select, str) else select
        return select_assets(self.spec.assets, texts, project=self.spec.name, find_states=self._find_states)

    def _find_states(self) -> Mapping[str, Collection[str]]:
        """The states of each asset, as they are now."""
        from sparkassets.core.planner.explain.status import asset_status
        from sparkassets.core.planner.planner import make_plan

        planning = self.look()
        make_plan(planning)
        return {name: asset_status(planning, asset).states for name, asset in planning.project.assets.items()}

    def refuse_scope(self, verb: str) -> None:
        """Raises `InputError` if this is a branch, for a command that only makes sense for the project itself."""
        if self.scope is not None:
            message = f"`{verb}` is for the project itself, not for {self.scope.title}"
            raise InputError(message, hint="the branch picks up changes of the base when it runs")

    def sign_reason(self, reason: str) -> str:
        """The reason after the name of the person who runs this process, as ``ann: a bad load``; empty for none.

        Raises:
            InputError: It cannot be recorded, such as a credential.
        """
        if not reason:
            return ""
        from sparkassets.core.planner.explain.partition_marks import check_reason

        return f"{self.adapters.user_name()}: {check_reason(reason)}"

    def resolve_time(self, at: datetime | str | None) -> datetime:
        """The instant that ``at`` means, by default now; aware, UTC."""
        return self.parse_time(at) or self.adapters.clock.now()

    def parse_time(self, at: datetime | str | None) -> datetime | None:
        """The instant that ``at`` means, in the project's zone where it has no offset."""
        return parse_instant(at, zone=self.spec.timezone) if isinstance(at, str) else at

    def read_state(self, verb: str) -> State:
        """The state of the journal; an empty one if there is no journal. ``verb`` is the command, for its readers."""
        return self.make_ledger(verb).open() if self.adapters.store.exists() else State()

    def known_project(self, verb: str) -> ProjectSpec:
        """The project with the segments that the journal knows, for assets whose segments come up at run time.

        The journal is only read if there is such an asset.
        """
        if not any(asset.partitioning.is_open for asset in self.spec.assets.values()):
            return self.spec
        return self.read_with_segments(verb)[0]

    def read_with_segments(self, verb: str) -> tuple[ProjectSpec, State]:
        """The project with the segments that the journal knows, and the journal's state."""
        from sparkassets.core.journal.known_segments import with_known_segments

        state = self.read_state(verb)
        return with_known_segments(self.spec, state), state

    def lost_claims(self, state: State) -> frozenset[int]:
        """Fence tokens of claims whose driver is gone."""
        return self.adapters.make_lease_monitor().expired_claims(state, mine=frozenset())

    def look(
        self,
        *,
        at: datetime | str | None = None,
        select: Selection = None,
        begin: Callable[[PlanningContext], Sequence[Entry]] | None = None,
    ) -> PlanningContext:
        """Looks at sources and tables and returns the planner's input; the news is used, but not recorded.

        Args:
            at: Fixes the planner's now.
            select: Assets that may run; None means all.
            begin: Returns more entries that the plan treats as recorded.
        """
        names = self.select(select)
        ledger = self.make_ledger("plan")
        self.forget_volumes()
        if self.adapters.store.exists():
            ledger.open()
        ledger.state = ledger.assume(changed_spec_entries(self.spec, ledger.state))
        sources = observe_sources(self.spec, ledger.state, self.adapters.find_observer, now=self.adapters.clock.now())
        lost = self.lost_claims(ledger.state)
        targets = self.adapters.make_target_observer()
        tables = look_at_targets(
            self.spec, ledger.state, targets, gone_claims=lost, knows_run=ledger.knows_run, select=names
        )
        clock = self.adapters.clock.now()
        context = PlanningContext(
            self.spec,
            ledger.assume([*sources.entries, *tables.entries]),
            to_unix(self.parse_time(at) or clock),
            to_unix(clock),
            gone_claims=lost,
            select=names,
            faults=sources.faults | tables.faults,
            notes=sources.notes,
            unseen=sources.session_needed | tables.session_needed,
            estimate_volume=self.estimate_volume,
            check_availability=self.check_changes,
            stored_columns=self.adapters.read_columns,
        )
        begin_entries = begin(context) if begin is not None else ()
        return (
            replace(context, state=ledger.assume([*sources.entries, *tables.entries, *begin_entries]))
            if begin_entries
            else context
        )

    def show_plan(self, plan: Plan, planning: PlanningContext, *, estimate: bool = False) -> Plan:
        """The plan with partition keys; with ``estimate`` also with the expected cost of its runs."""
        if estimate:
            from sparkassets.core.planner.batch.cost_estimates import add_cost_estimates

            plan = add_cost_estimates(plan, planning, self.estimate_volume)
        return plan_with_keys(plan, planning.project)

    def forget_volumes(self) -> None:
        """Drops what was read about tables' volumes and change feeds, since they may have changed."""
        self._volumes = self._feeds = None

    def estimate_volume(self, asset: AssetSpec, pin: InletPin, known: AssetState) -> InletVolume:
        """How much a run with that pin reads of the asset."""
        if self._volumes is None:
            self._volumes = self.adapters.make_volume_estimator()
        return self._volumes.estimate_volume(asset, pin, known)

    def check_changes(self, asset: AssetSpec, position: TablePosition, version: int) -> ChangeAvailability:
        """Whether the changes of the asset's table from ``position`` up to ``version`` can be read."""
        if self._feeds is None:
            self._feeds = self.adapters.make_change_feeds()
        return self._feeds.check_availability(asset, position, version)

    @contextmanager
    def recording(self, verb: str) -> Iterator[JournalLedger]:
        """Yields an open ledger to commit to; creates the journal if there is none.

        At the end a snapshot is written if it is due, and the sinks get some time to receive the commits.
        """
        self.adapters.store.create(project=self.spec.name)
        ledger = self.make_ledger(verb)
        ledger.open()
        with self.wait_for_sinks():
            yield ledger
            ledger.maintain()

    @contextmanager
    def wait_for_sinks(self) -> Iterator[None]:
        """After the block, waits a limited time for the sinks to receive what was committed in it."""
        try:
            yield
        finally:
            self._sinks.end_invocation()

    def make_ledger(self, verb: str) -> JournalLedger:
        """A ledger that has not read the journal yet; ``verb`` is the command, for the driver's name in entries."""
        driver = f"{self.adapters.process_name()} {verb}"
        store, clock = self.adapters.store, self.adapters.clock
        retention = RetentionPolicy(self.spec.retention) if self.spec.retention is not None else None
        return JournalLedger(
            store,
            project=self.spec.name,
            driver=driver,
            clock=clock,
            on_commit=self._sinks.dispatch,
            retention=retention,
            variables=self.spec.variables,
        )


def _warn(text: str) -> None:
    with suppress(Warning):  # where warnings are errors
        warnings.warn(text, RuntimeWarning, stacklevel=2)
