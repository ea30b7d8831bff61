"""Marks beside what else decides which partitions run: lookback, and timetables; the model is that of marks alone."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.instants import Duration
from sparkassets.core.planner.explain.status import partition_statuses
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import DateRange
from tests.builders import timed
from tests.core.planner.test_marks_in_histories import Marked, computable
from tests.core.planner.test_products import inside, partitions_of
from tests.depth import histories


class LookingBack(Marked):
    """A history of assets that compute what lies before a gap again."""

    def another(self, name: str, *others: str) -> AssetSpec:
        spec = super().another(name, *others)
        cap = self.random.choice([2, 5, 1000])
        return replace(spec, strategy=DateRange(Duration.parse("1d"), cap)) if spec.partitioning.time else spec


class Ticking(Marked):
    """A history of assets that a timetable starts, a day after the other."""

    day = 6

    def another(self, name: str, *others: str) -> AssetSpec:
        spec = super().another(name, *others)
        return replace(spec, schedule=timed("@daily")) if self.random.random() < 0.5 else spec

    def step(self) -> None:
        if self.random.random() < 0.2:
            self.tick()
        super().step()

    def tick(self) -> None:
        self.day += 1
        self.story.now = f"2025-01-{min(self.day, 31):02}"

    def rest(self) -> None:
        for _ in range(4):  # what one tick computes, the next one reads
            super().rest()
            self.tick()
        super().rest()


def follows(history: Marked) -> None:
    """What is there, skipped, done and computed again in the end is as people said last."""
    waived = history.waived()
    there = {name: history.there(name) for name in history.story.project.assets}
    for name, spec in history.story.project.assets.items():
        if spec.source is not None:
            continue
        state, context = history.story.state.assets[name], history.story.context()
        assert {*inside(spec.partitioning, state.coverage)} == there[name]
        known = {
            b: status for parts, status in partition_statuses(context, spec) for b in inside(spec.partitioning, parts)
        }
        for partition in partitions_of(spec.partitioning):
            word, _ = history.last_words(name, partition)
            if word == "skip":
                assert known[partition] == "skipped"
            elif word == "done":
                assert partition in there[name]
            elif word == "missing":
                assert not computable(history, spec, partition, waived, there), f"{name} {partition} is missing still"
            elif word == "run":
                assert known[partition] == "current"


@histories(12)
@given(st.randoms(use_true_random=False), st.integers(3, 30))
def test_lookback_computes_nothing_that_is_skipped(random: Random, steps: int):
    history = LookingBack(random)
    for _ in range(steps):
        history.say() if random.random() < 0.25 else history.step()
    history.rest()
    follows(history)


@histories(12)
@given(st.randoms(use_true_random=False), st.integers(3, 30))
def test_by_a_timetable_the_last_word_counts_too(random: Random, steps: int):
    history = Ticking(random)
    for _ in range(steps):
        history.say() if random.random() < 0.25 else history.step()
    history.rest()
    follows(history)
