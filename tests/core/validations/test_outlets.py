"""Rules of the same name in two outlets of a run are two rules: what they said and counted stays apart."""

from sparkassets.core.journal.withheld import MOST_TOLD, Withheld, after_run
from sparkassets.core.partitions import NOTHING
from sparkassets.core.validations import Counted, Judgement, Verdict, judgement_from, judgement_to
from tests.builders import days

FIRST, SECOND = days("2025-01-01"), days("2025-01-02")


def judgement(withheld, *, rows):
    verdict = Verdict("row_count", "fail", "withheld" if withheld else "passed", FIRST, rows, 1)
    return Judgement(withheld, (verdict,), {"row_count": (Counted(FIRST, rows), Counted(SECOND, rows))})


def test_rules_of_the_same_name_are_told_by_their_outlets():
    found = judgement(NOTHING, rows=7).of_outlet("train").and_(judgement(NOTHING, rows=9).of_outlet("test"))
    assert [each.text for each in found.verdicts] == ["train: row_count: 1 of 7 rows", "test: row_count: 1 of 9 rows"]
    assert found.counts == {
        "train: row_count": (Counted(FIRST, 7), Counted(SECOND, 7)),
        "test: row_count": (Counted(FIRST, 9), Counted(SECOND, 9)),
    }
    assert judgement_from(judgement_to(found)) == found


def test_what_one_outlet_withholds_counts_in_none():
    found = judgement(FIRST, rows=7).of_outlet("train").and_(judgement(NOTHING, rows=9).of_outlet("test"))
    assert found.withheld == FIRST
    assert found.counts["test: row_count"] == (Counted(SECOND, 9),)


def test_what_was_withheld_long_ago_is_told_by_outlet():
    records = ()
    for seq in range(MOST_TOLD + 2):
        block = days(f"2025-01-{seq + 1:02}")
        verdict = Verdict("row_count", "fail", "withheld", block, 10, 1, outlet="train" if seq % 2 else "test")
        records = after_run(records, block, Withheld(block, f"a-{seq}", seq, seq, 0, verdicts=(verdict,)))
    assert [(each.name, each.checked) for each in records[0].verdicts] == [
        ("train: row_count", 10),
        ("test: row_count", 20),
    ]
