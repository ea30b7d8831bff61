"""What is withheld as the journal has it: records that are few, and that are written and read again as they were."""

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.journal.codec import decode, encode, from_row, to_row
from sparkassets.core.journal.entries import SuccessEntry
from sparkassets.core.journal.withheld_records import (
    MOST_RECORDS,
    WithheldPartitions,
    add_causes,
    withheld_after_run,
    withheld_without,
)
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.validations import PartitionRowCount, RuleVerdict
from tests.builders import Story, asset, days, project, source

MONTH = 30
sets = st.frozensets(st.integers(1, MONTH), max_size=6)


def parts(numbers) -> PartitionSet:
    return PartitionSet.union(days(f"2025-01-{number:02d}") for number in numbers)


def verdict(partitions: PartitionSet, rule: str = "not_null(n)") -> RuleVerdict:
    return RuleVerdict(rule, "fail", "withheld", partitions, 9, 1, "odd", ({"n": "NULL", "who": "•••"},))


def record(partitions: PartitionSet, number: int, judge: str = "d") -> WithheldPartitions:
    return WithheldPartitions(
        partitions, f"r{number}", number, number, number, judges=(judge,), verdicts=(verdict(partitions),)
    )


@given(st.lists(st.tuples(sets, sets, sets, st.sampled_from("de")), max_size=30))
def test_of_each_partition_the_newest_run_counts_and_what_judged_it(runs):
    """A run of some partitions withholds some of them; then something comes for others."""
    known, model = (), {}
    for number, (computed, bad, news, judge) in enumerate(runs, start=1):
        held = computed & bad
        known = withheld_after_run(known, parts(computed), record(parts(held), number, judge) if held else None)
        known = add_causes(known, parts(news))
        for each in computed:
            before = model.pop(each, None)
            if each in held:
                same = before[0] if before and not before[1] else set()
                model[each] = (same | {judge}, each in news)
        for each in news & model.keys():
            model[each] = (model[each][0], True)
        assert len(known) <= MOST_RECORDS
        for one in known:
            assert one.partitions
            assert one.partitions.covers(one.retried_partitions)
        assert PartitionSet.union(one.partitions for one in known) == parts(model)
        assert PartitionSet.union(one.retried_partitions for one in known) == parts(
            each for each in model if model[each][1]
        )
        for definition in "de":
            resting = PartitionSet.union(one.resting_partitions(definition) for one in known)
            expected = parts(each for each, (judges, again) in model.items() if definition in judges and not again)
            assert expected.covers(resting)
            assert len(known) == MOST_RECORDS or resting == expected
    assert withheld_without(known, parts(range(1, MONTH + 1))) == ()


def test_what_was_withheld_long_ago_is_told_as_one_by_the_rules():
    known = ()
    for number in range(1, 16):
        known = withheld_after_run(known, parts([number]), record(parts([number]), number))
    assert len(known) == MOST_RECORDS
    (told,) = known[0].verdicts
    assert (told.checked, told.failing, told.partitions) == (9 * 6, 6, parts(range(1, 7)))
    assert known[0].resting_partitions("d") == parts(range(1, 7))


def test_it_is_written_and_read_again_as_it_was():
    story = Story(project(source("s"), asset("a", "s")))
    story.observed("s", "2025-01-01..2025-01-03")
    (run,) = story.plan().runs
    bad, counts = days("2025-01-02"), {"row_count": (PartitionRowCount(days("2025-01-01"), 7),)}
    story.succeed("a", story.claim(run), withheld=bad, verdicts=(verdict(bad), verdict(bad, "x")), counts=counts)
    entry = story.entries[-1].entry
    assert isinstance(entry, SuccessEntry)
    assert (entry.published_partitions, entry.event_partitions) == (
        days("2025-01-01", "2025-01-03"),
        days("2025-01-01", "2025-01-03"),
    )
    assert from_row(to_row(story.entries[-1])) == story.entries[-1]
    assert decode(encode(story.state), journal_id="journal") == story.state
    assert story.state.assets["a"].withheld[0].verdicts == entry.verdicts


def test_the_whole_of_an_asset_is_withheld_or_nothing_of_it():
    known = withheld_after_run((), EVERYTHING, record(EVERYTHING, 1))
    assert known[0].resting_partitions("d") == EVERYTHING
    assert known[0].resting_partitions("e") == NOTHING
    assert withheld_after_run(known, EVERYTHING, None) == ()
