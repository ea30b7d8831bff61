"""Random histories with marks in them, against what single partitions say.

Whatever is marked, arrives, fails and dies in any order: what is skipped is not computed, what is to be computed again
is, what is done counts, nobody waits for what is skipped, and what waits lacks something else.
"""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.journal.entries import ObservedEntry, SuccessEntry
from sparkassets.core.journal.marks import MarkEntry
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.explain.partition_marks import MarkRequest, mark_asset
from sparkassets.core.planner.explain.status import partition_statuses
from sparkassets.core.planner.plan import PlannedRun
from sparkassets.core.spec.model import AssetSpec
from tests.core.planner.test_products import History, Partition, inside, partitions_of, set_of
from tests.depth import histories


class Marked(History):
    """A history in which people say of partitions what they are."""

    def runs(self) -> list[PlannedRun]:
        found = super().runs()
        for run in found:
            skipped = self.story.state.assets[run.asset].skipped_partitions
            assert not run.partitions & skipped, f"{run.asset} computes what is skipped"
        return found

    def say(self) -> None:
        """Some partitions of an asset are done, missing or skipped."""
        spec = self.story.project.assets[self.random.choice(["one", "two", "three"])]
        some = self.random.sample(partitions_of(spec.partitioning), self.random.randint(1, 3))
        partitions = PartitionSet.union(set_of(spec.partitioning, each) for each in some)
        context = self.context()
        entry = mark_asset(
            context, MarkRequest(spec, partitions, self.random.choice(["done", "missing", "skip"]), "why", "ann")
        )
        if entry is not None:
            self.story.add(entry)

    # ------------------------------------------------------------------ the model

    def last_words(self, name: str, partition: Partition) -> tuple[str, int]:
        """What counts of a block: the newest mark, or the newest run that was claimed after it; with its number."""
        parts, word = set_of(self.partitioning(name), partition), ("", 0)
        for each in self.story.entries:
            entry = each.entry
            if isinstance(entry, MarkEntry) and entry.asset == name and entry.partitions.covers(parts):
                word = entry.kind, each.seq
            elif isinstance(entry, SuccessEntry) and entry.asset == name and entry.partitions.covers(parts):
                word = ("run", each.seq) if entry.token > word[1] else word
        return word

    def there(self, name: str) -> set[Partition]:
        """The partitions that were brought and not taken back."""
        found = set()
        for partition in partitions_of(self.partitioning(name)):
            parts, was = set_of(self.partitioning(name), partition), False
            taken = 0
            for each in self.story.entries:
                entry = each.entry
                if getattr(entry, "asset", None) != name:
                    continue
                if isinstance(entry, ObservedEntry) and entry.changed.covers(parts):
                    was = True
                elif isinstance(entry, SuccessEntry) and entry.partitions.covers(parts):
                    was = was or entry.token > taken
                elif isinstance(entry, MarkEntry) and entry.partitions.covers(parts):
                    taken = each.seq if entry.kind == "missing" else taken if entry.kind == "skip" else 0
                    was = {"done": True, "missing": False, "skip": was}[entry.kind]
            if was:
                found.add(partition)
        return found

    def waived(self) -> dict[str, set[Partition]]:
        """The partitions that nobody waits for: skipped and not there, or made of nothing else."""
        found: dict[str, set[Partition]] = {"s": set(), "t": set()}
        for name, spec in self.story.project.assets.items():
            if spec.source is None:
                own = {b for b in partitions_of(spec.partitioning) if self.last_words(name, b)[0] == "skip"}
                cut = {b for b in partitions_of(spec.partitioning) if self.is_cut_off(spec, b, found)}
                found[name] = (own - self.there(name)) | cut
        return found

    def is_cut_off(self, spec: AssetSpec, partition: Partition, waived: dict[str, set[Partition]]) -> bool:
        context = self.story.context()
        mapped = [n for n, inlet in spec.inlets.items() if context.dependency(spec, inlet).is_mapped]
        return bool(mapped) and all(set(self.needed(spec, n, partition)) <= waived[n] for n in mapped)


@histories(15)
@given(st.randoms(use_true_random=False), st.integers(3, 30))
def test_in_the_end_the_last_word_counts(random: Random, steps: int):
    history = Marked(random)
    for _ in range(steps):
        history.say() if random.random() < 0.25 else history.step()
    history.rest()
    check_last_words(history)


def check_last_words(history: Marked) -> None:
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
                waits = not computable(history, spec, partition, waived, there)
                assert known[partition] == "current" or (known[partition] == "stale" and waits)
            elif partition in waived[name]:
                assert partition not in there[name]
            else:
                timed = any(history.partitioning(inlet).time for inlet in spec.inlets)
                told_time = spec.partitioning.time is None or timed
                assert not (told_time and computable(history, spec, partition, waived, there)), (
                    f"{name} {partition} waits"
                )


def computable(
    history: Marked,
    spec: AssetSpec,
    partition: Partition,
    waived: dict[str, set[Partition]],
    there: dict[str, set[Partition]],
) -> bool:
    """Whether all that the partition needs is there, but for what nobody waits for."""
    some = False
    for name in spec.inlets:
        needed = set(history.needed(spec, name, partition))
        asked = needed - waived[name]
        tells = spec.partitioning.time is None or history.partitioning(name).time is not None
        some = some or (tells and bool(needed & there[name]))
        whole = spec.partitioning.time is None and history.partitioning(name).time is not None
        if not (asked & there[name] if whole else asked <= there[name]) and asked:
            return False
    return some
