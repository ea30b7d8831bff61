"""What a state of the model holds: immutable, hashable, ordered."""

from __future__ import annotations

from typing import NamedTuple

Payload = tuple
"""What a run writes: in ``append`` the numbers of events, in ``replace`` pairs of partition and inlet version."""

STAGING, STAGED, COMPARED = -1, -2, -3
"""Where a write is that has loaded no snapshot yet; in the protocol with Spark's commits there is only the first."""
TORN = (0, 0)
"""Whose a folder's files are that was removed, or written to by another, while its own job ran."""


class Commit(NamedTuple):
    """One version of a table; ``kind`` is d(ata), f(ence), or x for what others commit."""

    app: str | None
    version: int | None
    kind: str
    token: int
    run: int
    attempt: int
    payload: Payload


class Claim(NamedTuple):
    """A link of a chain; ``status`` is o(pen), f(ailed and not fenced), or a(sks what became of those before it)."""

    token: int
    pins: tuple[int, ...]
    payload: Payload
    status: str


class Driver(NamedTuple):
    """Where a driver is: ``token`` of its claim, ``run`` that it writes or settles, ``start`` the length of the log
    of outlet ``place`` when its snapshot was loaded, or -1."""

    step: str
    lane: int
    token: int
    run: int
    place: int
    attempt: int
    start: int
    payload: Payload
    pins: tuple[int, ...]


class Write(NamedTuple):
    """An attempt that goes on by itself, whatever its driver does; an ``orphan``'s driver is dead, its JVM is not."""

    lane: int
    outlet: int
    token: int
    run: int
    attempt: int
    payload: Payload
    start: int
    orphan: bool = False


class Put(NamedTuple):
    """A commit on its way as entry ``start`` of a log, that nobody waits for: it may arrive at any time, or never."""

    outlet: int
    start: int
    commit: Commit


class Files(NamedTuple):
    """A folder of staged files, and the claim and attempt whose files they are."""

    outlet: int
    lane: int
    token: int
    folder: tuple[int, ...]
    writer: tuple[int, int]


class State(NamedTuple):
    """Everything; ``events`` are -1 to come, 0 pending, else the run that consumed them, the rest by its name.

    ``cuts`` are outlets and the entries of their logs before which nothing is told; ``person`` is the lane, the first
    token of its chain, and the run that somebody found in its tables.
    """

    events: tuple[int, ...]
    chains: tuple[tuple[Claim, ...], ...]
    successes: tuple[tuple[int, tuple[int, ...]], ...]
    tables: tuple[tuple[Commit, ...] | None, ...]
    writes: tuple[Write, ...]
    drivers: tuple[Driver, ...]
    crashes: int
    claims: int
    timeouts: int
    backfill: int
    files: tuple[Files, ...] = ()
    puts: tuple[Put, ...] = ()
    late: int = 0
    foreign: int = 0
    phantoms: int = 0
    restores: int = 0
    cuts: tuple[tuple[int, int], ...] = ()
    person: tuple[int, int, int] | None = None


IDLE = Driver("idle", 0, 0, 0, 0, 0, -1, (), ())
DEAD = Driver("dead", 0, 0, 0, 0, 0, -1, (), ())
WHOLE = ("*", 0)
"""Stands in a payload that takes the place of all that is in the table."""

Steps = list[tuple[str, State]]
"""What may happen next, and the state thereafter."""


class ViolationError(Exception):
    """What must never be so, is."""


def moved(state: State, old: Driver, new: Driver) -> State:
    """With one driver gone on; drivers are alike, so their order is none."""
    drivers = list(state.drivers)
    drivers.remove(old)
    return state._replace(drivers=tuple(sorted([*drivers, new])))


def newest(state: State, driver: Driver) -> bool:
    """Whether the driver's claim is the newest of its chain and open."""
    chain = state.chains[driver.lane]
    return bool(chain) and chain[-1].token == driver.token and chain[-1].status == "o"
