"""Outlets whose rules have the same names are judged and compared apart."""

from dataclasses import replace

from sparkassets.core.documents.runs import verdicts_document
from sparkassets.core.partitions import NOTHING
from sparkassets.core.validations import (
    PartitionRowCount,
    RowCountChange,
    RowCountCheck,
    RuleVerdict,
    RunJudgement,
    ValidationRule,
)
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, multi, project, source
from tests.runtime.fakes import World
from tests.runtime.test_withheld import FIRST, SECOND, run

COUNTING = ValidationRule("row_count(change)", RowCountCheck(change=RowCountChange(None, None)))


def judgement(rows):
    verdict = RuleVerdict(COUNTING.name, "fail", "passed", FIRST | SECOND, 2 * rows)
    return RunJudgement(
        NOTHING, (verdict,), {COUNTING.name: (PartitionRowCount(FIRST, rows), PartitionRowCount(SECOND, rows))}
    )


def test_each_outlet_is_compared_with_its_own_past():
    made, *written = multi(asset("m", "s", retries=0), "x", "y")
    w = World(project(source("s"), made, *(replace(each, rules=(COUNTING,)) for each in written)), MemoryStore())
    w.engine.judged |= {"x": judgement(7), "y": judgement(9)}
    w.tell("s", "2025-01-01", "2025-01-02")
    (done,) = run(w).runs
    assert [each.text for each in done.verdicts] == [
        "x: row_count(change): 14 rows",
        "y: row_count(change): 18 rows",
    ]
    assert [each["outlet"] for each in verdicts_document(done.verdicts, made)] == ["x", "y"]
    seen = {}
    w.engine.hooks["m", "compute"] = lambda order: seen.update(
        {each.asset.name: each.past for each in order.table_orders}
    )
    w.tell("s", "2025-01-02")
    run(w)
    assert seen == {
        "x": {COUNTING.name: [PartitionRowCount(FIRST, 7), PartitionRowCount(SECOND, 7)]},
        "y": {COUNTING.name: [PartitionRowCount(FIRST, 9), PartitionRowCount(SECOND, 9)]},
    }
