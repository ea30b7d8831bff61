"""What rules let through of a run, whoever commits it: what a model says that looks at each row."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pytest
from deltalake import DeltaTable
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from sparkassets.core.instants import Duration
from sparkassets.core.partitions import NOTHING
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.validations import (
    AcceptedCheck,
    FailureAllowance,
    FreshnessCheck,
    HasColumnsCheck,
    NotNullCheck,
    PatternCheck,
    RangeCheck,
    RowCountCheck,
    RunJudgement,
    SqlCheck,
    UniqueCheck,
    ValidationRule,
)
from sparkassets.core.writes import AppendWrite, PublishWrite, UpsertWrite
from sparkassets.errors import RunError
from sparkassets.ports import RunOrder
from sparkassets.spark.engine import SparkEngine
from sparkassets.spark.scratch import ScratchRows
from tests.depth import deep, examples
from tests.integration import orders
from tests.integration.orders import sql, stamp_of, table, target
from tests.integration.queries import queries

pytestmark = pytest.mark.spark

DAYS = [f"2025-01-0{day}" for day in (1, 2, 3)]
REGIONS = ["de", "nl"]
THREE_DAYS = "2025-01-01..2025-01-03"
Line = tuple[str, str, int | None, str | None, int]
"""Day, region, a number, a text, and a number of its own."""


def values(lines: Sequence[Line], *, when: str = "CAST(day AS DATE)") -> str:
    """A SELECT of these rows."""
    told = ", ".join(
        f"('{day}', '{region}', {'CAST(NULL AS INT)' if n is None else n}, "
        f"{'CAST(NULL AS STRING)' if s is None else repr(s)}, {place})"
        for day, region, n, s, place in lines
    )
    empty = "('2025-01-01', 'de', 0, '', 0)"
    of = f"VALUES {told or empty} AS t(day, region, n, s, place)"
    return f"SELECT {when} AS day, region, n, s, place FROM {of}{'' if told else ' WHERE false'}"  # noqa: S608  of a test


def run(engine: SparkEngine, order: RunOrder) -> RunJudgement:
    """One run, as the protocol has it; what was decided of it."""
    made, at = engine.compute(order, attempt=1), target(engine, order)
    stamp = stamp_of(order, made)
    judgement = at.prepare(made, stamp=stamp)
    stamp = stamp if judgement is None else stamp.with_judgement(judgement, order)
    at.write(made, stamp=stamp)
    made.release()
    (committed,) = at.find_commits([order.run])
    assert committed.withheld == (NOTHING if judgement is None else judgement.withheld)
    return judgement or RunJudgement()


def seen(spark: Any, asset: AssetSpec, column: str = "place") -> list[int]:
    return [place for (place,) in orders.rows(spark, asset, column)]


# --------------------------------------------------------------------------- against a model by row


@dataclass(frozen=True)
class Model:
    """What rules do to rows, one after the other."""

    rules: Sequence[ValidationRule]
    partitions: Sequence[tuple[str, str]]

    def fails(self, rule: ValidationRule, line: Line) -> bool:
        *_, n, s, _ = line
        if not self.looks(rule, line):
            return False
        match rule.check:
            case NotNullCheck(columns):
                return any({"n": n, "s": s}[name] is None for name in columns)
            case AcceptedCheck(_, values):
                return s is not None and s not in values
            case RangeCheck(_, least, most):
                return n is not None and not (least <= n <= most)
            case PatternCheck():
                return s is not None and not (s.isalpha() and s.isascii())
            case SqlCheck():
                return n is not None and n % 2 == 1
        return False

    def looks(self, rule: ValidationRule, line: Line) -> bool:
        return not rule.where or line[1] == "de"

    def taken(self, lines: Sequence[Line]) -> dict[Line, ValidationRule]:
        takes = [rule for rule in self.rules if rule.removes_rows]
        found = ((line, next((rule for rule in takes if self.fails(rule, line)), None)) for line in lines)
        return {line: rule for line, rule in found if rule is not None}

    def withheld(self, lines: Sequence[Line]) -> set[tuple[str, str]]:
        taken = self.taken(lines)
        bad: set[tuple[str, str]] = set()
        for rule in self.rules:
            if rule.severity == "warn":
                continue
            for partitions in (
                ([partition] for partition in self.partitions)
                if rule.check.scope != "run"
                else (list(self.partitions),)
            ):
                own = [line for line in lines if line[:2] in partitions]
                if self.is_bad(rule, own, taken):
                    bad |= set(partitions)
        return bad

    def is_bad(self, rule: ValidationRule, own: Sequence[Line], taken: dict[Line, ValidationRule]) -> bool:
        if rule.removes_rows:
            takes = [each for each in self.rules if each.removes_rows]
            before = takes[: takes.index(rule)]
            checked = [line for line in own if taken.get(line) not in before and self.looks(rule, line)]
            failing = sum(taken.get(line) == rule for line in own)
            return rule.allow is not None and not rule.allow.allows(failing, len(checked))
        left = [line for line in own if line not in taken and self.looks(rule, line)]
        match rule.check:
            case RowCountCheck(least, most):
                return not (least or 0) <= len(left) <= (most if most is not None else len(left))
            case UniqueCheck():
                counts = Counter(line[2] for line in left if line[2] is not None)
                failing = sum(count for count in counts.values() if count > 1)
            case _:
                failing = sum(self.fails(rule, line) for line in left)
        return failing > 0 and not (rule.allow and rule.allow.allows(failing, len(left)))


ROW_CHECKS = (
    NotNullCheck(("n",)),
    NotNullCheck(("n", "s")),
    AcceptedCheck("s", ("a", "b")),
    RangeCheck("n", 0, 5),
    PatternCheck("s", "[a-z]+"),
    SqlCheck("n % 2 = 0"),
)
PARTITION_CHECKS = (
    UniqueCheck(("n",)),
    UniqueCheck(("n",), "run"),
    RowCountCheck(min=1),
    RowCountCheck(min=1, max=4),
    RowCountCheck(min=3, scope="run"),
)


@st.composite
def rule_sets(draw: st.DrawFn) -> tuple[ValidationRule, ...]:
    found = []
    for number in range(draw(st.integers(1, 4))):
        by_row = draw(st.booleans())
        severity = draw(st.sampled_from(["fail", "warn", "drop", "quarantine"] if by_row else ["fail", "fail", "warn"]))
        check = draw(st.sampled_from(ROW_CHECKS if by_row else PARTITION_CHECKS))
        allow = draw(st.sampled_from([None, None, FailureAllowance(rows=1), FailureAllowance(Decimal("0.4"))]))
        where = draw(st.sampled_from(["", "", "region = 'de'"]))
        found.append(
            ValidationRule(
                f"rule {number}", check, severity, None if isinstance(check, RowCountCheck) else allow, where
            )
        )
    return tuple(found)


LINES = st.lists(
    st.tuples(
        st.sampled_from(DAYS[:2]),
        st.sampled_from(REGIONS),
        st.sampled_from([None, 0, 2, 4, 6, 1]),
        st.sampled_from([None, "a", "a", "b", "C1"]),
    ),
    max_size=12,
)
COMMITS = ["auto", deep("spark"), deep("timestamps"), "upsert"]


def asset_of(folder: Any, kind: str, name: str) -> AssetSpec:
    commit = "spark" if kind == "spark" else "auto"
    made = table(name, folder, by="day", commit=commit)
    made = orders.segmented(made, region=REGIONS)
    return replace(made, write=UpsertWrite(("place",))) if kind == "upsert" else made


@pytest.mark.parametrize("kind", COMMITS)
def test_what_is_published_is_what_a_model_by_row_publishes(spark, engine, tmp_path, kind):
    when = "CAST(day AS TIMESTAMP) + INTERVAL 7 HOURS" if kind == "timestamps" else "CAST(day AS DATE)"
    found = iter(range(1000))

    @settings(
        max_examples=examples(4),
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(LINES, rule_sets())
    def check(drawn, rules):
        lines = [(*each, place) for place, each in enumerate(drawn, 1)]
        made = asset_of(tmp_path, kind, f"t{next(found)}")
        old = [(day, region, 0, "a", -place) for place, (day, region) in enumerate(partitions(DAYS), 1)]
        run(engine, orders.order(replace(made, **sql(values(old, when=when))), keys=["2025-01-01..2025-01-03,*"]))
        judged = replace(made, rules=rules, **sql(values(lines, when=when)))
        order = orders.order(judged, keys=["2025-01-01..2025-01-02,*"])
        judgement = run(engine, order)
        model = Model(rules, list(partitions(DAYS[:2])))
        bad = model.withheld(lines)
        assert set(judged.partitioning.keys(judgement.withheld)) == {",".join(partition) for partition in bad}
        taken = model.taken(lines)
        kept = [line for line in lines if line[:2] not in bad and line not in taken]
        gone = {partition for partition in model.partitions if partition not in bad} if kind != "upsert" else set()
        expected = sorted(line[4] for line in (*kept, *(line for line in old if line[:2] not in gone)))
        assert seen(spark, judged) == expected
        assert quarantined(spark, judged) == sorted(
            (rule.name, line[4], ",".join(line[:2]))
            for line, rule in taken.items()
            if rule.severity == "quarantine" and line[:2] not in bad
        )
        hidden = {line[4] for line in lines} - {line[4] for line in kept}
        assert not hidden & set(of_all_versions(judged))

    check()


def partitions(days: Sequence[str]) -> Iterator[tuple[str, str]]:
    return ((day, region) for day in days for region in REGIONS)


def quarantined(spark: Any, asset: AssetSpec) -> list[tuple[Any, ...]]:
    path = f"{asset.storage.path}_quarantine"
    if not DeltaTable.is_deltatable(path):
        return []
    frame = orders.held(spark, path).selectExpr("_rule", "place", "_block")
    return sorted(tuple(row) for row in frame.collect())


def of_all_versions(asset: AssetSpec) -> Iterator[int]:
    """What any version of the table has, or its change feed would."""
    newest = DeltaTable(asset.storage.path).version()
    for version in range(newest + 1):
        files = DeltaTable(asset.storage.path, version=version).to_pyarrow_dataset()
        yield from files.to_table(columns=["place"])["place"].to_pylist()


# --------------------------------------------------------------------------- one by one


NOT_NULL = ValidationRule("not_null(n)", NotNullCheck(("n",)), samples=1)
GOOD: list[Line] = [(day, region, 1, "a", place) for place, (day, region) in enumerate(partitions(DAYS), 1)]
POISONED: list[Line] = [*GOOD[:2], ("2025-01-02", "nl", None, "a", 9), *GOOD[2:]]


@pytest.mark.alike
@pytest.mark.parametrize("commit", ["auto", deep("spark")])
@pytest.mark.parametrize("write", [None, AppendWrite(), PublishWrite(10), UpsertWrite(("place",))], ids=str)
def test_a_table_without_partitions_is_withheld_whole(spark, engine, tmp_path, commit, write):
    made = table("t", tmp_path, commit=commit, rules=(NOT_NULL,), **({"write": write} if write else {}))
    first = run(engine, orders.order(replace(made, **sql(values(GOOD)))))
    second = run(engine, orders.order(replace(made, **sql(values(POISONED)))))
    third = run(engine, orders.order(replace(made, rules=(), **sql(values([("2025-01-01", "de", 1, "a", 20)])))))
    assert [bool(each.withheld) for each in (first, second, third)] == [False, True, False]
    (verdict,) = second.verdicts
    assert (verdict.outcome, verdict.checked, verdict.failing, verdict.samples[0]["place"]) == ("withheld", 7, 1, "9")
    adds = isinstance(write, AppendWrite | UpsertWrite)
    assert seen(spark, made) == sorted([*(range(1, 7) if adds else []), 20])
    assert 9 not in set(of_all_versions(made))
    staged = [path for path in tmp_path.rglob("*.parquet") if ".2." in str(path)]
    assert not staged


@pytest.mark.parametrize("commit", ["auto", deep("spark")])
def test_the_first_run_of_a_table_may_be_withheld_and_binds_nobody_to_its_columns(spark, engine, tmp_path, commit):
    made = table("t", tmp_path, by="day", commit=commit, rules=(NOT_NULL,))
    bad = f"SELECT *, 1 AS surplus FROM ({values(POISONED)}) WHERE day = '2025-01-02'"  # noqa: S608  of a test
    assert run(engine, orders.order(replace(made, **sql(bad)), keys="2025-01-02")).withheld
    assert seen(spark, made) == []
    assert not run(engine, orders.order(replace(made, **sql(values(GOOD))), keys="2025-01-01..2025-01-03")).withheld
    assert seen(spark, made) == [1, 2, 3, 4, 5, 6]
    assert "surplus" not in orders.held(spark, made.storage.path).columns


@pytest.mark.alike
def test_accepted_partitions_are_published_and_say_so(spark, engine, tmp_path):
    made = replace(table("t", tmp_path, by="day", rules=(NOT_NULL,)), **sql(values(POISONED)))
    order = orders.order(made, keys="2025-01-01..2025-01-03")
    judgement = run(engine, replace(order, accepted_partitions=made.partitioning.parse("2025-01-02")))
    assert [each.outcome for each in judgement.verdicts] == ["passed", "accepted"]
    assert len(seen(spark, made)) == len(POISONED)


@pytest.mark.spark_alone  # takes `INTERVAL 5 HOURS AS`
def test_files_that_hold_withheld_partitions_and_others_are_parted(spark, engine, tmp_path):
    """Days of a timestamp share files: of old ones, and of those that are staged."""
    made = table("t", tmp_path, by="day", rules=(NOT_NULL,))
    when = "CAST(day AS TIMESTAMP) + INTERVAL 5 HOURS"
    old = [(*line[:4], -line[4]) for line in GOOD]
    run(engine, orders.order(replace(made, **sql(values(old, when=when))), keys="2025-01-01..2025-01-03"))
    judgement = run(
        engine, orders.order(replace(made, **sql(values(POISONED[:5], when=when))), keys="2025-01-01..2025-01-02")
    )
    assert made.partitioning.labels(judgement.withheld) == ["2025-01-02"]
    assert seen(spark, made) == [-6, -5, -4, -3, 1, 2]


@pytest.mark.alike
def test_what_came_out_as_it_was_is_told_beside_what_is_withheld(spark, engine, tmp_path):
    made = table("t", tmp_path, by="day", rules=(NOT_NULL,), unchanged="skip")
    first = orders.order(replace(made, **sql(values(GOOD))), keys="2025-01-01..2025-01-03")
    run(engine, first)
    version = DeltaTable(made.storage.path)
    changed = [*POISONED[:-1], (*POISONED[-1][:4], 60)]
    order = orders.order(replace(made, **sql(values(changed))), keys="2025-01-01..2025-01-03")
    order = replace(order, known_position=(str(version.metadata().id), version.version()))
    run(engine, order)
    (committed,) = target(engine, order).find_commits([order.run])
    assert made.partitioning.labels(committed.unchanged_partitions) == ["2025-01-01"]
    assert made.partitioning.labels(committed.withheld) == ["2025-01-02"]
    assert seen(spark, made) == [1, 2, 3, 4, 5, 60]


@pytest.mark.spark_alone  # words its errors so
@pytest.mark.parametrize(
    "rule",
    [
        ValidationRule("told", SqlCheck("m > 1")),
        ValidationRule("told", SqlCheck("m > 1"), severity="drop"),
        ValidationRule("told", RangeCheck("n", Decimal(0), Decimal(99)), severity="quarantine", where="m > 0"),
        ValidationRule("told", SqlCheck("sum(m) > 1", "run")),
    ],
    ids=["row", "drop", "where", "run"],
)
def test_what_cannot_be_asked_fails_the_run_and_names_the_rule(engine, tmp_path, rule):
    fine = ValidationRule("fine", RangeCheck("n", Decimal(0), Decimal(99)), severity="drop")
    made = table("t", tmp_path, by="day", rules=(fine, NOT_NULL, rule), **sql(values(GOOD)))
    with pytest.raises(RunError, match=r"t: told: .*`m` cannot be resolved"):
        run(engine, orders.order(made, keys="2025-01-01..2025-01-03"))
    assert not DeltaTable.is_deltatable(made.storage.path)


def test_columns_and_freshness_are_judged(engine, tmp_path):
    rules = (
        ValidationRule("has_columns", HasColumnsCheck((("n", "int"), ("place", "int")))),
        ValidationRule("freshness(day)", FreshnessCheck("day", Duration.parse("1d"))),
        ValidationRule("sql", SqlCheck("max(n) = min(n)", "partition")),
    )
    made = table("t", tmp_path, by="day", rules=rules, **sql(values(GOOD)))
    judgement = run(engine, orders.order(made, keys="2025-01-01..2025-01-03"))
    assert {(each.rule, each.outcome) for each in judgement.verdicts} == {(rule.name, "passed") for rule in rules}
    wrong = replace(made, rules=(ValidationRule("has_columns", HasColumnsCheck((("n", "string"), ("m", "")))),))
    judgement = run(engine, orders.order(wrong, keys="2025-01-01..2025-01-03"))
    assert [each.observed for each in judgement.verdicts] == ["n is INT, not STRING; has no column m"]


# --------------------------------------------------------------------------- in how many passes


def passes(
    spark: Any,
    engine: SparkEngine,
    asset: AssetSpec,
    lines: Sequence[Line],
    *,
    keys: str | None = THREE_DAYS,
    **more: Any,
) -> int:
    """How many queries a run takes of a table that is there."""
    made = replace(asset, **sql(values(lines)))
    before = max(queries(spark), default=-1)
    run(engine, replace(orders.order(made, keys=keys), **more))
    return sum(number > before for number in queries(spark))


@pytest.mark.spark_alone  # counts its jobs
@pytest.mark.parametrize(
    "write", [None, UpsertWrite(("place",)), deep(UpsertWrite(("place",), newest_by=("n",)))], ids=str
)
def test_rules_cost_one_query_however_rows_land_and_these_are_staged_once(spark, engine, tmp_path, monkeypatch, write):
    of, written = {"write": write} if write else {}, []
    stages = ScratchRows.write_rows
    monkeypatch.setattr(
        ScratchRows, "write_rows", lambda place, rows: written.append(place.part) or stages(place, rows)
    )
    more = (
        ValidationRule("range(n)", RangeCheck("n", Decimal(0), Decimal(9))),
        ValidationRule("row_count", RowCountCheck(min=1)),
    )
    unique = ValidationRule("unique(place)", UniqueCheck(("place",)))
    taken = {}
    for name, rules in (
        ("bare", ()),
        ("one", (NOT_NULL,)),
        ("three", (NOT_NULL, *more)),
        ("unique", (NOT_NULL, unique)),
    ):
        made = table(name, tmp_path, by="day", rules=rules, **of)
        passes(spark, engine, made, GOOD)
        written.clear()
        taken[name] = passes(spark, engine, made, [(*line[:4], line[4] + 1) for line in GOOD])
        assert len(written) == (1 if write else 0)
    bare = taken.pop("bare")
    assert {name: count - bare for name, count in taken.items()} == {"one": 1, "three": 1, "unique": 2}


@pytest.mark.spark_alone  # counts its jobs
def test_rows_of_one_partition_are_measured_by_the_write_and_only_uniqueness_takes_a_query(spark, engine, tmp_path):
    unique = ValidationRule("unique(place)", UniqueCheck(("place",)))
    taken = {}
    for name, rules in (("bare", ()), ("one", (NOT_NULL,)), ("unique", (NOT_NULL, unique))):
        made = table(name, tmp_path, rules=rules)
        for _ in range(2):
            taken[name] = passes(spark, engine, made, GOOD, keys=None)
    assert {name: count - taken["bare"] for name, count in taken.items()} == {"bare": 0, "one": 0, "unique": 1}


OBSERVED = (
    NotNullCheck(("n",)),
    AcceptedCheck("s", ("a", "b")),
    RangeCheck("n", 0, 5),
    SqlCheck("n % 2 = 0"),
    SqlCheck("max(n) < 9", "partition"),
    SqlCheck("count(DISTINCT n) < 9", "run"),
    RowCountCheck(min=1),
    UniqueCheck(("n",)),
    FreshnessCheck("day", Duration.parse("1d")),
)


@pytest.mark.parametrize("lines", [GOOD, POISONED, []], ids=["good", "poisoned", "none"])
@pytest.mark.parametrize("removes", [False, True], ids=["judged", "taken away"])
def test_a_write_measures_what_a_query_measures(engine, tmp_path, monkeypatch, lines, removes):
    checks = [check for check in OBSERVED if not removes or check.kind != "freshness"]
    rules = [
        ValidationRule(f"rule {number}", check, "drop" if removes and number < 3 else "warn", None, where)
        for number, (check, where) in enumerate(itertools.product(checks, ("", "region = 'de'")))
        if not (where and isinstance(check, RowCountCheck))
    ]
    judged = []
    for name in ("observed", "asked"):
        made = replace(table(name, tmp_path, rules=tuple(rules)), **sql(values(lines)))
        judged.append(run(engine, orders.order(made)))
        monkeypatch.setattr("sparkassets.spark.targets.driver_staging.plan_observation", lambda *_: None)
    assert judged[0] == judged[1]
    assert judged[0].verdicts


@pytest.mark.spark_alone  # names the rule
@pytest.mark.parametrize("condition", ["1 / (n - 1) > 0", "CAST(s AS INT) > 0"])
def test_a_condition_that_fails_while_rows_are_written_names_its_rule(spark, tmp_path, condition):
    engine = SparkEngine(orders.project(), spark.newSession())  # in which Spark 3.5 lets it be NULL
    made = table("t", tmp_path, rules=(NOT_NULL, ValidationRule("odd", SqlCheck(condition))), **sql(values(GOOD)))
    with pytest.raises(RunError, match=r"the result of t: odd: \[(DIVIDE_BY_ZERO|CAST_INVALID_INPUT)"):
        run(engine, orders.order(made))
    assert not DeltaTable.is_deltatable(made.storage.path)


@pytest.mark.spark_alone  # counts its jobs
def test_rows_are_compared_with_those_before_only_where_there_are_as_many(spark, engine, tmp_path):
    """A query of its own, as it reads the rows before as well; of a partition with more or fewer rows there is none."""
    made = table("t", tmp_path, by="day", rules=(NOT_NULL,), unchanged="skip")
    bare = passes(spark, engine, made, GOOD)
    for lines, compared in (
        ([*GOOD, *((*line[:4], line[4] + 6) for line in GOOD)], 0),
        ([*GOOD, *((*line[:4], line[4] + 7) for line in GOOD)], 1),
    ):
        found = DeltaTable(made.storage.path)
        told = (str(found.metadata().id), found.version())
        assert passes(spark, engine, made, lines, known_position=told) == bare + compared


@pytest.mark.spark_alone  # has quarantine
def test_what_is_judged_of_an_upsert_lands_without_what_is_withheld_taken_away_or_late(spark, engine, tmp_path):
    """Of the files that were judged nothing is chosen again: not by keys, and not by what deletes."""
    range_ = ValidationRule("range(n)", RangeCheck("n", Decimal(0), Decimal(9)), severity="quarantine")
    write = UpsertWrite(("region",), newest_by=("n",), delete_when="s = 'gone'")
    made = table("t", tmp_path, by="day", rules=(NOT_NULL, range_), write=write)
    first = [("2025-01-01", "de", 5, "a", 1), ("2025-01-02", "de", 5, "a", 2), ("2025-01-03", "de", 5, "a", 3)]
    run(engine, orders.order(replace(made, **sql(values(first))), keys="2025-01-01..2025-01-03"))
    then = [
        ("2025-01-01", "de", 7, "gone", 4),
        ("2025-01-01", "nl", 99, "a", 5),
        ("2025-01-01", "be", 6, "a", 6),
        ("2025-01-01", "be", 7, "a", 7),
        ("2025-01-02", "nl", 1, "a", 8),
        ("2025-01-02", "de", 4, "late", 9),
    ]
    run(engine, orders.order(replace(made, **sql(values(then))), keys="2025-01-01..2025-01-02"))
    assert seen(spark, made) == [2, 3, 7, 8]
    back = [("2025-01-01", "de", 6, "late", 10), ("2025-01-02", "nl", None, "a", 11)]
    bad = replace(made, rules=(ValidationRule("sql", SqlCheck("s <> 'bad'")),), **sql(values([*back[:1], *first[1:2]])))
    run(engine, orders.order(bad, keys="2025-01-01..2025-01-02"))
    assert seen(spark, made) == [2, 3, 7, 8]
