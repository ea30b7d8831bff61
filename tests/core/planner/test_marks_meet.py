"""Marks beside what else decides which partitions run: lookback, and timetables; the model is that of marks alone."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.instants import Duration
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import DateRange
from tests.builders import timed
from tests.core.planner.test_marks_in_histories import Marked, check_last_words
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


@histories(12)
@given(st.randoms(use_true_random=False), st.integers(3, 30))
def test_lookback_computes_nothing_that_is_skipped(random: Random, steps: int):
    history = LookingBack(random)
    for _ in range(steps):
        history.say() if random.random() < 0.25 else history.step()
    history.rest()
    check_last_words(history)


@histories(12)
@given(st.randoms(use_true_random=False), st.integers(3, 30))
def test_by_a_timetable_the_last_word_counts_too(random: Random, steps: int):
    history = Ticking(random)
    for _ in range(steps):
        history.say() if random.random() < 0.25 else history.step()
    history.rest()
    check_last_words(history)
