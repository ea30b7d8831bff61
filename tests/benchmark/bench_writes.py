"""What small writes cost in a warm session against the Delta statements that a person would have written by hand.

A batch of 100 rows comes to a table of 100,000: appended, merged by keys, or as new versions of a history. Then the
same small table is replaced with ten validations and without. Both take turns; medians and the ratios of pairs.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from sparkassets import BackfillRequest, Project
from sparkassets.core.instants import Duration
from sparkassets.core.spec.model import InletSpec, ReadAfter, Schedule
from sparkassets.core.strategies import LatestOnly
from sparkassets.core.validations.checks import (
    AcceptedCheck,
    FreshnessCheck,
    NotNullCheck,
    PatternCheck,
    RangeCheck,
    RowCountCheck,
    SqlCheck,
)
from sparkassets.core.validations.rules import ValidationRule
from sparkassets.core.writes import AppendWrite, HistoryColumns, PublishWrite, UpsertWrite, WriteMode
from sparkassets.spark.engine import SparkEngine
from tests.benchmark.bench_runs import SMALL_DATA, Goals, alternate, asset, project_of, source

ROWS, BATCH = 100_000, 100
WARM, REPEATS = 3, 5
REWRITES: Final = "the rows of each file with a changed key are read and written once more"
CHECKS: Final = (
    NotNullCheck(("id",)),
    NotNullCheck(("name", "amount")),
    AcceptedCheck("state", ("new", "paid")),
    RangeCheck("amount", 0, 1),
    RangeCheck("id", 0),
    PatternCheck("code", "[A-Z]{2}-[0-9]+"),
    RowCountCheck(min=1),
    FreshnessCheck("at", Duration.parse("1d")),
    SqlCheck("amount * id >= 0"),
    SqlCheck("amount IS NULL OR id IS NOT NULL"),
)
CONDITIONS: Final = (
    "count_if(id IS NULL)",
    "count_if(name IS NULL OR amount IS NULL)",
    "count_if(state NOT IN ('new', 'paid'))",
    "count_if(amount < 0 OR amount > 1)",
    "count_if(id < 0)",
    "count_if(NOT code RLIKE '^([A-Z]{2}-[0-9]+)$')",
    "count(1)",
    "max(unix_micros(at))",
    "count_if(NOT amount * id >= 0)",
    "count_if(NOT (amount IS NULL OR id IS NOT NULL))",
)
"""The same in Spark's SQL."""


def main(*names: str) -> None:
    """Prints the tables, of these kinds of write or of all."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        engine = SparkEngine(project_of(root, SMALL_DATA, source(root, None)))
        engine.start()
        from pyspark.sql import SparkSession

        spark = SparkSession.getActiveSession()
        for name in names or KINDS:
            KINDS[name](spark, root / name)
        engine.close()


class _Batches:
    """A source that grows by batches of changes, and an asset that writes what is new in it."""

    def __init__(self, spark: Any, root: Path, write: WriteMode, columns: str) -> None:
        self.spark, self.root, self.last = spark, root, 0
        inlets = {"source": InletSpec("source", "source", None, read=ReadAfter("batch"))}
        written = asset("rows", root, f"SELECT {columns} FROM {{{{ inlets.source }}}}", None)
        written = replace(written, write=write, strategy=LatestOnly(), inlets=inlets)
        self._ours = Project(project_of(root, SMALL_DATA, source(root, None), written))
        self._numbers = itertools.count(1)
        self.add("id", ROWS)
        self.run()
        spark.read.format("delta").load(str(root / "rows")).write.format("delta").save(str(root / "hand"))

    def touch(self) -> None:
        """Adds a batch, a fifth of whose keys are new."""
        self.last = next(self._numbers)
        self.add(f"(id * 97 * {self.last}) % {ROWS * 6 // 5}", BATCH)

    def add(self, ids: str, count: int) -> None:
        self.spark.sql(
            f"SELECT DISTINCT {ids} AS id, uuid() AS name, rand() AS amount, "
            f"timestamp'2024-01-01' + make_interval(0, 0, 0, 0, {self.last}) AS at, {self.last}L AS batch "
            f"FROM range({count})"
        ).write.format("delta").mode("append").save(str(self.root / "source"))

    def run(self) -> None:
        assert [result.status for result in self._ours.run(self.spark).runs] == ["success"]

    def measure(self, what: str, *statements: str, goals: Goals) -> None:
        """Compares with these statements about ``{hand}`` and ``{new}``, the rows of the newest batch."""

        def by_hand() -> None:
            new = f"(SELECT * FROM delta.`{self.root / 'source'}` WHERE batch = {self.last})"
            for statement in statements:
                self.spark.sql(statement.format(hand=f"delta.`{self.root / 'hand'}`", new=new)).collect()

        title = f"{what}, {BATCH} rows to {ROWS:,}, warm"
        alternate(title, self.touch, by_hand, self.run, warm=WARM, repeats=REPEATS, goals=goals)
        hand, ours = (self.spark.read.format("delta").load(str(self.root / name)) for name in ("hand", "rows"))
        assert hand.exceptAll(ours).isEmpty()
        assert ours.exceptAll(hand).isEmpty()


def append(spark: Any, root: Path) -> None:
    """Rows that come to those that are there."""
    columns = "id, name, amount, at"
    batches = _Batches(spark, root, AppendWrite(), columns)
    goals = Goals(0.3, 0.5, "one Spark job that writes, one commit")
    batches.measure("append", f"INSERT INTO {{hand}} SELECT {columns} FROM {{new}}", goals=goals)


def upsert(spark: Any, root: Path) -> None:
    """Rows that take the place of those with the same keys."""
    batches = _Batches(spark, root, UpsertWrite(("id",), ("at",)), "id, name, amount, at")
    batches.measure(
        "upsert",
        "MERGE INTO {hand} t USING {new} s ON t.id = s.id "
        "WHEN MATCHED AND s.at >= t.at THEN UPDATE SET name = s.name, amount = s.amount, at = s.at "
        "WHEN NOT MATCHED THEN INSERT (id, name, amount, at) VALUES (s.id, s.name, s.amount, s.at)",
        goals=Goals(0.5, limit=REWRITES),
    )


def history(spark: Any, root: Path) -> None:
    """Rows that end the row of their key and begin another (SCD 2)."""
    write = UpsertWrite(("id",), ("at",), history=HistoryColumns("valid_from", "valid_to", "is_current"))
    batches = _Batches(spark, root, write, "id, name, amount, at")
    batches.measure(
        "SCD 2",
        "MERGE INTO {hand} t USING ("
        "SELECT id AS key, * FROM {new} UNION ALL "
        "SELECT NULL AS key, s.* FROM {new} s JOIN {hand} t ON s.id = t.id AND t.is_current) s "
        "ON t.id = s.key AND t.is_current "
        "WHEN MATCHED THEN UPDATE SET valid_to = s.at, is_current = false "
        "WHEN NOT MATCHED THEN INSERT (id, name, amount, at, valid_from, valid_to, is_current) "
        "VALUES (s.id, s.name, s.amount, s.at, s.at, NULL, true)",
        goals=Goals(0.6, limit=REWRITES),
    )


def rules(spark: Any, root: Path) -> None:
    """The same iteration with ten validations and without; and so a write by hand, measured by Spark itself."""
    from pyspark.sql import Observation
    from pyspark.sql.functions import expr

    sql = (
        "SELECT id, id / 1000 AS amount, 'new' AS state, 'DE-' || id AS code, 'x' AS name, now() AS at FROM range(1000)"
    )
    judged = tuple(ValidationRule(f"r{number}", check) for number, check in enumerate(CHECKS))
    plain, checked = (_make_publishing(root / name, sql, rules) for name, rules in (("plain", ()), ("judged", judged)))

    def run(project: Project) -> None:
        (result,) = project.backfills.run(BackfillRequest("made", force=True), spark).runs
        assert result.status == "success", result.error

    alternate(
        "publish 1,000 rows with ten rules",
        lambda: None,
        lambda: run(plain),
        lambda: run(checked),
        warm=WARM,
        repeats=REPEATS,
        names=("without rules", "ten rules"),
        goals=Goals(1.25, limit="Spark analyses, plans and runs the ten conditions, as in the row on `observe`"),
    )

    def by_hand(*measures: str) -> None:
        rows = spark.sql(sql)
        rows = rows.observe(Observation(), *map(expr, measures)) if measures else rows
        rows.write.mode("overwrite").parquet(str(root / "hand"))

    alternate(
        "write Parquet of 1,000 rows by hand, ten conditions in `observe`",
        lambda: None,
        by_hand,
        lambda: by_hand(*CONDITIONS),
        warm=WARM,
        repeats=REPEATS,
        names=("without conditions", "ten conditions"),
    )


def _make_publishing(place: Path, sql: str, rules: tuple[ValidationRule, ...]) -> Project:
    made = replace(asset("made", place, sql, None), inlets={}, schedule=Schedule(), unchanged="publish")
    return Project(project_of(place, SMALL_DATA, replace(made, write=PublishWrite(3), rules=rules)))


KINDS: Final[dict[str, Callable[[Any, Path], None]]] = {
    "append": append,
    "upsert": upsert,
    "history": history,
    "rules": rules,
}


if __name__ == "__main__":
    main(*sys.argv[1:])
