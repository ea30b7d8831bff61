"""Examples that stand, run on data as their comments say."""

import json
import re
import shutil
from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets import Project, RunFailedError

EXAMPLES = Path(__file__).parents[1] / "examples"
pytestmark = pytest.mark.spark


def example(name: str, folder: Path) -> Path:
    """A copy of an example whose catalog tables are paths."""
    copy = shutil.copytree(EXAMPLES / name, folder / name)
    for file in copy.glob("*.yml"):
        text = re.sub(r"^table: \S+\.(\w+)(?: +#.*)?$", r"path: lake/\1", file.read_text(), flags=re.MULTILINE)
        file.write_text(text.replace("s3://lake/", "lake/"))
    return copy


def rows(folder: Path, asset: str) -> list[tuple]:
    table = pa.table(DeltaTable(folder / "warehouse" / asset).scan())
    return sorted(tuple(row.values()) for row in table.to_pylist())


def ran(summary) -> list[tuple[str, str]]:
    return [(result.asset, result.status) for result in summary.runs]


@pytest.mark.spark_alone  # text is averaged
def test_smallest(spark, tmp_path):
    folder = example("00_smallest", tmp_path)
    landing = folder / "landing" / "flights"
    landing.mkdir(parents=True)
    for day, delays in {"2025-03-01": (10, 20), "2025-03-02": (5,)}.items():
        (landing / f"{day}.csv").write_text("origin,dep_delay\n" + "".join(f"JFK,{delay}\n" for delay in delays))
    project = Project.load(folder, env={})
    assert ran(project.run(spark)) == [("daily_delays", "success")]
    assert rows(folder, "daily_delays") == [(date(2025, 3, 1), "JFK", 15.0), (date(2025, 3, 2), "JFK", 5.0)]
    assert project.run(spark).runs == ()


@pytest.mark.alike
def test_daily_sales_need_every_hour_of_the_local_day(spark, tmp_path):
    folder = example("01_daily_sales", tmp_path)
    first = datetime(2025, 3, 29, 23, tzinfo=UTC)  # the day of the spring change has 23 hours in Berlin
    hours = [first + timedelta(hours=n) for n in range(23)]

    def write(some):
        table = {"event_hour": some, "region": ["north"] * len(some), "amount": [1.0] * len(some)}
        write_deltalake(folder / "lake/events", pa.table(table), mode="append")

    write(hours[:22])
    project = Project.load(folder, env={})
    plan = project.plan()
    assert plan.runs == ()
    assert "waits for raw_events: 22 of 23 partitions, missing 2025-03-30T21" in [w.reason for w in plan.waiting]
    write(hours[22:])
    assert ran(project.run(spark)) == [("daily_sales", "success")]
    assert rows(folder, "daily_sales") == [(date(2025, 3, 30), "north", 23.0)]


def test_rolling_users_read_the_day_and_the_six_before(spark, tmp_path):
    folder = example("02_rolling_users", tmp_path)
    days = [date(2025, 3, 1) + timedelta(days=n) for n in range(10)]
    table = pa.table({"event_date": days, "user_id": list(range(10))})
    write_deltalake(folder / "lake/events", table, partition_by=["event_date"])
    project = Project.load(folder, env={})
    assert ran(project.run(spark)) == [("active_users_7d", "success")]
    assert rows(folder, "active_users_7d") == [(day, 7) for day in days[6:]]
    assert "declare `start` where events begins" in project.plan().waiting[0].reason
    with (folder / "events.yml").open("a") as file:
        file.write(f"start: {days[0]}\n")
    project = Project.load(folder, env={})
    assert ran(project.run(spark)) == [("active_users_7d", "success")]
    assert rows(folder, "active_users_7d") == [(day, min(n + 1, 7)) for n, day in enumerate(days)]
    restated = pa.table({"event_date": [days[1]] * 2, "user_id": [1, 100]})
    write_deltalake(
        folder / "lake/events",
        restated,
        mode="overwrite",
        predicate=f"event_date = '{days[1]}'",
        partition_by=["event_date"],
    )
    (run,) = project.plan().runs
    assert run.reason == "7 stale: events changed"
    assert ran(project.run(spark)) == [("active_users_7d", "success")]
    assert rows(folder, "active_users_7d")[1] == (days[1], 3)


@pytest.mark.alike
def test_a_dimension_is_read_whole_and_makes_nothing_stale(spark, tmp_path):
    folder = example("10_fact_x_dimension", tmp_path)
    sales = pa.table({"sales_day": [date(2025, 3, 1), date(2025, 3, 2)], "customer_id": [1, 2], "amount": [5, 6]})
    write_deltalake(folder / "lake/sales", sales, partition_by=["sales_day"])
    write_deltalake(folder / "lake/customers", pa.table({"customer_id": [1, 2], "segment": ["a", "b"]}))
    project = Project.load(folder, env={})
    assert ran(project.run(spark)) == [("sales_enriched", "success")]
    assert [row[-1] for row in rows(folder, "sales_enriched")] == ["a", "b"]
    write_deltalake(folder / "lake/customers", pa.table({"customer_id": [3], "segment": ["c"]}), mode="append")
    assert project.run(spark).runs == ()


@pytest.mark.spark_alone  # text is averaged
def test_a_first_run_that_failed_binds_nobody_to_its_columns(spark, tmp_path):
    folder = example("00_smallest", tmp_path)
    (folder / "landing" / "flights").mkdir(parents=True)
    (folder / "landing" / "flights" / "2025-03-01.csv").write_text("origin,dep_delay\nJFK,10\n")
    sql = folder / "daily_delays.sql"
    right = sql.read_text()
    sql.write_text("SELECT day, CAST(raise_error('boom') AS STRING) AS origin FROM {{ inlets.flights }}")
    (folder / "daily_delays.yml").write_text((folder / "daily_delays.yml").read_text() + "retries: 0\n")
    with pytest.raises(RunFailedError) as failed:
        Project.load(folder, env={}).run(spark)
    assert ran(failed.value.summary) == [("daily_delays", "failed")]
    sql.write_text(right)
    assert ran(Project.load(folder, env={}).run(spark)) == [("daily_delays", "success")]
    assert rows(folder, "daily_delays") == [(date(2025, 3, 1), "JFK", 10.0)]


BILLING = """
import json
from decimal import Decimal
from pathlib import Path


def bill(day, warehouse):
    return Decimal(json.loads(Path(__file__).parents[1].joinpath("bills.json").read_text())[f"{day} {warehouse}"])


"""


DAY = timedelta(days=1)
MIDNIGHTS = [date(2025, 1, 2) + DAY * n for n in range(11)]
WAREHOUSES = ("engineering", "marketing")


class Week:
    """What the tables of 15 hold after each run, reckoned in plain Python."""

    def __init__(self) -> None:
        self.bills: dict[tuple[date, str], Decimal] = {}
        self.budgets = dict.fromkeys(WAREHOUSES, Decimal("100.00"))
        self.rate = Decimal("0.90")
        self.next_day = dict.fromkeys(WAREHOUSES, MIDNIGHTS[0] - DAY)
        self.changed: set[str] = set()
        self.awaited: set[str] = set()
        self.midnight = self.sunday = date.min
        self.tables: dict[str, dict] = {"spend": {}, "spend_so_far": {}, "budget": {}, "spend_in_euro": {}}

    def run(self, today: date) -> None:
        """All that a run on that day is to do."""
        for name in WAREHOUSES:
            while self.next_day[name] < today and (self.next_day[name], name) in self.bills:
                self.ask(name)
        if self.midnight < today:
            self.midnight, self.awaited = today, set(WAREHOUSES)
            self.tables["budget"] = {name: (name, self.budgets[name], today - DAY) for name in WAREHOUSES}
        self.add_up(self.changed & self.awaited)
        self.awaited = {name for name in self.awaited if self.next_day[name] < today}  # whose spend failed
        if self.sunday < (sunday := today - DAY * (today.isoweekday() % 7)):
            self.sunday = sunday
            self.convert()

    def ask(self, name: str) -> None:
        day = self.next_day[name]
        self.tables["spend"][day, name] = (day, name, self.bills[day, name])
        self.next_day[name] += DAY
        self.changed.add(name)

    def add_up(self, names: set[str]) -> None:
        for name in names:
            costs = [cost for (_, other), (_, _, cost) in self.tables["spend"].items() if other == name]
            self.tables["spend_so_far"][name] = (name, len(costs), sum(costs))
        self.changed -= names

    def convert(self) -> None:
        costs: dict[date, Decimal] = defaultdict(Decimal)
        for day, _, cost in self.tables["spend"].values():
            costs[day] += cost
        self.tables["spend_in_euro"] = {
            day: (day, (cost * self.rate).quantize(Decimal("0.01"), ROUND_HALF_UP)) for day, cost in costs.items()
        }


@pytest.mark.alike
def test_spend_of_each_warehouse_every_day(spark, tmp_path):
    """15: a bill that comes late, a midnight without a driver, other budgets and another rate."""
    folder = example("15_spend_of_each_warehouse", tmp_path)
    jobs = folder / "jobs" / "billing.py"
    jobs.write_text(BILLING + jobs.read_text())
    project, week = Project.load(folder, env={}), Week()
    for number, midnight in enumerate(MIDNIGHTS):
        day = midnight - DAY
        week.bills |= {(day, name): Decimal(f"{10 * number + len(name)}.37") for name in WAREHOUSES}
        late = week.bills.pop((day, "marketing")) if midnight.day == 4 else None
        if midnight.day == 5:
            continue  # nobody is there
        if midnight.day == 8:
            week.budgets["marketing"], week.rate = Decimal("250.00"), Decimal("0.95")
        moments = ["00:00", "12:00"] if late else ["00:00"]
        for moment in moments:
            if moment == "12:00":
                week.bills[day, "marketing"] = late
            bills = {f"{each} {name}": str(cost) for (each, name), cost in week.bills.items()}
            (folder / "bills.json").write_text(json.dumps(bills))
            lines = "".join(f"{name},{budget}\n" for name, budget in week.budgets.items())
            (folder / "budgets.csv").write_text(f"warehouse,budget\n{lines}")
            (folder / "rates.csv").write_text(f"rate\n{week.rate}\n")
            summary = project.run(spark, at=f"{midnight}T{moment}", check=False)
            assert summary.ok == (late is None or moment == "12:00")
            week.run(midnight)
            held = {name: rows(folder, name) for name in week.tables}
            assert held == {name: sorted(table.values()) for name, table in week.tables.items()}
    assert project.run(spark, at=f"{MIDNIGHTS[-1]}T12:00").runs == ()


@pytest.mark.alike
def test_the_tuesday_of_an_upstream_that_never_came(spark, tmp_path):
    """A week of mornings, each table row by row as plain Python reckons it."""
    folder = example("17_upstream_may_not_come", tmp_path)
    monday, landed = date(2025, 3, 3), {}
    (folder / "landing").mkdir()

    def lands(day: date) -> None:
        landed[day] = {"north": [day.day, 2 * day.day], "south": [5]}
        lines = [f"{shop},{amount}" for shop, amounts in landed[day].items() for amount in amounts]
        (folder / "landing" / f"{day}.csv").write_text("\n".join(["shop,amount", *lines, ""]))

    def reckoned(now: datetime) -> list[tuple]:
        found = []
        for day in (monday + timedelta(days=n) for n in range(8)):
            ended = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)
            if day in landed:
                found += [(day, shop, len(amounts), sum(amounts)) for shop, amounts in landed[day].items()]
            elif now >= ended + timedelta(days=1):
                found.append((day, None, 0, 0))
        return found

    project, banks = Project.load(folder, env={}), {}
    for day in (monday + timedelta(days=n) for n in range(7)):
        morning = datetime(day.year, day.month, day.day, 6, tzinfo=UTC) + timedelta(days=1)
        if day.isoweekday() != 2:
            lands(day)
        summary = project.run(spark, at=morning)
        banks |= {result.partition_keys[0]: result.status for result in summary.runs if result.asset == "bank_days"}
        assert rows(folder, "daily_orders") == reckoned(morning), morning
        said = " ".join(each.reason for each in summary.runs if each.asset == "daily_orders")
        without = "continues without all of partner_orders: 0 of 1 partition, missing 2025-03-04"
        assert (without in said) == (day.isoweekday() == 3), said
        assert project.run(spark, at=morning).runs == ()
    assert banks == {f"2025-03-0{day}": "success" if day < 8 else "skipped" for day in range(3, 10)}
    assert [row[0].isoweekday() for row in rows(folder, "bank_days")] == [1, 2, 3, 4, 5]
    skips = [(run.partition_keys, run.skipped) for run in project.history.runs(asset="bank_days", status="skipped")]
    assert skips == [((f"2025-03-0{day}",), "banks do not pay at weekends") for day in (8, 9)]

    def week() -> tuple:
        days = reckoned(morning)
        return (monday, sum(each[2] for each in days), sum(each[3] for each in days), sum(not each[1] for each in days))

    assert rows(folder, "weekly_orders") == [week()]
    assert week()[-1] == 1
    lands(monday + timedelta(days=1))
    late = project.run(spark, at=morning)
    assert {name for name, _ in ran(late)} == {"daily_orders", "weekly_orders", "partner_calls"}
    assert rows(folder, "daily_orders") == reckoned(morning)
    assert rows(folder, "weekly_orders") == [week()]
    assert week()[-1] == 0
    assert rows(folder, "partner_calls") == [(date(2025, 3, 9), 7)]


@pytest.mark.spark_alone  # its SQL writes by delta.`path`
def test_existing_jobs_are_assets_as_they_are(spark, tmp_path, monkeypatch):
    folder = example("18_existing_jobs", tmp_path)
    monkeypatch.chdir(tmp_path)
    landing = folder / "landing" / "orders"
    landing.mkdir(parents=True)
    for day in range(3, 10):
        (landing / f"2025-03-{day:02}.csv").write_text(f"shop,amount\noslo,{day}\nrome,1\n")
    project = Project.load(folder, env={})
    at = "2025-03-10T06:00Z"
    assert ran(project.run(spark, at=at)) == [
        ("daily_sales", "success"),
        ("exported", "success"),
        ("weekly_sales", "success"),
    ]
    assert project.run(spark, at=at).runs == ()  # its own commits are no news
    (landing / "2025-03-05.csv").write_text("shop,amount\noslo,100\n")
    assert ran(project.run(spark, at=at)) == [
        ("daily_sales", "success"),
        ("exported", "success"),
        ("weekly_sales", "success"),
    ]
    table = pa.table(DeltaTable(folder / "lake" / "daily_sales").scan()).to_pylist()
    assert len(table) == 13
    assert sum(row["amount"] for row in table) == 3 + 4 + 6 + 7 + 8 + 9 + 100 + 6
    assert rows(folder, "weekly_sales") == [(date(2025, 3, 3), Decimal("143.00"))]
    sent = [json.loads(line) for line in (tmp_path / "outbox.jsonl").read_text().splitlines()]
    assert sent == [*([f"2025-03-{day:02}", f"{day + 1}.00"] for day in range(3, 10)), ["2025-03-05", "100.00"]]
