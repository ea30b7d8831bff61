"""The protocol of a run whose files Spark stages and whose commit is the driver's, as the steps that may follow.

An attempt stages its files, loads a snapshot, compares the transaction version on it, and puts the next entry of the
log if it is absent. Spark's JVM outlives its driver and stages on; a commit is of the driver's process alone, or of a
request of it that is on its way. A put may be carried out and its answer lost, be carried out when its driver no longer
waits for it, or be acknowledged though its entry was cleaned from the log long since.

The rules, which the code that commits must keep:

1. A snapshot is loaded for every put, and the transaction version is compared on the very snapshot that is committed
   upon, at every attempt: 2·token + 1 or more: nothing is put. deltalake refuses no version, so nothing else does.
2. The put is of the next entry only. On a conflict the snapshot is loaded and compared again; what others committed in
   between is rebased over in no other way.
3. No answer of a put is believed, neither an error nor a success: a snapshot that is loaded thereafter tells.
4. A fence is in place when a snapshot that was loaded thereafter shows 2·token; that version is the claim's own,
   whatever the answer of its put was. Only a greater one says that the claim was taken over.
5. Every attempt stages into a folder of its own, which the run, the token of the claim that stages and the attempt
   name. The claim that completes a run of an older one has its own token in the name.
6. Staged files of a claim's attempt are removed once a snapshot of *that* outlet shows, for *that* asset's transaction
   id, 2·token + 1 or more, and does not hold the attempt's commit. Thereafter no commit of them can come. This is so
   for an older claim's after the fence of the next and its look; for a claim's own other attempts once it is in, or
   has fenced itself. An error, the end of a driver, or to be taken over is no reason to remove anything, and who has
   been taken over without knowing removes nothing of a newer claim that completes its run.
7. Whoever takes over need not wait for the JVM of the driver before: what it still stages can be committed by nobody.
   Where Spark is to commit, the claim names the JVM before it does, and without put-if-absent its end is awaited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

from tests.model import invariants
from tests.model.protocol import Protocol
from tests.model.state import (
    COMPARED,
    STAGED,
    STAGING,
    TORN,
    Commit,
    Driver,
    Files,
    Put,
    State,
    Steps,
    ViolationError,
    Write,
    moved,
)


class DriverCommits(Protocol):
    """The steps of one configuration."""

    def successors(self, state: State) -> Steps:
        """Everything that may happen next; what may be removed is removed at once.

        Earlier is worse: a commit of what is gone is a violation, whenever it comes.
        """
        return [(what, self._tidied(after)) for what, after in super().successors(state)]

    def check(self, state: State) -> None:
        """Raises a `ViolationError` where something is so that must never be."""
        super().check(state)
        invariants.check_files(state)
        if self.rules.sweep not in ("never", "by_run") and not (any(state.chains) or state.writes):
            left = [files for files in state.files if not _committed(state, files)]
            if left:
                raise ViolationError(f"I7: all is settled, and staged files are left of claim {left[0].token}")

    # ------------------------------------------------------------------ environment

    def arriving(self, state: State) -> Iterator[tuple[str, State]]:
        """The next event, a commit of somebody else's, a put that was on its way."""
        yield from super().arriving(state)
        for put in state.puts:
            landed = self.commit(state, put.outlet, put.commit, put.start)
            what = f"a put of claim {put.commit.token} in outlet {put.outlet} LANDS LATE ({put.commit.version})"
            yield what, landed
        for outlet, table in enumerate(state.tables):
            if state.foreign and table is not None:
                after = self._foreign(state, outlet)._replace(foreign=state.foreign - 1)
                yield f"somebody else commits to outlet {outlet}", after

    def _foreign(self, state: State, outlet: int) -> State:
        return self.commit(state, outlet, Commit(None, None, "x", 0, 0, 0, ()), len(state.tables[outlet] or ()))

    def crashing(self, state: State, driver: Driver) -> Steps:
        """The death of a driver: its JVM stages on, and of its puts those that are on their way may land."""
        own = [write for write in state.writes if write.token == driver.token and not write.orphan]
        others = [write for write in state.writes if write not in own]
        orphans = [write._replace(orphan=True) for write in own if write.start == STAGING]
        sent = [Put(write.outlet, write.start, self.data(write)) for write in own if write.start >= 0]
        if driver.start >= 0:
            version = 2 * driver.token + (driver.step == "fail")
            sent.append(Put(driver.place, driver.start, self.fence_commit(driver, version)))
        left = state._replace(writes=tuple(sorted([*others, *orphans])))
        return [
            (f"{what}, {len(late)} puts on their way", after._replace(puts=tuple(sorted([*state.puts, *late]))))
            for what, after in super().crashing(left, driver)
            for count in range(len(sent) + 1)
            for late in combinations(sent, count)
        ]

    def at(self, moment: str, state: State, driver: Driver) -> State:
        """The folder of an attempt that begins, and what the wrong rules remove too early."""
        if moment == "submitted":
            folder = self._folder(driver.run, driver.token, driver.attempt)
            files = Files(driver.place, driver.lane, driver.token, folder, (driver.token, driver.attempt))
            state = _with(state, files)
        match self.rules.sweep, moment:
            case "at_claim", "claimed":
                return _without(state, lambda each: _older(each, driver) and not _committed(state, each))
            case "before_look", "fenced":
                return _without(state, lambda each: _older(each, driver))
            case "own_attempts", "submitted":
                now = (driver.token, driver.attempt)
                return _without(
                    state,
                    lambda each: each.token == driver.token and each.writer != now and not _committed(state, each),
                )
            case "on_error", "error":
                return _without(state, lambda each: each.writer == (driver.token, driver.attempt))
            case "by_run", "failed":
                return _without(state, lambda each: each.folder[0] == driver.run and not _committed(state, each))
            case "on_superseded", "superseded":
                return _without(state, lambda each: each.token == driver.token)
        return state

    def _folder(self, run: int, token: int, attempt: int) -> tuple[int, ...]:
        match self.rules.folder:
            case "no_token":
                return run, attempt
            case "no_attempt":
                return run, token
        return run, token, attempt

    def _tidied(self, state: State) -> State:
        """Without what may be removed, and without puts that can no longer land."""
        puts = tuple(put for put in state.puts if put.start == len(state.tables[put.outlet] or ()))
        if puts != state.puts:
            state = state._replace(puts=puts)
        if self.rules.sweep in ("settled", "at_fence", "other_lanes", "other_outlets"):
            return _without(state, lambda each: self._may_go(state, each))
        return state

    def _may_go(self, state: State, files: Files) -> bool:
        """Whether staged files can be committed by nobody any more, rule 6 above."""
        lanes = range(self.rules.lanes) if self.rules.sweep == "other_lanes" else (files.lane,)
        outlets = range(self.rules.outlets) if self.rules.sweep == "other_outlets" else (files.outlet,)
        newest = max(self.newest_version(state, outlet, lane) for outlet in outlets for lane in lanes)
        needed = 2 * files.token + (self.rules.sweep != "at_fence")
        return newest >= needed and not _committed(state, files)

    # ------------------------------------------------------------------ step 4: an attempt

    def writing(self, state: State, write: Write) -> Steps:
        """What an attempt does next."""
        if write.start == STAGING:
            return self._staging(state, write)
        if write.start == COMPARED:
            return [
                (f"{_name(write)} loads a snapshot to commit upon", self._at(state, write, self._length(state, write)))
            ]
        return self._loading(state, write) if write.start == STAGED else self._putting(state, write)

    def _staging(self, state: State, write: Write) -> Steps:
        folder, writer = self._folder(write.run, write.token, write.attempt), (write.token, write.attempt)
        files = Files(write.outlet, write.lane, write.token, folder, writer)
        after = state if files in state.files else _with(state, files._replace(writer=TORN))
        if write.orphan:
            return [(f"{_name(write)} of a dead driver is STAGED", _gone(after, write))]
        steps = [(f"{_name(write)} is STAGED", self._at(after, write, STAGED))]
        if self.rules.attempts > 1:
            steps.append((f"{_name(write)}: Spark's job fails", self.delivered(_gone(state, write), write, "error")))
        return steps

    def _loading(self, state: State, write: Write) -> Steps:
        if state.tables[write.outlet] is None:
            return [(f"{_name(write)} creates the table", self._foreign(state, write.outlet))]
        compares = self.rules.compare != "never" and not (self.rules.compare == "first" and write.attempt > 1)
        if compares and self.newest_version(state, write.outlet, write.lane) > 2 * write.token:
            return [(f"{_name(write)} sees a newer transaction", self.delivered(_gone(state, write), write, "skip"))]
        start = COMPARED if self.rules.compare == "before" else self._length(state, write)
        return [(f"{_name(write)} loads a snapshot and compares", self._at(state, write, start))]

    def _putting(self, state: State, write: Write) -> Steps:
        name, gone = _name(write), _gone(state, write)
        if write.start < self._length(state, write) and self.rules.atomic:
            again = STAGED if self.rules.rebase == "load" else self._length(state, write)
            steps = [(f"{name}: CONFLICT", self._at(state, write, again))]
            if state.phantoms:
                after = gone._replace(phantoms=state.phantoms - 1)
                steps.append((f"{name} is acknowledged behind the log", self.delivered(after, write, "ok")))
            return steps
        landed = self.commit(gone, write.outlet, self.data(write), write.start)
        steps = [
            (f"{name} COMMITS {write.payload}", self.delivered(landed, write, "ok")),
            (f"{name} COMMITS {write.payload}, the ANSWER IS LOST", self.delivered(landed, write, "error")),
        ]
        if state.late:
            put = Put(write.outlet, write.start, self.data(write))
            after = gone._replace(puts=tuple(sorted([*state.puts, put])), late=state.late - 1)
            steps.append((f"{name}: an error, and the put is ON ITS WAY", self.delivered(after, write, "error")))
        return steps

    @staticmethod
    def _length(state: State, write: Write) -> int:
        return len(state.tables[write.outlet] or ())

    @staticmethod
    def _at(state: State, write: Write, start: int) -> State:
        rest = list(state.writes)
        rest.remove(write)
        return state._replace(writes=tuple(sorted([*rest, write._replace(start=start)])))

    # ------------------------------------------------------------------ steps 2 and 6: fences

    def fence(self, state: State, driver: Driver) -> Steps:
        """One step of fencing one outlet: loads a snapshot and compares, or puts."""
        version = 2 * driver.token
        if driver.start == -1 and self.rules.fence_check and state.tables[driver.place] is not None:
            seen = self.newest_version(state, driver.place, driver.lane)
            if seen > version or (seen == version and self.rules.fence_equal == "another"):
                return [self.superseded(state, driver, "finds a newer fence")]
        return self._fence(state, driver, version)

    def self_fence(self, state: State, driver: Driver) -> Steps:
        """The same at the version of the claim's own data."""
        return self._fence(state, driver._replace(attempt=0), 2 * driver.token + 1, instead_of=driver)

    def _fence(self, state: State, driver: Driver, version: int, *, instead_of: Driver | None = None) -> Steps:
        outlet, was = driver.place, instead_of or driver
        table = state.tables[outlet]
        name = f"{driver.token} fence of outlet {outlet} at {version}"
        if table is None:
            return [(f"{name} creates the table", self._foreign(state, outlet))]
        if driver.start == -1:
            if self.rules.fence_check and self.newest_version(state, outlet, driver.lane) >= version:
                return [(f"{name} is there", moved(state, was, self.next_outlet(driver)))]
            return [(f"{name} loads a snapshot", moved(state, was, driver._replace(start=len(table))))]
        again, on = driver._replace(start=-1), self.next_outlet(driver)
        answered = on if self.rules.fenced_when == "answered" else again
        if driver.start < len(table) and self.rules.atomic:
            then = again if self.rules.fence_conflict == "retry" else on
            if self.rules.rebase == "blindly":
                then = driver._replace(start=len(table))
            steps = [(f"{name}: CONFLICT", moved(state, was, then))]
            if state.phantoms:
                after = state._replace(phantoms=state.phantoms - 1)
                steps.append((f"{name} is acknowledged behind the log", moved(after, was, answered)))
            return steps
        commit = self.fence_commit(driver, version)
        landed = self.commit(state, outlet, commit, driver.start)
        steps = [(f"{name} COMMITS", moved(landed, was, answered))]
        if answered != again:
            steps.append((f"{name} COMMITS, the ANSWER IS LOST", moved(landed, was, again)))
        if state.late:
            put = Put(outlet, driver.start, commit)
            after = state._replace(puts=tuple(sorted([*state.puts, put])), late=state.late - 1)
            steps.append((f"{name}: an error, and the put is ON ITS WAY", moved(after, was, again)))
        return steps


def _name(write: Write) -> str:
    return f"attempt {write.token}.{write.attempt} of run {write.run}, outlet {write.outlet},"


def _gone(state: State, write: Write) -> State:
    rest = list(state.writes)
    rest.remove(write)
    return state._replace(writes=tuple(rest))


def _committed(state: State, files: Files) -> bool:
    table = state.tables[files.outlet] or ()
    return any(commit.kind == "d" and (commit.token, commit.attempt) == files.writer for commit in table)


def _older(files: Files, driver: Driver) -> bool:
    return files.lane == driver.lane and files.token < driver.token


def _with(state: State, files: Files) -> State:
    """With a folder, in place of one of that name."""
    rest = [each for each in state.files if (each.outlet, each.folder) != (files.outlet, files.folder)]
    return state._replace(files=tuple(sorted([*rest, files])))


def _without(state: State, removed: Callable[[Files], bool]) -> State:
    left = tuple(each for each in state.files if not removed(each))
    return state if left == state.files else state._replace(files=left)
