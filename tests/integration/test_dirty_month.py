"""A month of real flights with three bad days: they are withheld and say why, all others flow, down to the end."""

import csv
import io
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from jobs.landing import land_days
from sparkassets import Project
from sparkassets.core.documents.status import status_document
from tests.e2e.projects import write

pytestmark = pytest.mark.spark

DOUBLED, NULLS, HALF = "2013-01-09", "2013-01-16", "2013-01-23"
BAD = (DOUBLED, NULLS, HALF)
DAYS = [f"2013-01-{day:02}" for day in range(1, 32)]
FILES = {
    "project.yml": """
project: dirty
state: state
warehouse: warehouse
assets: [assets]
python: [jobs]
""",
    "assets/landed.yml": """
asset: landed
source: csv
path: landing/flights/{flight_date:%Y%m%d}.csv
partition: {by: day, column: flight_date}
start: 2013-01-01
""",
    "assets/carriers.yml": "asset: carriers\nsource: csv\npath: carriers.csv\n",
    "assets/flights.yml": """
asset: flights
partition: {by: day, column: day}
inlets:
  landed: {validations: [{has_columns: [carrier, flight, dep_delay]}]}
columns:
  day: date
  carrier: string
  flight: bigint
  origin: string
  scheduled: bigint
  tail: {type: string, pii: true}
  dep_delay: double
validations:
  - {unique: [carrier, flight, origin, scheduled]}
  - {not_null: dep_delay, allow: 20%, samples: 5}
  - {row_count: {min: 1, change: -40%..+40%, over: 7}}
  - {foreign_key: {carrier: carriers.code}}
  - {accepted: {origin: [EWR, JFK, LGA]}}
  - {python: jobs.checks:not_too_early, severity: quarantine, name: not too early}
""",
    "assets/flights.sql": """
SELECT flight_date AS day, carrier, CAST(flight AS BIGINT) AS flight, origin,
       CAST(sched_dep_time AS BIGINT) AS scheduled, tailnum AS tail, try_cast(dep_delay AS DOUBLE) AS dep_delay
FROM {{ inlets.landed }}
""",
    "assets/daily_delays.yml": "asset: daily_delays\npartition: {by: day, column: day}\n",
    "assets/daily_delays.sql": """
SELECT day, count(*) AS flights, avg(dep_delay) AS delay FROM {{ inlets.flights }} GROUP BY ALL
""",
    "jobs/__init__.py": "",
    "jobs/checks.py": "def not_too_early(rows):\n    return rows['dep_delay'] > -25\n",
}


def damaged(text: str, day: str) -> str:
    """The file of a day as a broken supplier lands it."""
    rows = list(csv.reader(io.StringIO(text)))
    header, lines = rows[0], rows[1:]
    if day == DOUBLED:
        lines += lines
    elif day == NULLS:
        place = header.index("dep_delay")
        lines = [[*line[:place], "NA", *line[place + 1 :]] for line in lines]
    elif day == HALF:
        lines = lines[::2]
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([header, *lines])
    return out.getvalue()


@pytest.fixture
def root(tmp_path) -> Path:
    folder = write(tmp_path, FILES)
    for file in land_days(folder / "landing", date(2013, 1, 1), date(2013, 1, 31)):
        day = f"{file.stem[:4]}-{file.stem[4:6]}-{file.stem[6:8]}"
        if file.parent.name == "flights" and day in BAD:
            (folder / "clean").mkdir(exist_ok=True)
            (folder / "clean" / file.name).write_text(file.read_text())
            file.write_text(damaged(file.read_text(), day))
    texts = [file.read_text() for file in (folder / "landing/flights").iterdir()]
    codes = {line["carrier"] for text in texts for line in csv.DictReader(io.StringIO(text))}
    (folder / "carriers.csv").write_text("code\n" + "".join(f"{code}\n" for code in sorted(codes)))
    return folder


def rows(path: Path) -> list[dict]:
    return pa.table(DeltaTable(path).scan()).to_pylist()


def counts(path: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in rows(path):
        found[str(row["day"])] = found.get(str(row["day"]), 0) + 1
    return found


def quarantined(root: Path) -> list[tuple[str, str]]:
    return sorted((str(row["day"]), row["_rule"]) for row in rows(root / "warehouse/flights_quarantine"))


def test_three_days_are_withheld_and_the_rest_of_the_month_flows(spark, root):
    good = [day for day in DAYS if day not in BAD]
    summary = Project.load(root).run(spark, check=False)
    assert not summary.ok
    assert {run.asset: run.status for run in summary.runs} == {"flights": "success", "daily_delays": "success"}
    assert sorted(counts(root / "warehouse/flights")) == sorted(counts(root / "warehouse/daily_delays")) == good
    assert quarantined(root) == [("2013-01-11", "not too early"), ("2013-01-29", "not too early")]

    by_day = {each["partitions"]["ranges"][0][:10]: each["rules"] for each in withheld_document(root, "flights")}
    assert {day: sorted(each["rule"] for each in rules) for day, rules in by_day.items()} == {
        DOUBLED: ["row_count(min 1, change -40%..+40%)", "unique(carrier, flight, origin, scheduled)"],
        NULLS: ["not_null(dep_delay)"],
        HALF: ["row_count(min 1, change -40%..+40%)"],
    }
    (nulls,) = by_day[NULLS]
    assert (nulls["failing"], nulls["checked"]) == (901, 901)
    (doubled,) = [each for each in by_day[DOUBLED] if each["rule"].startswith("unique")]
    assert doubled["failing"] == 2 * 902
    assert doubled["samples"] == []  # nobody asked for any
    samples = nulls["samples"]
    assert len(samples) == 5
    assert all(sample["tail"] == "•••" and sample["dep_delay"] == "NULL" for sample in samples)
    waiting = [
        each.reason for each in Project.load(root).plan().waiting if each.asset == "daily_delays" and not each.quiet
    ]
    assert any("withheld" in reason and "not_null(dep_delay)" in reason for reason in waiting)

    assert Project.load(root).run(spark, check=False).runs == ()
    Project.load(root).assets.accept("flights", HALF, reason="a strike")
    (root / f"landing/flights/{DOUBLED.replace('-', '')}.csv").write_text(
        (root / f"clean/{DOUBLED.replace('-', '')}.csv").read_text()
    )
    Project.load(root).run(spark, check=False)
    assert sorted(counts(root / "warehouse/daily_delays")) == [day for day in DAYS if day != NULLS]
    flights = counts(root / "warehouse/flights")
    assert (flights[DOUBLED], flights[HALF], NULLS in flights) == (902, 449, False)
    for version in range(DeltaTable(root / "warehouse/flights").version() + 1):
        table = DeltaTable(root / "warehouse/flights", version=version)
        seen = [row["dep_delay"] for row in pa.table(table.scan()).to_pylist() if str(row["day"]) == NULLS]
        assert seen == []


def withheld_document(root: Path, asset: str) -> list[dict]:
    project = Project.load(root)
    (status,) = [each for each in project.status() if each.asset == asset]
    return status_document(status, project.spec)["withheld"]
