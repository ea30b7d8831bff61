"""Where a table's log does not tell any more what became of runs, and what a person says of that who looks at the rows.

The rules, which whoever asks and takes the answer must keep:

1. It is asked once every outlet is fenced by a claim that then could not look: of all the claims before that one.
2. A claim that asks writes nothing. Who takes it over fences and asks again, for the same claims.
3. The person looks at the rows after it was asked, and not before: until the fence, what is not there may still come.
4. The answer counts where the newest claim of the chain asks, by compare-and-set, and settles the chain: as a success
   of the run that is in, with that run's own pins, or as a failure of all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tests.model.state import Claim, Commit, Driver, State, newest

if TYPE_CHECKING:
    from tests.model.protocol import Protocol

_KNOWS = ("write", "wait", "record")
"""Where a driver may have seen that a run is in."""
ASKS = "a"
"""The status of a claim that asks."""


def forgetting(protocol: Protocol, state: State) -> Iterator[tuple[str, State]]:
    """The log of a table is cut, or it is restored to before the rows of a run that is not recorded."""
    if not state.restores or not any(state.chains):
        return
    recorded = {run for run, _ in state.successes}
    for outlet, table in enumerate(state.tables):
        if table is None:
            continue
        left = state._replace(restores=state.restores - 1)
        yield f"the log of outlet {outlet} is CUT", _cut(left, outlet, len(table))
        if state.person or any(driver.step in _KNOWS and newest(state, driver) for driver in state.drivers):
            continue  # it is a loss of what is recorded then, which a look at the table finds
        unsettled = [index for index, each in enumerate(table) if each.kind == "d" and each.run not in recorded]
        if unsettled:
            gone = tuple(each._replace(kind="u") if at in unsettled else each for at, each in enumerate(table))
            restore = Commit(None, None, "x", 0, 0, 0, ())
            after = left._replace(tables=(*left.tables[:outlet], (*gone, restore), *left.tables[outlet + 1 :]))
            yield f"outlet {outlet} is RESTORED to before what is not recorded", _cut(after, outlet, len(table) + 1)


def _cut(state: State, outlet: int, at: int) -> State:
    return state._replace(cuts=tuple(sorted({**dict(state.cuts), outlet: at}.items())))


def is_untold(protocol: Protocol, state: State, lane: int, *, runs: set[int], above: int) -> bool:
    """Whether some outlet's log does not tell which of these runs are in."""
    cuts = dict(state.cuts)
    return any(_is_cut(protocol, state, outlet, lane, at, runs=runs, above=above) for outlet, at in cuts.items())


def _is_cut(protocol: Protocol, state: State, outlet: int, lane: int, cut: int, *, runs: set[int], above: int) -> bool:
    for commit in (state.tables[outlet] or ())[cut:][::-1]:
        if commit.app == protocol.apps[lane] and (
            commit.version < above or (commit.kind == "d" and commit.run in runs)
        ):
            return False
    return cut > 0


def unsettled(chain: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Those of a chain's claims that may have written."""
    return tuple(claim for claim in chain if claim.status != ASKS)


def asking(state: State, driver: Driver) -> tuple[Claim, ...]:
    """The chain of a claim that cannot look: it asks, in place of those that asked before it."""
    chain = state.chains[driver.lane]
    return (*unsettled(chain[:-1]), chain[-1]._replace(status=ASKS))


def answering(protocol: Protocol, state: State) -> Iterator[tuple[str, State]]:
    """A person looks at the rows, and says later what is there."""
    if not protocol.rules.restores:
        return
    early = protocol.rules.answer == "any_time"
    for lane, chain in enumerate(state.chains):
        asked = bool(chain) and chain[-1].status == ASKS
        if state.person is None and chain and (asked or early) and (seen := _seen(protocol, state, lane)) is not None:
            name = f"a person finds {f'run {seen}' if seen else 'nothing'} of lane {lane}"
            yield name, state._replace(person=(lane, chain[0].token, seen))
        if state.person is not None and state.person[0] == lane:
            if asked and chain[0].token == state.person[1]:
                yield from _answers(state, lane, state.person[2])
            elif not chain or chain[0].token != state.person[1]:
                yield "the person is answered", state._replace(person=None)


def _seen(protocol: Protocol, state: State, lane: int) -> int | None:
    """The run of the chain whose rows are in all outlets, 0 for none; None where only some have them."""
    claims = unsettled(state.chains[lane])
    outlets = range(protocol.rules.outlets)
    found = {claim.token for claim in claims for outlet in outlets if protocol.is_in(state, outlet, claim.token, lane)}
    if not found:
        return 0
    (run,) = found
    return run if all(protocol.is_in(state, outlet, run, lane) for outlet in outlets) else None


def _answers(state: State, lane: int, run: int) -> Iterator[tuple[str, State]]:
    claims = unsettled(state.chains[lane])
    after = state._replace(person=None, chains=(*state.chains[:lane], (), *state.chains[lane + 1 :]))
    pins = next((claim.pins for claim in claims if claim.token == run), ())
    events = tuple(run if number in pins else each for number, each in enumerate(after.events))
    successes = tuple(sorted([*state.successes, (run, pins)])) if run else state.successes
    yield f"it is MARKED: run {run or 'none'} is in", after._replace(events=events, successes=successes)
