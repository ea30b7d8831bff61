"""The planner's view of an earlier moment: the journal as it stood then, with what sources were known to hold."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from itertools import takewhile
from typing import TYPE_CHECKING

from sparkassets.app.context import ProjectContext, Selection
from sparkassets.core.instants import format_zoned, from_unix, to_unix
from sparkassets.core.journal.codec import decode
from sparkassets.core.journal.entries import NumberedEntry, SpecEntry
from sparkassets.core.journal.fold.dispatch import fold
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.errors import InputError, StateError
from sparkassets.frozen import replace
from sparkassets.ports import HistoryQuery
from sparkassets.runtime.ledger import find_oldest_entry, read_entries
from sparkassets.runtime.observation import changed_spec_entries

if TYPE_CHECKING:
    from sparkassets.core.journal.state import State


def look_back(
    context: ProjectContext, as_of: datetime | str, *, at: datetime | str | None = None, select: Selection = None
) -> PlanningContext:
    """The planner's input as of the second ``as_of``; looks at no source or table and records nothing.

    Entries have the clocks of their drivers: all before the first later one count. The files of the project are
    today's, because the journal does not hold them; an asset whose recorded schedule or code was another has a note.

    Args:
        context: The project.
        as_of: The moment.
        at: Fixes the planner's now; by default ``as_of``.
        select: Assets that may run; None means all.

    Raises:
        InputError: The journal does not reach back to that moment.
        StateError: The state cannot be used.
    """
    moment = to_unix(context.resolve_time(as_of))
    ledger = context.make_ledger("plan")
    ledger.state = _state_as_of(context, moment)
    entries = changed_spec_entries(context.spec, ledger.state)
    changed = [each.asset for each in entries if isinstance(each, SpecEntry) and each.asset in context.spec.assets]
    note = f"its files changed after {_format_moment(context, moment)}: this is decided by the files of today"
    ledger.state = ledger.assume(entries)
    return PlanningContext(
        context.spec,
        ledger.state,
        moment if at is None else to_unix(context.resolve_time(at)),
        moment,
        gone_claims=_expired_claims(ledger.state, moment),
        select=context.select(select),
        notes={name: note for name in changed if context.spec.assets[name].source is None},
        estimate_volume=context.estimate_volume,
    )


def _state_as_of(context: ProjectContext, moment: int) -> State:
    """The journal's state after the leading entries that were recorded in the second ``moment`` or before."""
    store = context.adapters.store
    oldest = find_oldest_entry(store) if store.exists() else None
    if oldest is None:
        raise InputError("nothing is recorded yet, so no earlier moment is known")
    if moment < to_unix(oldest[1]):
        first = _format_moment(context, to_unix(oldest[1]))
        gone = ": older entries are no longer kept (`retention` of the state)" if oldest[0] > 1 else ""
        raise InputError(f"the journal begins at {first}{gone}", hint="ask for that moment or a later one")
    return fold_leading(context, lambda each: to_unix(each.at) <= moment)


def fold_leading(context: ProjectContext, is_included: Callable[[NumberedEntry], bool]) -> State:
    """The journal's state before the first kept entry that is not included, folded from the base on.

    The base is a snapshot of what the entries said that are no longer kept.

    Raises:
        StateError: The state cannot be used, or the record of what was before the oldest entry is missing.
    """
    store = context.adapters.store
    image, (rows, seq) = store.read_image(project=context.spec.name), store.read_base()
    state = replace(decode(rows, journal_id=image.journal_id), seq=seq)
    last = store.read_history(HistoryQuery(last=1))[-1].seq
    for part in read_entries(store, after=seq, up_to=last):
        entries = list(takewhile(is_included, part))
        if entries and entries[0].seq != state.seq + 1:  # a gap between the base and the entries that are kept
            raise StateError("the record of what was known before the oldest entry is missing: see `state verify`")
        state = fold(state, entries, commit=0) if entries else state
        if len(entries) < len(part):
            break
    return state


def _format_moment(context: ProjectContext, moment: int) -> str:
    return format_zoned(from_unix(moment), context.spec.timezone, seconds=True)


def _expired_claims(state: State, moment: int) -> frozenset[int]:
    """Fence tokens of the open claims whose last recorded lease was over by then.

    Drivers renew a lease long before it ends, so by the journal alone their clocks tell.
    """
    return frozenset(
        claim.token
        for asset in state.assets.values()
        for claim in asset.chain
        if claim.status == "open" and max(claim.at, claim.alive_at) + claim.entry.lease_seconds < moment
    )
