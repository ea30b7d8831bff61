"""The protocol of a run (docs/design/run-protocol.md) and its environment, as the steps that may follow upon a state.

Lease expiry has no clock here: any idle driver may take over any live claim at any moment, so what holds here holds for
every clock, length of a lease and way to renew it. A zombie is a driver that is not scheduled for a while. A token is
the ordinal of its claim. Commits are Spark's: its job reads a snapshot when it begins and commits when it ends, it goes
on when its driver dies, and it is refused when the same transaction id was committed meanwhile.

With ``slots`` the runs of one asset are side by side, each in a slot with a chain and a transaction id of its own. The
rules, which whoever plans and claims must keep:

1. A claim goes into a slot without unsettled claims, or into the one whose unsettled claims it overlaps, which it takes
   over: fenced, looked for and settled as ever, in that slot alone.
2. No claim is made of partitions that an unsettled claim of another slot has, whether its driver is alive, is gone or
has
   failed without a fence. What overlaps several slots waits until all but one of them are settled.
3. A run that replaces the whole table overlaps every partition, those that it does not compute too.
4. The first rows of a table may make it again; whoever commits them conflicts with all that came since its snapshot.
5. Without put-if-absent only one is at work at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.model import asking, invariants
from tests.model.rules import Rules
from tests.model.state import (
    DEAD,
    IDLE,
    STAGING,
    WHOLE,
    Claim,
    Commit,
    Driver,
    Payload,
    State,
    Steps,
    ViolationError,
    Write,
    moved,
    newest,
)

CREATING = 1000
"""Added to the length of the log by whoever saw no table, and so creates it with the commit."""


class Protocol:
    """The steps of one configuration."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.apps = tuple("app0" if rules.share_app else f"app{lane}" for lane in range(rules.lanes))
        self._driving: dict[str, Callable[[State, Driver], Steps]] = {
            "fence": self.fencing,
            "look": self.looking,
            "write": self.submitting,
            "wait": self.waiting,
            "fail": self.failing,
            "record": self.recording,
        }

    def initial(self) -> State:
        """Before anything happened."""
        rules = self.rules
        old = (Commit(self.apps[0], rules.old_version, "x", 0, 0, 0, ()),) if rules.old_version else ()
        return State(
            events=(-1,) * rules.events,
            chains=((),) * rules.lanes,
            successes=(),
            tables=(old if rules.exists else None,) * rules.outlets,
            writes=(),
            drivers=(IDLE,) * rules.drivers,
            crashes=rules.crashes,
            claims=0,
            timeouts=rules.timeouts,
            backfill=rules.backfill,
            late=rules.late,
            foreign=rules.foreign,
            phantoms=rules.phantoms,
            restores=rules.restores,
        )

    def successors(self, state: State) -> Steps:
        """Everything that may happen next.

        Raises:
            ViolationError: A driver is about to do what it must never do.
        """
        steps = [*self.arriving(state), *asking.forgetting(self, state), *asking.answering(self, state)]
        for write in state.writes:
            steps += self.writing(state, write)
        for driver in dict.fromkeys(state.drivers):
            if driver.step == "idle":
                steps += self.claiming(state)
            elif driver.step != "dead":
                steps += self.crashing(state, driver)
                steps += self._driving[driver.step](state, driver)
        return steps

    def check(self, state: State) -> None:
        """Raises a `ViolationError` where something is so that must never be."""
        invariants.check(self.rules, state)

    @staticmethod
    def is_done(state: State) -> bool:
        """Whether all that may come was consumed, and nothing is unsettled."""
        return all(run > 0 for run in state.events) and not any(state.chains)

    # ------------------------------------------------------------------ what a snapshot tells

    def version(self, state: State, outlet: int, lane: int) -> int:
        """The transaction version of a lane in an outlet, 0 without one."""
        versions = self.versions(state, outlet, lane)
        return max(versions, default=0) if self.rules.fence_check else self.newest_version(state, outlet, lane)

    def newest_version(self, state: State, outlet: int, lane: int) -> int:
        """The one that a snapshot tells: the last, not the greatest."""
        return next(iter(self.versions(state, outlet, lane)[::-1]), 0)

    def versions(self, state: State, outlet: int, lane: int) -> list[int]:
        """All that were committed, oldest first."""
        app, table = self.apps[lane], state.tables[outlet] or ()
        return [commit.version for commit in table if commit.app == app and commit.version is not None]

    def position(self, state: State, outlet: int, run: int, lane: int, part: Payload | None = None) -> int:
        """Where in an outlet's log a run's data commit is, -1 for nowhere."""
        for index, commit in enumerate(state.tables[outlet] or ()):
            of_run = commit.kind == "d" and commit.run == run and commit.app == self.apps[lane]
            if of_run and part in (None, commit.payload):
                return index
        return -1

    def is_in(self, state: State, outlet: int, run: int, lane: int, part: Payload | None = None) -> bool:
        """Whether a run's data commit is in an outlet."""
        return self.position(state, outlet, run, lane, part) >= 0

    def payload(self, pins: tuple[int, ...], state: State, *, backfill: bool = False) -> Payload:
        """What a run with these pins writes."""
        if self.rules.mode == "append":
            return pins
        version = sum(1 for run in state.events if run >= 0)  # of the inlet when it is pinned
        touches = self.rules.touches
        if backfill and self.rules.whole:
            there = {partition for event, run in enumerate(state.events) if run > 0 for partition in touches[event]}
            return (WHOLE, *((partition, version) for partition in sorted(there)))
        events = range(self.rules.events) if backfill else pins
        partitions = {partition for event in events for partition in touches[event]}
        return tuple((partition, version) for partition in sorted(partitions))

    def parts(self, payload: Payload) -> tuple[Payload, ...]:
        """What a run commits to one outlet, one commit each."""
        return tuple((part,) for part in payload) if self.rules.split and len(payload) > 1 else (payload,)

    # ------------------------------------------------------------------ commits

    def commit(self, state: State, outlet: int, commit: Commit, start: int) -> State:
        """With one version more."""
        table = state.tables[outlet] or ()
        if not self.rules.atomic and start < len(table):
            table = (*table[:start], commit, *table[start + 1 :])  # in place of what was there
        else:
            table = (*table, commit)
        return state._replace(tables=(*state.tables[:outlet], table, *state.tables[outlet + 1 :]))

    def conflicts(self, state: State, outlet: int, lane: int, start: int) -> bool:
        """Whether the same transaction id was committed since, or somebody created the table first."""
        if not self.rules.atomic:
            return False
        created, start = divmod(start, CREATING)
        table = state.tables[outlet]
        return bool(created and table is not None) or any(c.app == self.apps[lane] for c in (table or ())[start:])

    def _rows_conflict(self, state: State, write: Write) -> bool:
        """Whether others committed rows since that a write of these rows cannot be made beside."""
        table, start = state.tables[write.outlet] or (), write.start % CREATING
        since = [commit for commit in table[start:] if commit.kind == "d"]
        if self.rules.remakes and self.rules.remake_conflicts and since and not _has_rows(table[:start]):
            return True  # one of the two has made the table again
        if self.rules.mode == "append":
            return False
        whole = self.rules.layout == "none" or WHOLE in write.payload
        partitions = {partition for partition, _ in write.payload}
        return any(
            whole or WHOLE in each.payload or partitions & {partition for partition, _ in each.payload}
            for each in since
        )

    def loaded(self, state: State, outlet: int) -> int:
        """What a snapshot of an outlet is known by."""
        table = state.tables[outlet]
        return CREATING if table is None else len(table)

    # ------------------------------------------------------------------ environment

    def arriving(self, state: State) -> Iterator[tuple[str, State]]:
        """The next event."""
        if -1 in state.events:
            event = state.events.index(-1)
            events = (*state.events[:event], 0, *state.events[event + 1 :])
            yield f"event {event + 1} arrives", state._replace(events=events)

    def crashing(self, state: State, driver: Driver) -> Steps:
        """The death of a driver; what its writes do then is their matter."""
        if not state.crashes:
            return []
        after = moved(state, driver, DEAD)._replace(crashes=state.crashes - 1)
        return [(f"driver {driver.token} CRASHES at {driver.step}", after)]

    def at(self, moment: str, state: State, driver: Driver) -> State:
        """What else happens at a moment of a driver."""
        del moment, driver
        return state

    # ------------------------------------------------------------------ step 4: Spark's job

    def writing(self, state: State, write: Write) -> Steps:
        """What an attempt does next."""
        rest = list(state.writes)
        rest.remove(write)
        gone = state._replace(writes=tuple(rest))
        name = f"write {write.token}.{write.attempt} of run {write.run}, outlet {write.outlet}"
        version = 2 * write.token + 1
        if write.start == STAGING:
            if self.rules.txn and self.version(state, write.outlet, write.lane) >= version:
                return [(f"{name}: starts, SKIPPED", self.delivered(gone, write, "skip"))]
            begun = write._replace(start=self.loaded(state, write.outlet))
            return [(f"{name}: starts (reads a snapshot)", state._replace(writes=tuple(sorted([*rest, begun]))))]
        if self._job_conflicts(state, write):
            return [(f"{name}: CONFLICT", self.delivered(gone, write, "error"))]
        self._check_remade(state, write)
        after = self.commit(gone, write.outlet, self.data(write), write.start % CREATING)
        steps = [(f"{name}: COMMITS {version} {write.payload}", self.delivered(after, write, "ok"))]
        if self.rules.ambiguous and (self.rules.attempts > 1 or not self.rules.verify):
            steps.append((f"{name}: COMMITS {version}, reports an error", self.delivered(after, write, "error")))
        return steps

    def _job_conflicts(self, state: State, write: Write) -> bool:
        if self.rules.slots and self._rows_conflict(state, write):
            return True
        if self.rules.txn:
            return self.conflicts(state, write.outlet, write.lane, write.start)
        since = (state.tables[write.outlet] or ())[write.start % CREATING :]
        return any(commit.kind == "d" for commit in since)  # a MERGE sees conflicts of files alone

    def data(self, write: Write) -> Commit:
        """The commit of an attempt."""
        version = 2 * write.token + 1 if self.rules.txn else None
        return Commit(self.apps[write.lane], version, "d", write.token, write.run, write.attempt, write.payload)

    def _check_remade(self, state: State, write: Write) -> None:
        """Who made the table again must not have taken rows away with it."""
        table, start = state.tables[write.outlet] or (), write.start % CREATING
        if self.rules.remakes and not _has_rows(table[:start]) and _has_rows(table[start:]):
            raise ViolationError(f"I2: claim {write.token} rebuilds the table over rows that came meanwhile")

    def delivered(self, state: State, write: Write, result: str) -> State:
        """With the driver told, if it still waits for this attempt."""
        for driver in state.drivers:
            if self._waits_for(driver, write):
                told = self.after_write_result(driver, result)
                return moved(self.at("error", state, driver) if result == "error" else state, driver, told)
        return state

    def _waits_for(self, driver: Driver, write: Write) -> bool:
        if driver.step != "wait" or (driver.token, driver.attempt) != (write.token, write.attempt):
            return False
        parts = self.parts(driver.payload)
        outlet, part = divmod(driver.place, len(parts))
        return outlet == write.outlet and parts[part] == write.payload

    def after_write_result(self, driver: Driver, result: str) -> Driver:
        """A driver that was told how its write ended."""
        if self.rules.verify:
            return driver._replace(step="write")
        if result in ("ok", "skip"):
            return driver._replace(step="write", place=driver.place + 1, attempt=0, start=-1)
        return driver._replace(step="write" if driver.attempt < self.rules.attempts else "fail")

    # ------------------------------------------------------------------ step 1

    def claiming(self, state: State) -> Steps:
        """What an idle driver may claim: what is pending, and any chain that is not empty."""
        if self.rules.slots:
            return self._claiming_slots(state)
        steps: Steps = []
        for lane in range(self.rules.lanes if state.claims < self.rules.claims else 0):
            chain = state.chains[lane]
            pins = tuple(
                event
                for event in range(self.rules.events)
                if state.events[event] == 0 and self.rules.lane_of_event[event] == lane
            )
            if chain and not self._is_over(state, chain[-1]):
                continue
            if pins or chain:
                steps.append(self._claim(state, lane, pins, self.payload(pins, state)))
            if state.backfill == lane:
                after = state._replace(backfill=-1)
                steps.append(self._claim(after, lane, (), self.payload((), state, backfill=True)))
        return steps

    def _claiming_slots(self, state: State) -> Steps:
        """Each event is a run of its own, in the first slot that is free, or in the one whose claims it overlaps."""
        steps: Steps = []
        free = [lane for lane, chain in enumerate(state.chains) if not chain]
        for lane, chain in enumerate(state.chains if state.claims < self.rules.claims else ()):
            if lane not in free[:1] and not (chain and self._is_over(state, chain[-1])):
                continue
            pending = [event for event in range(self.rules.events) if state.events[event] == 0]
            for event in pending:
                partitions = {*self.rules.touches[event]}
                if self._may_claim(state, lane, partitions) and (not chain or self._overlaps(state, lane, partitions)):
                    steps.append(self._claim(state, lane, (event,), self.payload((event,), state)))
            if chain:
                steps.append(self._claim(state, lane, (), ()))
            backfill = self.payload((), state, backfill=True)
            if state.backfill >= 0 and self._may_claim(state, lane, {partition for partition, _ in backfill}):
                steps.append(self._claim(state._replace(backfill=-1), lane, (), backfill))
        return steps

    def _may_claim(self, state: State, lane: int, partitions: set[str]) -> bool:
        """Whether a claim of these partitions in a slot need not wait for what other slots have not settled."""
        others = [each for each in range(self.rules.lanes) if each != lane and state.chains[each]]
        if self.rules.alone:
            return not others
        match self.rules.overlap:
            case "ignored":
                return True
            case "alive":
                others = [each for each in others if any(driver.lane == each for driver in _at_work(state))]
        return not any(self._overlaps(state, each, partitions) for each in others)

    def _overlaps(self, state: State, lane: int, partitions: set[str]) -> bool:
        """Whether an unsettled claim of a slot is of some of the partitions."""
        for claim in state.chains[lane]:
            there = {event for event in claim.pins if self.rules.mode == "append"}
            claimed = {partition for event in there for partition in self.rules.touches[event]}
            claimed |= {partition for partition, _ in claim.payload} if self.rules.mode == "replace" else set()
            if partitions & claimed or ("*" in partitions | claimed and self.rules.whole_waits):
                return True
        return False

    def _is_over(self, state: State, claim: Claim) -> bool:
        """Whether a claim may be taken over."""
        if self.rules.takeover == "any_time" or claim.status == "f":
            return True
        writes = state.writes if self.rules.takeover == "jvm_gone" else ()
        return all(each.token != claim.token for each in (*state.drivers, *writes))

    def _claim(self, state: State, lane: int, pins: tuple[int, ...], payload: Payload) -> tuple[str, State]:
        chain, token = state.chains[lane], state.claims + 1
        fences = bool(chain) and self.rules.fence == "dirty"
        if self.rules.fail == "naive" and chain and chain[-1].status == "f":
            fences = False
        step = "write"
        if fences:
            step = "look" if self.rules.look.endswith("before_fence") else "fence"
        longer = (*chain, Claim(token, pins, payload, "o"))
        driver = Driver(step, lane, token, token, 0, 0, -1, payload, pins)
        chains = (*state.chains[:lane], longer, *state.chains[lane + 1 :])
        after = moved(state._replace(claims=token, chains=chains), IDLE, driver)
        over = f" over {[claim.token for claim in chain]}" if chain else ""
        what = f"CLAIM {token} in lane {lane}, events {invariants.named(pins)}, payload {payload}{over}"
        return what, self.at("claimed", after, driver)

    # ------------------------------------------------------------------ step 2

    def fencing(self, state: State, driver: Driver) -> Steps:
        """Fences every outlet, one after the other."""
        if driver.place == self.rules.outlets:
            return self.fenced(state, driver)
        table = state.tables[driver.place]
        if table is None and self.rules.fence_missing == "skip" and driver.start == -1:
            return [(f"{driver.token}: no table to fence", moved(state, driver, self.next_outlet(driver)))]
        return self.fence(state, driver)

    def fenced(self, state: State, driver: Driver) -> Steps:
        """Every outlet is fenced."""
        state = self.at("fenced", state, driver)
        if not self.rules.look.endswith("before_fence"):
            step = "look"
        else:
            step = "write" if driver.run == driver.token else "record"
        then = driver._replace(step=step, place=0, attempt=0, start=-1)
        return [(f"{driver.token} has fenced all", moved(state, driver, then))]

    def fence(self, state: State, driver: Driver) -> Steps:
        """One step of fencing one outlet: reads a snapshot, or commits upon it."""
        outlet, version = driver.place, 2 * driver.token
        if driver.start == -1:
            if self.rules.fence_check and self.version(state, outlet, driver.lane) >= version:
                return [self.superseded(state, driver, "finds a newer fence")]
            begun = driver._replace(start=self.loaded(state, outlet))
            return [(f"{driver.token} fence of outlet {outlet} starts", moved(state, driver, begun))]
        if self.conflicts(state, outlet, driver.lane, driver.start):
            retries = self.rules.fence_conflict == "retry"
            then = driver._replace(start=-1) if retries else self.next_outlet(driver)
            return [(f"{driver.token} fence of outlet {outlet}: CONFLICT", moved(state, driver, then))]
        after = self.commit(state, outlet, self.fence_commit(driver, version), driver.start % CREATING)
        return [(f"{driver.token} fence of outlet {outlet} COMMITS {version}", self._gone_on(after, driver))]

    def _gone_on(self, state: State, driver: Driver) -> State:
        return moved(state, driver, self.next_outlet(driver))

    @staticmethod
    def next_outlet(driver: Driver) -> Driver:
        """The same step at the next outlet."""
        return driver._replace(place=driver.place + 1, attempt=0, start=-1)

    def fence_commit(self, driver: Driver, version: int) -> Commit:
        """A commit without rows."""
        return Commit(self.apps[driver.lane], version, "f", driver.token, 0, 0, ())

    def superseded(self, state: State, driver: Driver, why: str) -> tuple[str, State]:
        """The end of a driver whose claim another has taken over (step 7)."""
        if newest(state, driver):
            raise ViolationError(f"L2: {driver.token} {why} and gives up, but nobody has taken its claim over")
        return f"{driver.token} {why}: superseded", moved(self.at("superseded", state, driver), driver, IDLE)

    # ------------------------------------------------------------------ step 3

    def looking(self, state: State, driver: Driver) -> Steps:
        """Looks which run of the chain is in."""
        before = self.rules.look.endswith("before_fence")
        older = [claim for claim in state.chains[driver.lane] if claim.token < driver.token]
        if not older or all(claim.token != driver.token for claim in state.chains[driver.lane]):
            return [self.superseded(state, driver, "finds its claim settled")]
        if self._is_untold(state, driver, older):
            if not newest(state, driver):
                return [self.superseded(state, driver, "cannot ask")]
            lane, chain = driver.lane, asking.asking(state, driver)
            chains = (*state.chains[:lane], chain, *state.chains[lane + 1 :])
            return [(f"{driver.token} ASKS", moved(state._replace(chains=chains), driver, IDLE))]
        found = self._found(state, driver, older)
        if len(found) > 1:
            raise ViolationError(f"L1: two unsettled runs have data in the target: {[c.token for c, _ in found]}")
        own = driver._replace(step="fence" if before else "write", run=driver.token, place=0, attempt=0, start=-1)
        if not found:
            return [(f"{driver.token} looks: nothing in", moved(state, driver, own))]
        ((claim, outlets),) = found
        full = len(outlets) == self.rules.outlets
        if not full and self.rules.multi == "all_or_rerun":
            return [(f"{driver.token} looks: partly in, runs all again", moved(state, driver, own))]
        adopts = full or self.rules.multi == "any"
        pins_of = self.rules.adopt_pins if adopts else self.rules.forward_pins
        then = own._replace(run=claim.token)
        if pins_of == "run":
            then = then._replace(payload=claim.payload, pins=claim.pins)
        step, what = ("fence" if before else "record", "adopts") if adopts else ("write", "rolls forward")
        then = then._replace(step=step)
        return [
            (f"{driver.token} looks: run {claim.token} is in outlets {outlets}, {what}", moved(state, driver, then))
        ]

    def _is_untold(self, state: State, driver: Driver, claims: list[Claim]) -> bool:
        """Whether the log does not tell which of these claims' runs are in."""
        if not state.cuts:
            return False
        runs = {claim.token for claim in claims if claim.status != asking.ASKS}
        return asking.is_untold(self, state, driver.lane, runs=runs, above=2 * min(runs))

    def _found(self, state: State, driver: Driver, older: list[Claim]) -> list[tuple[Claim, tuple[int, ...]]]:
        """The claims whose runs are seen in some outlets."""
        found = []
        for claim in older:
            outlets = tuple(
                outlet for outlet in range(self.rules.outlets) if self.is_in(state, outlet, claim.token, driver.lane)
            )
            if outlets:
                found.append((claim, outlets))
        last = self.newest_version(state, 0, driver.lane)
        match self.rules.look:
            case "none":
                return []
            case "previous":
                return [each for each in found if each[0] == older[-1]]
            case "last_after_fence" | "last_before_fence":
                return [each for each in found if each[0] == older[-1] and last == 2 * each[0].token + 1]
            case "chain_before_fence":
                return [each for each in found if last == 2 * each[0].token + 1]
        return found

    # ------------------------------------------------------------------ step 4: the driver

    def submitting(self, state: State, driver: Driver) -> Steps:
        """Begins an attempt in the next outlet that has not this run, or goes on."""
        parts = self.parts(driver.payload)
        token = driver.token
        if driver.place == self.rules.outlets * len(parts):
            after = self.at("written", state, driver)
            return [(f"{token} has written all", moved(after, driver, driver._replace(step="record")))]
        outlet, index = divmod(driver.place, len(parts))
        own = [claim for claim in state.chains[driver.lane] if claim.token == driver.run]
        if driver.attempt and own and self._is_untold(state, driver, own):
            return [self._fail(state, driver, clean=False)]
        if self._needs_nothing(state, driver, outlet, parts[index]):
            attempt = driver.attempt if self.rules.nondeterministic else 0
            then = driver._replace(place=driver.place + 1, attempt=attempt, start=-1)
            return [(f"{token}: outlet {outlet} has it", moved(state, driver, then))]
        if driver.attempt >= self.rules.attempts:
            then = driver._replace(step="fail", place=0, attempt=0, start=-1)
            return [(f"{token} gives up", moved(state, driver, then))]
        attempt = driver.attempt + 1
        write = Write(driver.lane, outlet, token, driver.run, attempt, parts[index], STAGING)
        begun = driver._replace(step="wait", attempt=attempt, start=-1)
        after = state._replace(writes=tuple(sorted([*state.writes, write])))
        return [
            (
                f"{token} submits attempt {attempt} of run {driver.run}, outlet {outlet}",
                moved(self.at("submitted", after, begun), driver, begun),
            )
        ]

    def _needs_nothing(self, state: State, driver: Driver, outlet: int, part: Payload) -> bool:
        sought = part if self.rules.split else None
        return self.rules.verify and self.is_in(state, outlet, driver.run, driver.lane, sought)

    def waiting(self, state: State, driver: Driver) -> Steps:
        """Waits no longer for a write that goes on."""
        if not state.timeouts:
            return []
        again = driver.attempt < self.rules.attempts
        then = driver._replace(step="write") if again else driver._replace(step="fail", place=0)
        after = moved(state, driver, then)._replace(timeouts=state.timeouts - 1)
        return [(f"{driver.token} TIMES OUT on its write, which goes on", after)]

    # ------------------------------------------------------------------ step 6

    def failing(self, state: State, driver: Driver) -> Steps:
        """Ends a claim that failed: fences it in every outlet and looks, or records it unfenced."""
        if self.rules.fail != "selffence":
            return [self._fail(state, driver, clean=self.rules.fail == "naive")]
        if driver.place == self.rules.outlets:
            state = self.at("failed", state, driver)
        steps = [self._fail(state, driver, clean=False)]  # the target may be out of reach
        if driver.place < self.rules.outlets:
            return steps + self.self_fence(state, driver)
        own = [claim for claim in state.chains[driver.lane] if claim.token == driver.run]
        if own and self._is_untold(state, driver, own):
            return steps
        present = [self.is_in(state, outlet, driver.run, driver.lane) for outlet in range(self.rules.outlets)]
        if all(present):
            then = driver._replace(step="record")
            steps.append((f"{driver.token} failed but is in", moved(self.at("written", state, driver), driver, then)))
        elif not any(present):
            steps.append(self._fail(state, driver, clean=True))
        return steps

    def self_fence(self, state: State, driver: Driver) -> Steps:
        """One step of fencing one outlet at the version of the claim's own data."""
        outlet, version = driver.place, 2 * driver.token + 1
        name = f"{driver.token} fence of itself in outlet {outlet}"
        if driver.start == -1 or driver.attempt:
            if self.version(state, outlet, driver.lane) >= version:
                return [(f"{name}: there already", self._gone_on(state, driver))]
            begun = driver._replace(attempt=0, start=self.loaded(state, outlet))
            return [(f"{name} starts", moved(state, driver, begun))]
        if self.conflicts(state, outlet, driver.lane, driver.start):
            return [(f"{name}: CONFLICT", moved(state, driver, driver._replace(attempt=0, start=-1)))]
        after = self.commit(state, outlet, self.fence_commit(driver, version), driver.start % CREATING)
        return [(f"{name} COMMITS {version}", self._gone_on(after, driver))]

    def _fail(self, state: State, driver: Driver, *, clean: bool) -> tuple[str, State]:
        if not newest(state, driver):
            return self.superseded(state, driver, "cannot record a failure")
        lane, chain = driver.lane, state.chains[driver.lane]
        left = () if clean else (*chain[:-1], chain[-1]._replace(status="f"))
        after = state._replace(chains=(*state.chains[:lane], left, *state.chains[lane + 1 :]))
        return f"{driver.token} records a FAILURE, {'' if clean else 'un'}fenced", moved(after, driver, IDLE)

    # ------------------------------------------------------------------ step 5

    def recording(self, state: State, driver: Driver) -> Steps:
        """Records a success, if the claim is the newest and open."""
        if not newest(state, driver):
            if self.rules.guard:
                return [self.superseded(state, driver, "cannot record a success")]
            raise ViolationError(f"I4: superseded {driver.token} records a success")
        positions = [self._committed_at(state, driver, outlet) for outlet in range(self.rules.outlets)]
        events = list(state.events)
        for event in driver.pins:
            if events[event] != 0:
                raise ViolationError(f"I3: event {event + 1} consumed twice")
            events[event] = driver.run
        self._check_readers(state, driver, positions)
        lane = driver.lane
        left = (*state.chains[:lane], (), *state.chains[lane + 1 :])
        after = state._replace(
            events=tuple(events),
            successes=tuple(sorted([*state.successes, (driver.run, driver.pins)])),
            chains=left if self.rules.settles == "slot" else ((),) * self.rules.lanes,
        )
        what = f"{driver.token} records a SUCCESS of run {driver.run}, events {invariants.named(driver.pins)}"
        return [(what, moved(after, driver, IDLE))]

    def _committed_at(self, state: State, driver: Driver, outlet: int) -> int:
        """The version of an outlet that holds the run."""
        parts = self.parts(driver.payload)
        indices = [
            self.position(state, outlet, driver.run, driver.lane, part if self.rules.split else None) for part in parts
        ]
        if min(indices) < 0:
            raise ViolationError(
                f"I2: success of run {driver.run} recorded by {driver.token}, its data is not in outlet {outlet}"
            )
        if not self.rules.split:
            invariants.check_record(self.rules, driver, [state.tables[outlet][indices[0]]], outlet=outlet)
        return max(indices)

    def _check_readers(self, state: State, driver: Driver, positions: list[int]) -> None:
        """Readers at the version of the event see no data of a run that is not recorded."""
        recorded = {run for run, _ in state.successes} | {driver.run}
        for outlet, at in enumerate(positions):
            table = state.tables[outlet]
            seen = table[: at + 1] if self.rules.event_version == "commit" else table
            for index, commit in enumerate(seen):
                visible = self.rules.shared_reader or commit.app == self.apps[driver.lane]
                unrecorded = commit.kind == "d" and commit.run not in recorded and visible
                if unrecorded and not self._overwritten(commit, seen[index + 1 :]):
                    raise ViolationError(
                        f"I5: readers of run {driver.run}'s event (version {len(seen) - 1}) see "
                        f"unrecorded run {commit.run}"
                    )

    def _overwritten(self, commit: Commit, later: tuple[Commit, ...]) -> bool:
        if self.rules.mode != "replace":
            return False
        written = {partition for each in later if each.kind == "d" for partition, _ in each.payload}
        return {partition for partition, _ in commit.payload} <= written


def _has_rows(commits: tuple[Commit, ...]) -> bool:
    return any(commit.kind == "d" for commit in commits)


def _at_work(state: State) -> list[Driver]:
    return [driver for driver in state.drivers if driver.step not in ("idle", "dead")]
