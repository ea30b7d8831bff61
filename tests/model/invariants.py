"""What must be so in every state, and whenever a success is recorded."""

from __future__ import annotations

from tests.model.rules import Rules
from tests.model.state import WHOLE, Commit, Driver, State, ViolationError


def check(rules: Rules, state: State) -> None:
    """Nothing is doubled or lost, in any outlet.

    Raises:
        ViolationError: Something is.
    """
    for outlet, table in enumerate(state.tables):
        data = [commit for commit in table or () if commit.kind == "d"]
        if rules.mode == "append":
            _each_event_once(rules, state, data, outlet=outlet)
        for run, _ in state.successes:
            if not any(commit.run == run for commit in data):
                raise ViolationError(f"I2: run {run} recorded, no longer in outlet {outlet}")
        if not any(state.chains):
            _all_recorded(rules, state, data, outlet=outlet)


def _each_event_once(rules: Rules, state: State, data: list[Commit], *, outlet: int) -> None:
    for event in range(rules.events):
        count = sum(commit.payload.count(event) for commit in data)
        if count > 1:
            raise ViolationError(f"I1: event {event + 1} is {count} times in outlet {outlet}")
        if state.events[event] > 0 and count == 0:
            raise ViolationError(f"I2/I3: event {event + 1} consumed, not in outlet {outlet}")


def _all_recorded(rules: Rules, state: State, data: list[Commit], *, outlet: int) -> None:
    recorded = {run for run, _ in state.successes}
    if rules.mode == "append":
        for commit in data:
            if commit.run not in recorded:
                raise ViolationError(f"I2: lane clean, run {commit.run} not recorded, its data is in outlet {outlet}")
        return
    current = _current(data)
    for partition, (_, run) in current.items():
        if run not in recorded:
            raise ViolationError(f"I2: lane clean, partition {partition} holds data of unrecorded run {run}")
    for event, consumed in enumerate(state.events):
        for partition in rules.touches[event] if consumed > 0 else ():
            version = current.get(partition, (0, 0))[0]
            if version < event + 1:
                raise ViolationError(
                    f"I3: event {event + 1} consumed, partition {partition} holds inlet version {version}"
                )


def _current(data: list[Commit]) -> dict[str, tuple[int, int]]:
    """What each partition holds: the version of the inlet, and the run that wrote it."""
    current: dict[str, tuple[int, int]] = {}
    for commit in data:
        if WHOLE in commit.payload:
            current.clear()
        current |= {partition: (version, commit.run) for partition, version in commit.payload}
    return current


def check_files(state: State) -> None:
    """Every data commit's files are there, and its own.

    Raises:
        ViolationError: Some are gone, or another's.
    """
    there = {(files.outlet, files.writer) for files in state.files}
    for outlet, table in enumerate(state.tables):
        for commit in table or ():
            if commit.kind == "d" and (outlet, (commit.token, commit.attempt)) not in there:
                raise ViolationError(
                    f"I6: the files of claim {commit.token}, attempt {commit.attempt}, are not whole in outlet {outlet}"
                )


def check_record(rules: Rules, driver: Driver, found: list[Commit], *, outlet: int) -> None:
    """What is recorded of a run is what the outlet holds of it.

    Raises:
        ViolationError: It is not.
    """
    (commit,) = found
    run, pins = driver.run, driver.pins
    if rules.mode == "append" and set(commit.payload) != set(pins):
        raise ViolationError(
            f"I2/I3: run {run} consumes events {named(pins)}, its data in outlet {outlet} holds {named(commit.payload)}"
        )
    if rules.mode == "replace" and commit.payload != driver.payload:
        raise ViolationError(f"I2: run {run} recorded as {driver.payload}, its data is {commit.payload}")
    remembered = rules.nondeterministic and rules.record_from == "memory" and run == driver.token
    if remembered and driver.attempt and commit.attempt != driver.attempt:
        raise ViolationError(
            f"I2: records what attempt {driver.attempt} measured, the target holds attempt {commit.attempt}"
        )


def named(events: tuple[int, ...]) -> list[int]:
    """Events as people count."""
    return [event + 1 for event in events]
