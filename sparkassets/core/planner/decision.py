"""The decision for one asset, as a pipeline: each step takes out what cannot run now, and says why.

The schedule says what is due; then what failed in this invocation, what waits for an upstream run, what the gates of
inlets keep back and what aligned inlets do not have yet are taken out; of the rest runs are made. A new gate is a step.
"""

from __future__ import annotations

from dataclasses import replace

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING, PartitionSet
from sparkassets.core.planner import losses, outlets, redefined, withheld
from sparkassets.core.planner.alignment import alignment
from sparkassets.core.planner.batch import batch
from sparkassets.core.planner.by_blocks import due_blocks
from sparkassets.core.planner.by_events import due_runs
from sparkassets.core.planner.context import Barrier, Decision, PlanningContext
from sparkassets.core.planner.course import Case, Course, Step
from sparkassets.core.planner.failures import failures
from sparkassets.core.planner.former import partly_appended
from sparkassets.core.planner.gates import gates
from sparkassets.core.planner.increments import increments
from sparkassets.core.planner.misfits import fitting
from sparkassets.core.planner.pending import pending
from sparkassets.core.planner.plan import Note, Waiting
from sparkassets.core.planner.redo import redone, reserved
from sparkassets.core.planner.resting import resting
from sparkassets.core.planner.slots import is_whole, leftovers, running, settling, side_by_side
from sparkassets.core.planner.upstream import upstream
from sparkassets.core.spec.model import AssetSpec


def _withheld(case: Case, course: Course) -> Course:
    """The step: what is withheld is not due, and says so."""
    if not case.state.withheld or case.pending is None:
        return course
    return replace(course, waiting=(*course.waiting, *withheld.waits(case.context, case.asset, case.state)))


def _budgeted(case: Case, course: Course) -> Course:
    """The step after the runs: what is over the asset's budget waits."""
    if case.asset.budget is None:
        return course
    from sparkassets.core.planner.budget import budgeted  # few have one

    return budgeted(case, course)


STEPS: tuple[Step, ...] = (
    reserved,
    _withheld,
    failures,
    partly_appended,
    upstream,
    gates,
    alignment,
    increments,
    batch,
    fitting,
    _budgeted,
)
"""From what is due to its runs."""


def decide(context: PlanningContext, asset: AssetSpec) -> Decision:
    """The decision for one asset, when everything before it is decided."""
    if asset.maker:
        return outlets.decide(context, asset)
    if asset.source is not None:
        said = context.faults.get(asset.name) or context.notes.get(asset.name)
        return Decision((), (Waiting(asset.name, said),)) if said else Decision()
    state = context.state_of(asset)
    before = _live(context, asset, state) or _held_back(context, asset, state) or _settled_first(context, asset, state)
    found = before or _through_the_steps(context, asset, state)
    found = redefined.told(context, asset, state, losses.told(context, asset, state, found))
    found = withheld.told(context, asset, state, found)
    said = context.notes.get(asset.name)
    return replace(found, notes=(*found.notes, Note(asset.name, said))) if said else found


def _through_the_steps(context: PlanningContext, asset: AssetSpec, state: AssetState) -> Decision:
    found = pending(context, asset, state) if asset.partitioning.is_partitioned else None
    case = Case(context, asset, state, found)
    course = schedule(case)
    for step in STEPS:
        course = step(case, course)
    course = resting(case, redone(case, course, STEPS))
    return Decision(course.runs, course.waiting, course.coming, course.barriers)


def schedule(case: Case) -> Course:
    """The first step: what is due. Blocks go by what is missing or stale, a whole asset by events and ticks."""
    return due_runs(case) if case.pending is None else due_blocks(case, case.pending)


def _live(context: PlanningContext, asset: AssetSpec, state: AssetState) -> Decision | None:
    """The decision for an asset that runs, beside which nothing else may."""
    live = context.live(state)
    if not live or (side_by_side(asset) and not any(is_whole(link, state) for link in live)):
        return None
    waiting = running(context, asset, state)
    return Decision((), tuple(waiting), coming=PartitionSet.union(each.blocks for each in waiting))


def _settled_first(context: PlanningContext, asset: AssetSpec, state: AssetState) -> Decision | None:
    """The decision for an asset whose runs were side by side, and some of them never ended."""
    slots = leftovers(context, asset, state)
    if not slots:
        return None
    waiting = Waiting(asset.name, "waits until what never ended side by side is settled")
    return Decision(tuple(settling(context, asset, state, slots)), (waiting,))


def _held_back(context: PlanningContext, asset: AssetSpec, state: AssetState) -> Decision | None:
    """The decision for an asset that does not run, whatever is due; None as a rule."""
    if (lost := losses.held_back(context, asset, state)) is not None:
        return lost
    if (unfenced := _unfenced(context, asset, state)) is not None:
        failure = f"{asset.name}, which failed"
        return Decision((), (Waiting(asset.name, unfenced),), barriers=(Barrier(EVERYTHING, failure),))
    if asset.paused or state.paused:
        return _at_rest(context, asset, state, "paused")
    if context.select is not None and asset.name not in context.select:
        return _at_rest(context, asset, state, "not selected")
    return None


def _at_rest(context: PlanningContext, asset: AssetSpec, state: AssetState, why: str) -> Decision:
    """The decision for an asset that is kept from running: consumers still see what fails or is withheld before it."""
    barriers: tuple[Barrier, ...] = ()
    if any(context.decided[name].barriers for name in asset.inlets if name in context.decided):
        found = pending(context, asset, state) if asset.partitioning.is_partitioned else None
        barriers = upstream(Case(context, asset, state, found), Course()).barriers
    return Decision((), (Waiting(asset.name, why, quiet=True),), barriers=barriers)


def _unfenced(context: PlanningContext, asset: AssetSpec, state: AssetState) -> str | None:
    """Why a failure of this invocation keeps the asset from running: nobody knows yet what may still land."""
    if not state.chain or side_by_side(asset) or state.chain[-1].status != "unfenced" or not state.failed:
        return None
    last = state.failed[-1]
    if last.invocation != context.invocation or last.token != state.chain[-1].token:
        return None
    return f"failed, and what may have landed of {last.run} is not known: {last.error}"
