"""Rules of the same name in two outlets of a run are two rules: what they said and counted stays apart."""

from sparkassets.core.journal.withheld_records import MOST_RECORDS, WithheldPartitions, withheld_after_run
from sparkassets.core.partitions import NOTHING
from sparkassets.core.validations import PartitionRowCount, RuleVerdict, RunJudgement, judgement_from, judgement_to
from tests.builders import days

FIRST, SECOND = days("2025-01-01"), days("2025-01-02")


def judgement(withheld, *, rows):
    verdict = RuleVerdict("row_count", "fail", "withheld" if withheld else "passed", FIRST, rows, 1)
    return RunJudgement(
        withheld, (verdict,), {"row_count": (PartitionRowCount(FIRST, rows), PartitionRowCount(SECOND, rows))}
    )


def test_rules_of_the_same_name_are_told_by_their_outlets():
    found = judgement(NOTHING, rows=7).with_outlet("train").merge(judgement(NOTHING, rows=9).with_outlet("test"))
    assert [each.text for each in found.verdicts] == ["train: row_count: 1 of 7 rows", "test: row_count: 1 of 9 rows"]
    assert found.counts == {
        "train: row_count": (PartitionRowCount(FIRST, 7), PartitionRowCount(SECOND, 7)),
        "test: row_count": (PartitionRowCount(FIRST, 9), PartitionRowCount(SECOND, 9)),
    }
    assert judgement_from(judgement_to(found)) == found


def test_what_one_outlet_withholds_counts_in_none():
    found = judgement(FIRST, rows=7).with_outlet("train").merge(judgement(NOTHING, rows=9).with_outlet("test"))
    assert found.withheld == FIRST
    assert found.counts["test: row_count"] == (PartitionRowCount(SECOND, 9),)


def test_what_was_withheld_long_ago_is_told_by_outlet():
    records = ()
    for seq in range(MOST_RECORDS + 2):
        partition = days(f"2025-01-{seq + 1:02}")
        verdict = RuleVerdict("row_count", "fail", "withheld", partition, 10, 1, outlet="train" if seq % 2 else "test")
        records = withheld_after_run(
            records, partition, WithheldPartitions(partition, f"a-{seq}", seq, seq, 0, verdicts=(verdict,))
        )
    assert [(each.name, each.checked) for each in records[0].verdicts] == [
        ("train: row_count", 10),
        ("test: row_count", 20),
    ]
