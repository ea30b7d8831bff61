"""Gates on inlets: which blocks may run, because what they read is there, fresh and quiet (DESIGN section 5).

``require`` counts partitions, ``tolerance`` says how long past due it is waited for, ``fresh_within`` is about the
inlet's last update and ``settle`` about how long it has been quiet. They hold for timetables and conditions alike, and
for an asset without partitions as for one with a single partition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sparkassets.core.instants import Duration
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.course import Case, Course
from sparkassets.core.planner.freshness import stale_inlet, unquiet_blocks, until_quiet
from sparkassets.core.planner.kept import kept, protects
from sparkassets.core.planner.losses import lost_blocks, waits_for_lost
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.refusals import never, refusals, said_of
from sparkassets.core.planner.require import counted, refused_blocks, required, tolerated_until, waived
from sparkassets.core.planner.wanted import fills_nothing
from sparkassets.core.planner.wording import named_parts
from sparkassets.core.spec.model import AssetSpec, InletSpec
from sparkassets.frozen import frozen


@frozen
class Gated:
    """The blocks that may run, and why the others may not.

    Attributes:
        notes: What a run takes although it lacks something.
    """

    ready: PartitionSet
    waiting: tuple[Waiting, ...] = ()
    notes: tuple[str, ...] = ()

    def without(self, blocks: PartitionSet, *waiting: Waiting) -> Gated:
        """Without these blocks."""
        return replace(self, ready=self.ready - blocks, waiting=(*self.waiting, *waiting))


@frozen
class _Asked:
    """Of what gates are asked.

    Attributes:
        due: When the run was due, Unix seconds; None where each block is due at its own end.
        emptied: Whether all that was removed counts as there, and nothing keeps its rows.
    """

    context: PlanningContext
    asset: AssetSpec
    due: int | None
    emptied: bool


def gates(case: Case, course: Course) -> Course:
    """The step: what the gates of the inlets keep back is taken out; holes are, as nothing would fill them."""
    if not course.candidates:
        return course
    first = course.candidates[0]
    if case.pending is None:
        gated = gate(case.context, case.asset, EVERYTHING, first.since)
        if gated.waiting and not case.state.chain:  # who takes over a run settles it, gates or not
            return replace(course, candidates=(), waiting=(*course.waiting, *gated.waiting))
        return course.noted(gated.notes)
    if not first.blocks:
        return course
    holes, open_now = case.pending.holes, first.blocks - course.barred
    waiting = fills_nothing(case.context, case.asset, open_now & holes)
    forced = first.kind == "backfill"  # what is left of a request, which is recorded of forced ones alone
    gated = gate(case.context, case.asset, open_now - holes, first.since, emptied=forced)
    if gated.ready is first.blocks and not (gated.waiting or gated.notes or waiting):
        return course
    kept = replace(first, blocks=gated.ready, notes=(*first.notes, *gated.notes))
    return replace(course, candidates=(kept,), waiting=(*course.waiting, *waiting, *gated.waiting))


def gate(
    context: PlanningContext, asset: AssetSpec, blocks: PartitionSet, due: int | None = None, *, emptied: bool = False
) -> Gated:
    """Sorts ``blocks`` by whether every inlet's gates are open.

    What keeps the rows of an input that was removed is not computed again.

    Args:
        context: The moment.
        asset: The asset.
        blocks: Whole partitions.
        due: When the run was due, Unix seconds; None where each block is due at its own end.
        emptied: Whether all that was removed counts as there, and nothing keeps its rows.
    """
    gated = Gated(blocks)
    if not blocks:
        return gated
    for inlet, lost, gone in () if emptied else kept(context, asset, blocks):
        gated = gated.without(lost, protects(context, asset, inlet, lost, gone))
    asked = _Asked(context, asset, due, emptied)
    for inlet in asset.inlets.values():
        for each in _GATES:
            if gated.ready:
                gated = each(asked, inlet, gated)
    return gated


def _is_readable(asked: _Asked, inlet: InletSpec, gated: Gated) -> Gated:
    """A table of which nothing is required can be read once it is written, or its columns are declared."""
    context, upstream = asked.context, asked.context.project.assets[inlet.name]
    if inlet.require.kind != "none" or inlet.waits_only or upstream.columns:
        return gated
    is_table = upstream.source is None or upstream.source.kind == "delta"
    if not is_table or context.state_of(upstream).version is not None or context.dataset(inlet).seq:
        return gated
    reason = f"waits for {inlet.name}: it has not been written yet, so its columns are unknown; declare its `columns`"
    return Gated(NOTHING, (*gated.waiting, Waiting(asked.asset.name, reason, None, gated.ready)), gated.notes)


def _is_whole(asked: _Asked, inlet: InletSpec, gated: Gated) -> Gated:
    lost = lost_blocks(asked.context, asked.asset, inlet, gated.ready)
    wait = waits_for_lost(asked.context, asked.asset, inlet, lost) if lost else None
    return gated if wait is None else gated.without(lost, wait)


def _is_fresh(asked: _Asked, inlet: InletSpec, gated: Gated) -> Gated:
    closed = stale_inlet(asked.context, asked.asset, inlet)
    if closed is None:
        return gated
    return Gated(NOTHING, (*gated.waiting, Waiting(asked.asset.name, closed, None, gated.ready)))


def _is_quiet(asked: _Asked, inlet: InletSpec, gated: Gated) -> Gated:
    unquiet, until = unquiet_blocks(asked.context, asked.asset, inlet, gated.ready)
    return gated.without(unquiet, Waiting(asked.asset.name, until_quiet(inlet), until, unquiet)) if unquiet else gated


def _is_there(asked: _Asked, inlet: InletSpec, gated: Gated) -> Gated:
    context, asset = asked.context, asked.asset
    if not asset.partitioning.is_partitioned and not context.dependency(asset, inlet).is_mapped:
        return _came_once(asked, inlet, gated)
    refused, tolerated = refused_blocks(context, asset, inlet, gated.ready, asked.due, emptied=asked.emptied)
    if tolerated:
        lacks = said_of(context, asset, inlet, tolerated).reason.removeprefix("waits for ")
        gated = _going_on(gated, f"all of {lacks}", inlet)
    if without := waived(context, asset, inlet, gated.ready - refused):
        which = named_parts(inlet.name, without, context.partitioning(inlet))
        gated = replace(gated, notes=(*gated.notes, f"without {which}: skipped"))
    if inlet.require.kind == "none":
        gated = _doing_without(asked, inlet, gated)
    if not refused:
        return gated
    said = [_until_tolerance(asked, inlet, each) for each in refusals(context, asset, inlet, refused)]
    return gated.without(refused, *said)


def _doing_without(asked: _Asked, inlet: InletSpec, gated: Gated) -> Gated:
    """The same, with what the blocks would read of an inlet of which nothing is required, and is not there."""
    lacks = required(asked.context, asked.asset, inlet, gated.ready) - counted(asked.context, inlet)
    if not lacks:
        return gated
    which = named_parts(inlet.name, lacks, asked.context.partitioning(inlet))
    return replace(gated, notes=(*gated.notes, f"without {which}: not there"))


def _came_once(asked: _Asked, inlet: InletSpec, gated: Gated) -> Gated:
    """What reads an inlet as a whole needs one update of it; what only waits for it, for as long as it tolerates."""
    context, asset = asked.context, asked.asset
    if inlet.require.kind == "none" or inlet.aligned or context.dataset(inlet).seq:
        return gated
    over = tolerated_until(inlet, context.now if asked.due is None else asked.due, asset) if inlet.waits_only else None
    if over is not None and context.now >= over:
        return _going_on(gated, inlet.name, inlet)
    return gated.without(gated.ready, replace(never(context, asset, inlet, gated.ready), until=over))


def _going_on(gated: Gated, without: str, inlet: InletSpec) -> Gated:
    note = f"goes on without {without}: the tolerance of {_text(inlet.tolerance)} is over"
    return replace(gated, notes=(*gated.notes, note))


_GATES: tuple[Callable[[_Asked, InletSpec, Gated], Gated], ...] = (
    _is_readable,
    _is_whole,
    _is_fresh,
    _is_quiet,
    _is_there,
)
"""Of each inlet, in this order for `_is_there` counts what is left of the blocks."""


def _until_tolerance(asked: _Asked, inlet: InletSpec, said: Waiting) -> Waiting:
    """With the end of the tolerance, where that comes first."""
    context, asset, due, blocks = asked.context, asked.asset, asked.due, said.blocks
    if due is None:
        due = asset.partitioning.first_over(blocks)
    over = tolerated_until(inlet, due, asset) if due is not None and context.dataset(inlet).seq else None
    if over is None:
        return said
    until = over if said.until is None else min(over, said.until)
    return replace(said, reason=f"{said.reason}; at most until {context.when(over)} (tolerance)", until=until)


def _text(duration: Duration | None) -> str:
    return duration.text if duration is not None else ""
