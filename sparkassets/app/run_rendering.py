"""`RunRenderer`: what planned runs would execute, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkassets.errors import SparkAssetsError

if TYPE_CHECKING:
    from sparkassets.app.context import ProjectContext
    from sparkassets.core.documents.rendered_run import RenderedRun
    from sparkassets.core.planner.plan import PlannedRun
    from sparkassets.core.planner.planning_context import PlanningContext
    from sparkassets.ports import RunOrder


class RunRenderer:
    """Writes runs as text, by one look at the project; claims nothing.

    Args:
        planning: The view with which the runs were planned.
        verb: The command, for messages.
    """

    def __init__(self, context: ProjectContext, planning: PlanningContext, verb: str) -> None:
        self._context = context
        self._planning = planning
        self._verb = verb

    def build_order(self, run: PlannedRun) -> RunOrder:
        """The order that an engine would get for a run, as if it were claimed by the journal's next entry."""
        from sparkassets.core.instants import from_unix
        from sparkassets.core.journal.entries import ClaimEntry
        from sparkassets.core.journal.state import ClaimState
        from sparkassets.runtime.run_orders import OrderBuilder

        planning = self._planning
        ledger = self._context.make_ledger(self._verb)
        ledger.state = planning.state
        run_id = self._context.adapters.ids.run_id(run.asset, from_unix(planning.now))
        claim = ClaimEntry(run.request, run=run_id, lease_seconds=0, invocation="", host="")
        number = planning.state.seq + 1
        return OrderBuilder(planning.project, ledger).build_order(
            run, ClaimState(number, claim, "", planning.now, number)
        )

    def render(self, run: PlannedRun, *, is_planned: bool) -> RenderedRun:
        """The run as text; Spark starts only for inlets in a catalog.

        Raises:
            RunError: The template refuses such a run, or an inlet cannot be written as text.
        """
        from sparkassets.core.documents.rendered_run import RenderedRun

        order = self.build_order(run)
        code, notes = self._context.adapters.render_code(order)
        labels = tuple(order.asset.partitioning.labels(order.partitions))
        return RenderedRun(run.asset, labels, run.reason, is_planned, code, notes)

    def render_without_spark(self, run: PlannedRun) -> RenderedRun:
        """A planned run as text, with a note in the place of code that cannot be written without Spark or at all."""
        from sparkassets.core.documents.rendered_run import RenderedRun

        asset = self._planning.asset(run.asset)
        catalog = next((name for name in asset.inlets if self._planning.asset(name).is_named), None)
        if asset.runs_elsewhere:
            note = "it has no code here: its own job runs it"
        elif catalog is not None:
            note = f"{catalog} is in a catalog: `sparkassets render {run.asset}` asks it"
        else:
            try:
                return self.render(run, is_planned=True)
            except SparkAssetsError as error:
                note = str(error.args[0])
            except Exception as error:  # noqa: BLE001  a table's log that cannot be read costs this text, not the report
                note = f"it cannot be written: {type(error).__name__}: {error}"
        return RenderedRun(
            run.asset, tuple(asset.partitioning.labels(run.partitions)), run.reason, is_due=True, code=(), notes=(note,)
        )
