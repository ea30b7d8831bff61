"""The decision for an asset without partitions: it runs as a whole, or not."""

from __future__ import annotations

from sparkassets.core.conditions import evaluate
from sparkassets.core.journal.state import AssetState
from sparkassets.core.planner.gates import open_without_blocks
from sparkassets.core.planner.holds import held_whole
from sparkassets.core.planner.look import Decision, Look
from sparkassets.core.planner.plan import PlannedRun, Waiting
from sparkassets.core.planner.timing import Tick, due_tick
from sparkassets.core.planner.wording import listing, when
from sparkassets.core.spec.model import AssetSpec


def decide(look: Look, asset: AssetSpec, state: AssetState) -> Decision:
    """Whether the asset runs now."""
    waits, blocked, failure = held_whole(look, asset)
    tick = _due(look, asset, state)
    if isinstance(tick, Waiting) and not state.chain:
        if waits is not None and blocked:
            return Decision(None, (waits,), blocked=True, failure=failure)
        # nothing of its own to do; what comes upstream will be its cause
        return Decision(None, (waits,) if waits else (tick,), coming=waits is not None and _follows(asset))
    if waits is not None:
        return Decision(None, (waits,), coming=not blocked, blocked=blocked, failure=failure)
    refused = open_without_blocks(look, asset)
    if refused is not None and not state.chain:
        return Decision(None, (refused,))
    last = state.failed[-1] if state.failed else None
    if last is not None and last.invocation == look.invocation and not _newer(look, state, last.epoch):
        sentence = f"{asset.name}, which failed: {last.error}"
        return Decision(None, (Waiting(asset.name, f"failed: {last.error}"),), blocked=True, failure=sentence)
    events = look.events(asset, state, None)
    run = PlannedRun(
        asset=asset.name,
        kind="scheduled",
        strategy=asset.strategy.name if asset.strategy else "",
        write=asset.write or "",
        reason=_reason(look, asset, state, tick),
        blocks=None,
        schedule_date=tick.run_after if isinstance(tick, Tick) else look.now,
        interval=tick.interval if isinstance(tick, Tick) else look.interval(events, None),
        cursor=tick.cursor if isinstance(tick, Tick) else None,
        pins=look.pins(asset, state, None),
        events=events,
        recovers=tuple(link.entry.run for link in state.chain),
    )
    return Decision(run, (), coming=True)


def _due(look: Look, asset: AssetSpec, state: AssetState) -> Tick | Waiting | None:
    """A due tick, None when its condition holds, or why it is not considered."""
    schedule = asset.schedule
    if schedule.timetable is not None:
        return due_tick(asset, schedule.timetable, state, look.now)
    if schedule.condition is None:
        return Waiting(asset.name, "manual: runs by `sparkassets backfill` only", quiet=True)
    verdict = evaluate(schedule.condition, lambda leaf: look.news(state, leaf))
    if verdict.value:
        return None
    leaves = tuple(schedule.condition.leaves())
    lacking = [leaf.ref for leaf in leaves if not look.news(state, leaf)]
    if len(lacking) < len(leaves):
        return Waiting(asset.name, f"waits for {listing(lacking)} ({schedule.text})")
    if state.last is None:
        fault = next((look.faults[name] for name in lacking if name in look.faults), None)
        return Waiting(asset.name, f"waits for {listing(lacking)}: {fault or 'nothing is there yet'}")
    return Waiting(asset.name, f"up to date since {state.last.run}", quiet=True)


def _follows(asset: AssetSpec) -> bool:
    """Whether news of an inlet alone can make it run."""
    return asset.schedule.condition is not None


def _newer(look: Look, state: AssetState, epoch: int) -> bool:
    return any(look.state.dataset(uri).seq > epoch for uri in state.spec.listens)


def _reason(look: Look, asset: AssetSpec, state: AssetState, tick: Tick | Waiting | None) -> str:
    parts = []
    if state.chain:
        parts.append(f"takes over {listing([link.entry.run for link in state.chain])}, which never ended")
    if isinstance(tick, Tick):
        parts.append(f"{asset.schedule.text} at {when(tick.run_after)}")
    if tick is None:
        leaves = asset.schedule.condition.leaves() if asset.schedule.condition else ()
        names = [leaf.ref for leaf in leaves if look.news(state, leaf)]
        parts.append(f"{listing(names)} updated")
    if state.failed:
        parts.append("failed before")
    return ", ".join(parts)
