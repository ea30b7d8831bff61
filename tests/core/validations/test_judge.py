"""From tallies to what becomes of each block: against a plain model by row, and case by case."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.validations import (
    FailureAllowance,
    HasColumnsCheck,
    NotNullCheck,
    PartitionRowCount,
    RangeCheck,
    RowCountChange,
    RowCountCheck,
    RuleTally,
    RunJudgement,
    UniqueCheck,
    ValidationRule,
    judgement_from,
    judgement_to,
)
from sparkassets.core.validations.judgement import judge_run
from tests.core.validations.model import published, tallies

DAY = 86_400


def day(number: int) -> PartitionSet:
    return PartitionSet.span(number * DAY, (number + 1) * DAY)


DAYS = [day(number) for number in range(3)]
HAS_A = ValidationRule("not_null(a)", NotNullCheck(("a",)), samples=1)


def outcomes(judgement: RunJudgement) -> list[tuple[str, str]]:
    return [(each.rule, each.outcome) for each in judgement.verdicts]


def test_a_partition_with_a_bad_row_is_withheld_and_the_others_are_not():
    found = judge_run([HAS_A], [RuleTally("not_null(a)", day(1), 900, 12, samples=({"a": "NULL"},))], DAYS)
    assert found.withheld == day(1)
    assert outcomes(found) == [("not_null(a)", "passed"), ("not_null(a)", "withheld")]
    assert found.verdicts_with("withheld")[0].text == "not_null(a): 12 of 900 rows"
    assert found.verdicts_with("withheld")[0].samples == ({"a": "NULL"},)
    assert found.verdicts_with("passed")[0].partitions == day(0) | day(2)


@pytest.mark.parametrize(
    ("severity", "allow", "failing", "outcome"),
    [
        ("fail", None, 0, "passed"),
        ("fail", None, 1, "withheld"),
        ("fail", FailureAllowance(Decimal("0.01")), 1, "warned"),
        ("fail", FailureAllowance(Decimal("0.01")), 2, "withheld"),
        ("fail", FailureAllowance(rows=2), 2, "warned"),
        ("warn", None, 1, "warned"),
        ("warn", None, 100, "warned"),
        ("drop", None, 100, "dropped"),
        ("drop", None, 0, "passed"),
        ("drop", FailureAllowance(rows=1), 1, "dropped"),
        ("drop", FailureAllowance(rows=1), 2, "withheld"),
        ("quarantine", None, 3, "quarantined"),
        ("quarantine", FailureAllowance(Decimal("0.5")), 51, "withheld"),
    ],
)
def test_severity_and_allowance(severity, allow, failing, outcome):
    rule = ValidationRule("r", NotNullCheck(("a",)), severity, allow)
    found = judge_run([rule], [RuleTally("r", day(0), 100, failing)], [day(0)])
    assert outcomes(found) == [("r", outcome)]
    assert found.withheld == (day(0) if outcome == "withheld" else NOTHING)


def test_a_warning_within_its_allowance_is_none():
    rule = ValidationRule("r", NotNullCheck(("a",)), "warn", FailureAllowance(rows=2))
    assert outcomes(judge_run([rule], [RuleTally("r", day(0), 9, 2)], [day(0)])) == [("r", "passed")]
    assert outcomes(judge_run([rule], [RuleTally("r", day(0), 9, 3)], [day(0)])) == [("r", "warned")]


def test_a_rule_of_the_run_withholds_all_of_it():
    rule = ValidationRule("has_columns(a)", HasColumnsCheck((("a", ""),)))
    whole = PartitionSet.union(DAYS)
    found = judge_run([rule], [RuleTally("has_columns(a)", whole, 1, 1, "the column 'a' is missing")], DAYS)
    assert found.withheld == whole
    assert found.verdicts[0].text == "has_columns(a): the column 'a' is missing"


def test_a_partition_without_rows_fails_the_least_number_of_rows_alone():
    rules = [ValidationRule("row_count(min 1)", RowCountCheck(min=1)), HAS_A]
    found = judge_run(rules, [RuleTally("row_count(min 1)", day(0), 3), RuleTally("not_null(a)", day(0), 3)], DAYS)
    assert found.withheld == day(1) | day(2)
    assert found.verdicts_with("withheld")[0].text == "row_count(min 1): 0 rows"


def test_an_asset_without_partitions_is_one_partition():
    assert judge_run([HAS_A], [RuleTally("not_null(a)", EVERYTHING, 2, 1)], [EVERYTHING]).withheld == EVERYTHING


def test_what_a_person_accepted_is_published_and_said_so():
    found = judge_run([HAS_A], [RuleTally("not_null(a)", each, 9, 1) for each in DAYS], DAYS, accepted=day(1))
    assert found.withheld == day(0) | day(2)
    assert [(each.outcome, each.partitions) for each in found.verdicts] == [
        ("withheld", day(0) | day(2)),
        ("accepted", day(1)),
    ]


HALVES = ValidationRule("rows", RowCountCheck(change=RowCountChange(Decimal("-0.5"), Decimal(1), history_length=3)))


def test_the_number_of_rows_is_compared_with_the_partitions_before_it_that_are_published():
    past = {"rows": [PartitionRowCount(day(number), 100) for number in (-3, -2, -1)]}
    counts = [RuleTally("rows", partition, rows) for partition, rows in zip(DAYS, (90, 30, 110), strict=True)]
    found = judge_run([HALVES], counts, DAYS, past=past)
    assert found.withheld == day(1)
    assert found.verdicts_with("withheld")[0].text == "rows: 30 rows, -70% of 100 (the median of the last 3)"
    assert found.counts == {"rows": (PartitionRowCount(day(0), 90), PartitionRowCount(day(2), 110))}


def test_a_partition_computed_again_is_not_compared_with_itself_nor_with_later_ones():
    past = {"rows": [PartitionRowCount(day(0), 100), PartitionRowCount(day(1), 1000), PartitionRowCount(day(2), 1000)]}
    assert not judge_run([HALVES], [RuleTally("rows", day(1), 110)], [day(1)], past=past).withheld
    assert judge_run([HALVES], [RuleTally("rows", day(0), 1)], [day(0)], past=past).withheld == NOTHING


def test_each_segment_is_compared_with_its_own():
    def partition(segment: str, number: int) -> PartitionSet:
        return PartitionSet.by_segment({(segment,): day(number).time})

    past = {"rows": [PartitionRowCount(partition("de", 0), 1000), PartitionRowCount(partition("nl", 0), 10)]}
    partitions = [partition("de", 1), partition("nl", 1)]
    found = judge_run([HALVES], [RuleTally("rows", each, 12) for each in partitions], partitions, past=past)
    assert found.withheld == partition("de", 1)


def test_without_time_it_is_compared_with_its_own_latest():
    past = {"rows": [PartitionRowCount(EVERYTHING, rows) for rows in (1, 1, 100, 100, 100)]}
    assert judge_run([HALVES], [RuleTally("rows", EVERYTHING, 49)], [EVERYTHING], past=past).withheld == EVERYTHING
    assert not judge_run([HALVES], [RuleTally("rows", EVERYTHING, 50)], [EVERYTHING], past=past).withheld


def test_what_another_rule_withholds_is_no_past():
    tally = [RuleTally("rows", day(number), rows) for number, rows in enumerate((100, 10, 100))]
    found = judge_run([HALVES, HAS_A], [*tally, RuleTally("not_null(a)", day(0), 100, 1)], DAYS)
    assert found.withheld == day(0) | day(2)


def test_what_one_outlet_withholds_is_withheld_in_the_other():
    one = judge_run([HAS_A], [RuleTally("not_null(a)", day(0), 9, 1)], DAYS)
    two = judge_run([HALVES], [RuleTally("rows", each, 9) for each in DAYS], DAYS)
    both = one.merge(two)
    assert both.withheld == day(0)
    assert [each.partition for each in both.counts["rows"]] == DAYS[1:]
    assert len(both.verdicts) == 3


# --------------------------------------------------------------------------- against the model

ALLOWANCES = (
    st.none() | st.builds(FailureAllowance, rows=st.integers(0, 2)) | st.just(FailureAllowance(Decimal("0.25")))
)
SEVERITIES = st.sampled_from(["fail", "warn", "drop", "quarantine"])
ROW_CHECKS = st.sampled_from(
    [NotNullCheck(("a",)), NotNullCheck(("a", "b")), RangeCheck("a", 1, 2), RangeCheck("b", None, 1)]
)
PARTITION_CHECKS = st.sampled_from(
    [
        UniqueCheck(("a",)),
        UniqueCheck(("a", "b")),
        RowCountCheck(min=1),
        RowCountCheck(max=3),
        RowCountCheck(change=RowCountChange(Decimal("-0.4"), Decimal(1), history_length=2)),
        RowCountCheck(change=RowCountChange(None, Decimal("0.5"), history_length=1)),
    ]
)
WHERE = st.sampled_from(["", "", "c"])
OF_ROWS = st.builds(ValidationRule, st.just(""), ROW_CHECKS, SEVERITIES, ALLOWANCES, WHERE)
OF_PARTITIONS = st.builds(
    ValidationRule, st.just(""), PARTITION_CHECKS, st.sampled_from(["fail", "warn"]), st.none(), WHERE
)
OF_THE_RUN = st.builds(
    ValidationRule, st.just(""), st.just(UniqueCheck(("b",), "run")), st.sampled_from(["fail", "warn"])
)
RULES = st.lists(OF_ROWS | OF_PARTITIONS | OF_THE_RUN, max_size=5).map(
    lambda rules: [ValidationRule(f"r{n}", r.check, r.severity, r.allow, r.where) for n, r in enumerate(rules)]
)
VALUES = st.none() | st.integers(0, 3)
ROWS = st.lists(st.fixed_dictionaries({"a": VALUES, "b": VALUES, "c": st.booleans()}), max_size=5)


@given(RULES, st.lists(ROWS, min_size=1, max_size=4), st.lists(st.integers(0, 4), max_size=3))
def test_what_is_published_is_what_a_model_by_row_publishes(rules, partitions, counts):
    past = {rule.name: counts for rule in rules if rule.history_length}
    model = published(rules, partitions, past)
    before = {name: [PartitionRowCount(day(n - len(counts)), rows) for n, rows in enumerate(counts)] for name in past}
    run = [day(number) for number in range(len(partitions))]
    found = judge_run(rules, tallies(rules, partitions, day), run, past=before)
    assert {number for number in range(len(partitions)) if found.withheld.overlaps(day(number))} == model.withheld
    assert found.withheld == PartitionSet.union([day(number) for number in model.withheld])
    for rule in rules:
        mine = [each for each in found.verdicts if each.rule == rule.name]
        assert PartitionSet.union([each.partitions for each in mine]) == PartitionSet.union(run)
    plain = judgement_to(found)
    assert judgement_from(plain) == found
    assert judgement_from({}) is None


FIGURES = st.dictionaries(
    st.integers(0, 9),
    st.tuples(st.integers(1, 50), st.integers(0, 9)).map(lambda rows: (rows[0], min(rows))),
    min_size=1,
)
"""By partition, how many rows fail and how many of them are samples."""


@given(FIGURES, st.sets(st.integers(0, 9)))
def test_of_some_partitions_a_verdict_tells_their_own_figures(figures, some):
    """Whatever part of it is asked for, and however often: rows and samples are those of these partitions."""
    tallies_ = [
        RuleTally(
            "not_null(a)", day(number), rows + 1, rows, samples=tuple({"a": f"{number}.{each}"} for each in range(bad))
        )
        for number, (rows, bad) in sorted(figures.items())
    ]
    rule = replace(HAS_A, samples=5)
    (told,) = judge_run([rule], tallies_, [each.partition for each in tallies_]).verdicts_with("withheld")
    assert judgement_from(judgement_to(RunJudgement(told.partitions, (told,)))).verdicts == (told,)
    assert [(each.partitions, each.checked, each.failing) for each in told.by_partition] == [
        (each.partition, each.checked, each.failing) for each in tallies_
    ]
    wanted = {number: figures[number] for number in figures.keys() & some}
    if not wanted:
        return
    found = told.restrict_to(PartitionSet.union(map(day, some)))
    assert found.partitions == PartitionSet.union(map(day, wanted))
    assert found.failing == sum(rows for rows, _ in wanted.values())
    assert found.checked == found.failing + len(wanted)
    assert {sample["a"].partition(".")[0] for sample in found.samples} <= {str(number) for number in wanted}
    for number in wanted:
        alone = found.restrict_to(day(number))
        assert (alone.checked, alone.failing, alone.details) == (figures[number][0] + 1, figures[number][0], ())
        assert len(alone.samples) == min(figures[number][1], 5)


def test_of_very_many_partitions_the_first_have_their_own_figures_and_the_others_are_told_together():
    several = [RuleTally("not_null(a)", day(number), 10, 1, samples=({"a": str(number)},) * 3) for number in range(120)]
    (told,) = judge_run([HAS_A], several, [each.partition for each in several]).verdicts_with("withheld")
    *apart, rest = told.by_partition
    assert (len(apart), {len(each.samples) for each in apart}) == (100, {1})
    assert (rest.checked, rest.failing, rest.partitions) == (200, 20, PartitionSet.union(map(day, range(100, 120))))
    assert told.restrict_to(day(7) | day(110)).failing == 21
    assert told.restrict_to(day(7)).text == "not_null(a): 1 of 10 rows"
