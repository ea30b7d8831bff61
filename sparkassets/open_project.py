"""`OpenProject`: plans, runs and explains a project; everything else is in its namespaces."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Self

from sparkassets.app.adapters import Adapters
from sparkassets.app.context import ProjectContext, Selection, WorkScope
from sparkassets.app.work_runner import RunOptions, WorkRunner
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.planner.due.outdated_code import has_other_code
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.frozen import replace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkassets.app.assets import AssetCommands
    from sparkassets.app.backfills import BackfillCommands
    from sparkassets.app.events import EventCommands
    from sparkassets.app.history import HistoryCommands
    from sparkassets.app.lineage import LineageCommands
    from sparkassets.app.partitions import PartitionCommands
    from sparkassets.app.queries import QueryCommands
    from sparkassets.app.state import StateCommands
    from sparkassets.core.documents.project_status import ProjectStatus
    from sparkassets.core.planner.explain.explanation_nodes import ExplanationNode
    from sparkassets.core.planner.plan import Plan
    from sparkassets.core.planner.planning_context import PlanningContext
    from sparkassets.core.results import Summary
    from sparkassets.features.branches.branch_commands import BranchCommands
    from sparkassets.features.notifications.notify_commands import NotifyCommands
    from sparkassets.runtime.progress import Progress


class OpenProject:
    """A project with its state: what the command line does, in Python.

    A Spark session that it starts is kept for the next run; `close`, or the end of a ``with``, stops it.
    """

    def __init__(self, spec: ProjectSpec, adapters: Adapters, scope: WorkScope | None = None) -> None:
        self._context = ProjectContext(spec, adapters, scope)
        self._runner = WorkRunner(self._context)

    def __repr__(self) -> str:
        part = f" in {self._context.scope.title}" if self._context.scope is not None else ""
        return f"<project {self.spec.name!r}{part}: {len(self.spec.assets)} assets>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def spec(self) -> ProjectSpec:
        """The project as its files say it, such as ``project.spec.warnings``."""
        return self._context.spec

    def plan(
        self,
        *,
        at: datetime | str | None = None,
        as_of: datetime | str | None = None,
        select: Selection = None,
        estimate: bool = False,
    ) -> Plan:
        """What would run now (or at ``at``), and why the rest would not; looks at sources, records nothing.

        With ``estimate`` the plan has the cost of each run and of all: for that, the logs of the tables that they read
        are opened. With ``as_of`` it is the plan by the journal as it stood at that moment; sources are not looked at.

        >>> project.plan(at="2025-01-03", select="orders+")  # doctest: +SKIP

        Raises:
            InputError: The journal does not reach back to ``as_of``.
            StateError: The state cannot be used.
        """
        from sparkassets.core.planner.planner import make_plan

        context = self._look(as_of, at=at, select=select)
        plan = make_plan(context)
        if self._context.scope is not None:
            plan = replace(plan, notes=(*plan.notes, *self._context.scope.notes(context)))
        plan = self._context.show_plan(plan, context, estimate=estimate)
        if any(asset.deadlines is not None for asset in context.project.assets.values()):
            from sparkassets.core.planner.explain.lateness import find_all_lateness

            plan = replace(plan, late=find_all_lateness(context))
        if not any(has_other_code(asset, context.state_of(asset)) for asset in context.project.assets.values()):
            return plan
        from sparkassets.core.planner.explain.code_changes import find_code_changes

        return replace(plan, changes=find_code_changes(context))

    def run(
        self,
        spark: SparkSession | None = None,
        *,
        at: datetime | str | None = None,
        select: Selection = None,
        progress: Progress | None = None,
        check: bool = True,
        over_budget: bool = False,
        reason: str = "",
    ) -> Summary:
        """Runs what is due until nothing is.

        >>> project.run(spark, select="best_shops")  # doctest: +SKIP

        Args:
            spark: The session to run in; None takes the active one, else starts one when something is due.
            at: Fixes the planner's now.
            select: Assets that may run; None means all.
            progress: Its methods are called at plans, starts and ends of runs.
            check: Whether a failure is raised; if not, the summary's ``ok`` is false.
            over_budget: Whether runs that exceed their asset's budget run, too.
            reason: Why a person asks for it; follows the reason of each run, with the person's name.

        Raises:
            RunFailedError: A run failed, a source could not be looked at, or something waits for a person to act; it
                holds the summary.
            StateError: The state cannot be used.
            SparkUnavailableError: Something is due and Spark cannot be started.
        """
        from sparkassets.runtime.driver_work import DueWork

        works = [DueWork(self._context.select(select))]
        options = RunOptions(over_budget, reason=reason)
        return self._runner.run(works, spark, at=at, progress=progress, check=check, options=options)

    def status(self, *, at: datetime | str | None = None) -> ProjectStatus:
        """The status of every asset, upstream first.

        >>> [each.asset for each in project.status() if each.stale]  # doctest: +SKIP
        """
        from sparkassets.core.documents.project_status import ProjectStatus
        from sparkassets.core.planner.explain.status import asset_status
        from sparkassets.core.planner.planner import make_plan

        context = self._context.look(at=at)
        make_plan(context)  # fills the context's decisions, which each status reads
        statuses = tuple(asset_status(context, asset) for asset in context.project.assets.values())
        return ProjectStatus(context.now, statuses)

    def _look(
        self, as_of: datetime | str | None, *, at: datetime | str | None, select: Selection = None
    ) -> PlanningContext:
        """The planner's input: as it is now, or as the journal has it as of an earlier moment."""
        if as_of is None:
            return self._context.look(at=at, select=select)
        from sparkassets.app.past_states import look_back

        return look_back(self._context, as_of, at=at, select=select)

    def explain(
        self,
        asset: str,
        *,
        partition: str | None = None,
        at: datetime | str | None = None,
        as_of: datetime | str | None = None,
    ) -> ExplanationNode:
        """The whole decision for one asset as a tree of ``text``, ``holds`` and ``children``; ``as_of`` as of `plan`.

        >>> project.explain("best_shops")  # doctest: +SKIP
        """
        from sparkassets.app.backfills import partitions_of
        from sparkassets.core.planner.explain.explanation import explain_asset
        from sparkassets.core.planner.explain.explanation_nodes import ExplanationNode

        self.spec.asset(asset)
        context = self._look(as_of, at=at)
        spec = context.asset(asset)
        partitions = partitions_of(spec, partition) if partition is not None else EVERYTHING
        node = explain_asset(context, spec, partitions)
        if spec.source is not None:
            return node
        if has_other_code(spec, context.state_of(spec)):
            from sparkassets.core.planner.explain.code_changes import (
                describe_code_change,
                describe_recompute_cost,
                find_code_changes,
            )

            for change in find_code_changes(context, [asset]):
                lines = tuple(ExplanationNode(line) for line in change.difference)
                cost = describe_recompute_cost(change, context.project)
                clause = f"the code changed ({change.category}): {describe_code_change(change)}; {cost}"
                node = replace(node, children=(*node.children, ExplanationNode(clause, None, lines)))
        if as_of is None:  # who commits now says nothing about then
            sentences = self._committers([context.asset(name) for name in spec.written_assets])
        else:
            sentences = filter(None, [context.notes.get(asset)])
        return replace(node, children=(*node.children, *map(ExplanationNode, sentences)))

    def _committers(self, tables: list[AssetSpec]) -> Iterator[str]:
        """Sentences on who commits the asset's runs, the driver or Spark, and why; one for each table if they differ.

        Sail commits to no table, so runs fail where the driver cannot commit.
        """
        commits_fail = self._context.spec.engine == "sail"
        reasons = {
            table.name: self._context.adapters.make_target_observer().spark_commit_reason(table) for table in tables
        }
        for name, reason in reasons.items() if len({*reasons.values()}) > 1 else [("", next(iter(reasons.values())))]:
            if reason is None:
                sentence = "runs are committed by the driver"
            elif commits_fail:
                sentence = f"runs fail, because only Spark can commit them: {reason}"
            else:
                sentence = f"runs are committed by Spark: {reason}"
            yield f"{name}: {sentence}" if name else sentence

    def connect(self, spark: SparkSession | None = None) -> Self:
        """Looks at tables in catalogs through a session from now on: the given, the active or a new one.

        Raises:
            SparkUnavailableError: It cannot be started.
        """
        self._runner.open_engine(spark)[0].start()
        return self

    def stop(self) -> bool:
        """Asks a `run` in progress to cancel its runs, record that, and return; safe in a signal handler.

        Returns whether one was in progress.
        """
        return self._runner.stop()

    def close(self) -> None:
        """Stops the Spark session that runs started; never one that was there before."""
        self._runner.close()

    @cached_property
    def assets(self) -> AssetCommands:
        """People's decisions about assets: pause, resume, mark, accept, roll back; and their timetables."""
        from sparkassets.app.assets import AssetCommands

        return AssetCommands(self._context, self._runner)

    @cached_property
    def partitions(self) -> PartitionCommands:
        """Partitions of assets with their status; adds and removes segments."""
        from sparkassets.app.partitions import PartitionCommands

        return PartitionCommands(self._context)

    @cached_property
    def backfills(self) -> BackfillCommands:
        """Backfills: computes partitions again, and shows what that would cost."""
        from sparkassets.app.backfills import BackfillCommands

        return BackfillCommands(self._context, self._runner)

    @cached_property
    def branches(self) -> BranchCommands[OpenProject]:
        """Changed code beside the base: run, compare, promote, drop."""
        from sparkassets.features.branches.branch_commands import BranchCommands

        return BranchCommands(self._context, self._runner, OpenProject)

    @cached_property
    def events(self) -> EventCommands:
        """Events: announces updates by others."""
        from sparkassets.app.events import EventCommands

        return EventCommands(self._context, self._runner)

    @cached_property
    def history(self) -> HistoryCommands:
        """The past by the journal: runs, events, iterations; and runs computed again."""
        from sparkassets.app.history import HistoryCommands
        from sparkassets.features.replay.spark_replayer import SparkReplayer

        return HistoryCommands(self._context, SparkReplayer(self._context, self._runner))

    @cached_property
    def lineage(self) -> LineageCommands:
        """Origins of partitions and columns, and what depends on them."""
        from sparkassets.app.lineage import LineageCommands

        return LineageCommands(self._context)

    @cached_property
    def notifications(self) -> NotifyCommands:
        """Notifications: tests their receivers, and silences assets."""
        from sparkassets.features.notifications.notify_commands import NotifyCommands

        return NotifyCommands(self._context)

    @cached_property
    def queries(self) -> QueryCommands:
        """What runs execute, as text, and rows of tables and queries."""
        from sparkassets.app.queries import QueryCommands

        return QueryCommands(self._context, self._runner)

    @cached_property
    def state(self) -> StateCommands:
        """Maintenance of the state, and the documents of the report."""
        from sparkassets.app.state import StateCommands

        return StateCommands(self._context)
