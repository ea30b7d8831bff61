"""Drivers of a random history: whatever they plan is planned twice and stored once, and they fail and go."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import ClassVar

from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.planner.incremental_planner import IncrementalPlanner
from sparkassets.core.planner.plan import Plan, PlannedRun
from sparkassets.core.planner.planner import make_plan
from sparkassets.core.planner.planning_context import PlanningContext
from tests.builders import Story


class Drivers:
    """Drivers of one story, one after the other.

    Attributes:
        gone: Tokens of the claims whose driver is gone.
        most: So many runs do not come before nothing is due.
    """

    most: ClassVar[int] = 600

    def __init__(self, random: Random, story: Story) -> None:
        self.random = random
        self.story = story
        self.planner = IncrementalPlanner(story.project)
        self.gone: set[int] = set()
        self.invocation = 0

    def context(self) -> PlanningContext:
        return self.story.context(invocation=str(self.invocation), gone_claims=frozenset(self.gone))

    def runs(self) -> list[PlannedRun]:
        """What can be claimed: the first run of each asset; checks what must hold at any time."""
        context = self.context()
        found = make_plan(context)
        assert self.planner.plan(replace(context, decisions={})) == found
        assert decode(encode(self.story.state), journal_id="journal") == self.story.state
        self.check(context, found)
        return list({run.asset: run for run in reversed(found.runs)}.values())

    def check(self, context: PlanningContext, found: Plan) -> None:
        """What else must hold of any plan."""

    def claim(self, run: PlannedRun) -> int:
        return self.story.claim(run, invocation=str(self.invocation))

    def succeed(self, run: PlannedRun, claim: int) -> None:
        """The run is in."""
        self.story.succeed(run.asset, claim)

    def end(self, run: PlannedRun, outcome: str) -> None:
        """A run is claimed: it comes through (``run``), it fails (``fail``), or its driver dies."""
        claim = self.claim(run)
        if outcome == "run":
            self.succeed(run, claim)
        elif outcome == "fail":
            self.story.fail(run.asset, claim, invocation=str(self.invocation))
        else:
            self.gone.add(claim)

    def rest(self) -> int:
        """Everything continues without failures until nothing is due; how many runs that took."""
        self.invocation += 1
        states = self.story.state.assets
        self.gone |= {link.token for state in states.values() for link in state.chain if link.status == "open"}
        count = 0
        while runs := self.runs():
            count += 1
            assert count < self.most, "never idle"
            self.end(runs[0], "run")
        return count
