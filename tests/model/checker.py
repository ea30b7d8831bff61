"""Every state that a model can come to, breadth first: the way to a violation that is found is the shortest."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass

from tests.model.by_driver import DriverCommits
from tests.model.protocol import Protocol
from tests.model.rules import Rules
from tests.model.state import State, ViolationError

LIMIT = 4_000_000


@dataclass(frozen=True, slots=True)
class Verdict:
    """What exploring a model came to.

    Attributes:
        ok: None where there were more states than allowed.
        why: What was violated.
        trace: The steps that led there.
    """

    ok: bool | None
    why: str
    trace: tuple[str, ...]
    states: int
    seconds: float


class _Explored:
    """The states found so far, by number, and how each was come to."""

    def __init__(self, first: State) -> None:
        self.numbers = {first: 0}
        self.states = [first]
        self.parents: list[tuple[int, str]] = [(-1, "")]
        self.before: list[list[int]] = [[]]

    def add(self, state: State, *, parent: int, what: str) -> int | None:
        """The number of a state that is new; None where it is known."""
        number = self.numbers.get(state)
        if number is not None:
            self.before[number].append(parent)
            return None
        number = self.numbers[state] = len(self.states)
        self.states.append(state)
        self.parents.append((parent, what))
        self.before.append([parent])
        return number

    def trace(self, number: int) -> tuple[str, ...]:
        """The steps to a state."""
        steps = []
        while number > 0:
            number, what = self.parents[number]
            steps.append(what)
        return tuple(steps[::-1])

    def reaching(self, goals: list[int]) -> bytearray:
        """For each state, whether one of the goals can be reached from it."""
        reached = bytearray(len(self.states))
        todo = list(goals)
        while todo:
            number = todo.pop()
            if not reached[number]:
                reached[number] = 1
                todo += self.before[number]
        return reached


def explore(rules: Rules, *, limit: int = LIMIT) -> Verdict:
    """Whether every state is as it must be, and from each everything can still be completed.

    With a live driver, and claims left for one recovery and one further run a lane.
    """
    began = time.monotonic()
    protocol: Protocol = DriverCommits(rules) if rules.commits == "driver" else Protocol(rules)
    explored = _Explored(protocol.initial())

    def verdict(*, ok: bool | None, why: str = "", at: int = 0) -> Verdict:
        return Verdict(ok, why, explored.trace(at), len(explored.states), time.monotonic() - began)

    goals: list[int] = []
    queue = deque([0])
    while queue:
        number = queue.popleft()
        state = explored.states[number]
        if protocol.is_done(state):
            goals.append(number)
        at = number
        try:
            for what, after in protocol.successors(state):
                new = explored.add(after, parent=number, what=what)
                if new is not None:
                    at = new
                    protocol.check(after)
                    queue.append(new)
                    at = number
        except ViolationError as violation:
            return verdict(ok=False, why=str(violation), at=at)
        if len(explored.states) > limit:
            return verdict(ok=None, why=f"more than {limit} states")
    stuck = _stuck(rules, explored, goals)
    if stuck is not None:
        return verdict(ok=False, why="I3/liveness: from here nothing can ever be completed", at=stuck)
    return verdict(ok=True)


def _stuck(rules: Rules, explored: _Explored, goals: list[int]) -> int | None:
    reached = explored.reaching(goals)
    for number, state in enumerate(explored.states):
        claims_left = rules.claims - state.claims >= 1 + rules.lanes
        if not reached[number] and claims_left and any(driver.step == "idle" for driver in state.drivers):
            return number
    return None
