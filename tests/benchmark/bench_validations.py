"""What validations cost: ten rules on half a million rows by day, and a year of days of which three are poisoned.

Each is measured against the same write without rules, in the same session; all ways take turns; medians, with the
spread, and the ratio. The plan of what is measured is looked at: one scan and one aggregation for all rules but those
of uniqueness, which take one more each.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from sparkassets import Project
from sparkassets.app.backfills import BackfillRequest
from tests.benchmark.figures import record

ROWS = 500_000
DAYS = 100
YEAR = 365
YEARS_ROWS = 500_000
POISONED = (40, 41, 300)
REPEATS = 2
FIRST = date(2024, 1, 1)
RULES = """
validations:
  - not_null: [id]
  - not_null: [customer, amount]
  - accepted: {status: [new, paid, sent, returned]}
  - range: {amount: {min: 0, max: 1000}}
  - range: {quantity: {min: 1, max: 20}}
  - pattern: {code: "[A-Z]{2}-[0-9]+"}
  - row_count: {min: 1}
  - freshness: {ordered_at: 1d}
  - sql: price * quantity >= 0
  - sql: amount IS NULL OR customer IS NOT NULL
"""
UNIQUE = "  - unique: [id]\n"
FILES = {
    "project.yml": "project: bench\nassets: [assets]\n",
    "assets/orders.yml": (
        "asset: orders\nsource: delta\npath: lake/orders\npartition: {by: day, column: day, timezone: UTC}\n"
    ),
}
SELECT = "sql: SELECT * FROM {{ inlets.orders }}\npartition: {by: day, column: day}\n"
STRATEGY = "strategy: {date_range: {max_partitions_per_run: 1000}}\n"


def main() -> None:
    """Prints the tables."""
    spark = session()
    with tempfile.TemporaryDirectory() as folder:
        rules_against_the_write(spark, Path(folder, "ten"))
    with tempfile.TemporaryDirectory() as folder:
        a_year_with_bad_days(spark, Path(folder, "year"))


def rules_against_the_write(spark: Any, root: Path) -> None:
    """Ten rules, and ten with one of uniqueness."""
    ways = {"plain": "", "ten rules": RULES, "and unique": RULES + UNIQUE}
    project = laid_out(root, ways)
    rows(spark, ROWS, DAYS).write.format("delta").partitionBy("day").save(str(root / "lake/orders"))
    measure(f"{ROWS:,} rows by day", {way: partial(publish, project, spark, named(way), DAYS) for way in ways})
    one_pass(spark, root)


def a_year_with_bad_days(spark: Any, root: Path) -> None:
    """Three days of a year are withheld, and a reader beside it never sees one of them."""
    project = laid_out(root, {"plain": "", "ten rules": RULES})
    frame = rows(spark, YEARS_ROWS, YEAR)
    bad = ", ".join(map(str, POISONED))
    poisoned = frame.selectExpr("* EXCEPT (amount)", f"IF(datediff(day, '2024-01-01') IN ({bad}), NULL, amount) amount")
    poisoned.write.format("delta").partitionBy("day").save(str(root / "lake/orders"))
    measure(
        f"a year of days, {len(POISONED)} of them withheld",
        {
            "plain": partial(publish, project, spark, "plain", YEAR),
            "ten rules": partial(publish, project, spark, "ten_rules", YEAR, withheld=len(POISONED)),
        },
    )
    watched(spark, project, root)


def watched(spark: Any, project: Project, root: Path) -> None:
    """What a reader beside the run sees of the bad days."""
    path, seen, over = str(root / "warehouse/ten_rules"), list[int](), threading.Event()

    def read() -> None:
        from deltalake import DeltaTable

        while not over.is_set():
            days = {file.split("day=")[1][:10] for file in DeltaTable(path).file_uris()}
            seen.append(len(days))

    reader = threading.Thread(target=read)
    reader.start()
    publish(project, spark, "ten_rules", YEAR, withheld=len(POISONED))
    over.set()
    reader.join()
    print(f"a reader looked {len(seen)} times and saw {sorted(set(seen))} of {YEAR} days")


def one_pass(spark: Any, root: Path) -> None:
    """What Spark does to measure ten rules."""
    from sparkassets.core.partitions import Partitioning, TimePartition
    from sparkassets.spark.validation import PartitionGrouping, RowRules
    from sparkassets.spark.validation.measurement import shared_plan

    rules = Project.load(root, env={}).spec.assets[named("ten rules")].rules
    frame = spark.read.format("delta").load(str(root / "warehouse/ten_rules"))
    days = Partitioning(TimePartition("day", "UTC", column="day"))
    partitions = days.parse(f"{FIRST}..{FIRST + timedelta(days=DAYS - 1)}")
    keys = PartitionGrouping.from_schema(frame.schema, partitions, partitioning=days, owner="bench")
    plan = shared_plan(frame, RowRules("bench", rules), keys)._jdf.queryExecution().executedPlan().toString()
    print(f"{len(rules)} rules: {plan.count('Scan ')} scan, {plan.count('Exchange ')} exchange")


def publish(project: Project, spark: Any, asset: str, days: int, *, withheld: int = 0) -> None:
    """All days of an asset, in one run."""
    request = BackfillRequest(asset, partition=f"{FIRST}..{FIRST + timedelta(days=days - 1)}", force=True)
    (result,) = project.backfills.run(request, spark, check=False).runs
    assert result.status == "success", result.error
    held = project.spec.assets[asset].partitioning.count(result.withheld)
    assert held == withheld, held


def measure(what: str, ways: Mapping[str, Callable[[], None]]) -> None:
    """All ways, by turns; against the first."""
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(REPEATS + 1):
        for way, work in ways.items():
            begin = time.perf_counter()
            work()
            if turn:
                seconds[way].append(time.perf_counter() - begin)
    first, *others = seconds
    for way in others:
        ratios = [taken / plain for plain, taken in zip(seconds[first], seconds[way], strict=True)]
        record(f"{what}: {way}", statistics.median(ratios), "x", against="without rules", spread=ratios)


def rows(spark: Any, count: int, days: int) -> Any:
    """Orders, as many a day."""
    return spark.range(count).selectExpr(
        f"date_add(DATE'2024-01-01', CAST(id % {days} AS INT)) AS day",
        "id",
        "hash(id) % 100000 AS customer",
        "CAST(rand(1) * 1000 AS DECIMAL(9,2)) AS amount",
        "rand(2) * 100 AS price",
        "CAST(1 + rand(3) * 19 AS INT) AS quantity",
        "element_at(array('new', 'paid', 'sent', 'returned'), CAST(1 + rand(4) * 3.99 AS INT)) AS status",
        "concat(element_at(array('DE', 'NL', 'FR'), CAST(1 + rand(5) * 2.99 AS INT)), '-', id) AS code",
        f"timestampadd(SECOND, CAST(rand(6) * 86400 AS INT), date_add(DATE'2024-01-01', CAST(id % {days} AS INT))) "
        "AS ordered_at",
        "uuid() AS note",
    )


def laid_out(root: Path, ways: Mapping[str, str]) -> Project:
    for name, text in FILES.items():
        write(root / name, text)
    for way, rules in ways.items():
        text = f"asset: {named(way)}\nschedule: manual\n{SELECT}{STRATEGY}{rules}"
        write(root / f"assets/{named(way)}.yml", text)
    return Project.load(root, env={})


def named(way: str) -> str:
    return way.replace(" ", "_")


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def session() -> Any:
    """The session of all, as sparkassets starts one."""
    from sparkassets.spark.session import open_session

    return open_session({}, name="bench")[0]


if __name__ == "__main__":
    main()
