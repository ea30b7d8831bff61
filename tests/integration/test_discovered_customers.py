"""A model for each customer, discovered hourly (example 16): customers come and go over a week, reckoned in Python."""

import json
import shutil
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from sparkassets import Project

EXAMPLE = Path(__file__).parents[1] / "examples" / "16_customers_discovered_hourly"
LIST = """
import json
from pathlib import Path


def current_customers():
    return json.loads(Path(__file__).parents[1].joinpath("customers.json").read_text())


"""
MONDAY = datetime(2025, 3, 3, tzinfo=UTC)
HOURS = [MONDAY + timedelta(hours=n) for n in (1, 2, 25, 26, 49, 73, 99, 100, 120, 150)]
LISTED = {1: "a b", 2: "a b c", 25: "b c", 49: "b d e f", 73: "", 99: "", 100: "g", 120: "a b g", 150: "a"}
"""From that hour of the week on."""
pytestmark = pytest.mark.spark


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    copy = shutil.copytree(EXAMPLE, tmp_path / "example")
    code = copy / "jobs" / "models.py"
    code.write_text(LIST + code.read_text())
    (copy / "readings").mkdir()
    return copy


def rows(folder, asset):
    table = pa.table(DeltaTable(folder / "warehouse" / asset).scan())
    return sorted(tuple(row.values()) for row in table.to_pylist())


def ran(summary):
    return [(result.asset, result.partition_keys, result.status) for result in summary.runs]


class Week:
    """What the tables hold, by a reckoning of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.readings = defaultdict(list)
        self.ever: list[str] = []
        self.listed: list[str] = []

    def hour(self, number):
        """What happens until an hour: every customer that is listed was measured, and some that is not."""
        self.listed = LISTED.get(number, " ".join(self.listed)).split()
        fresh = {key: float(number + ord(key[0])) for key in [*self.listed, "stranger"]}
        for key, kwh in fresh.items():
            self.readings[key].append(kwh)
        lines = "".join(f"{key},{kwh}\n" for key, kwh in fresh.items())
        (self.folder / "readings" / f"{number:03}.csv").write_text(f"customer,kwh\n{lines}")
        (self.folder / "customers.json").write_text(json.dumps(self.listed))

    def models(self):
        return [(key, sum(self.readings[key]) / len(self.readings[key])) for key in sorted(self.listed)]


@pytest.mark.alike
def test_customers_come_and_go_over_a_week(spark, folder):
    project, week = Project.load(folder, env={}), Week(folder)
    known: set[str] = set()
    for at in HOURS:
        week.hour(int((at - MONDAY) / timedelta(hours=1)))
        summary = project.run(spark, at=at)
        known |= set(week.listed)
        covered = tuple(sorted(known)) if at > HOURS[0] else ("*",)
        assert ran(summary)[0] == ("energy_model", covered, "success")
        assert rows(folder, "energy_model") == week.models()
        assert rows(folder, "forecasts") == [(key, mean * 24) for key, mean in week.models()]
        assert project.partitions.statuses("energy_model", at=at) == [(key, "current") for key in sorted(known)]
        assert project.run(spark, at=at + timedelta(minutes=30)).runs == ()


FILES = """
asset: model_files
schedule: "@hourly"
strategy: every_instance
write: {publish: {keep: 2}}
partition: {segments: runtime, column: customer}
python: jobs.files:train
"""
TRAIN = """

def train(context):
    customers = current_customers()
    for key in customers:
        context.add_partition(key=key)
    own = [partition.segments.get("customer") for partition in context.partitions]
    for key in customers if own == [None] else [key for key in own if key in customers]:
        Path(context.outlets.model_files.path, f"{key}.model").write_text(f"{key} at {context.ts}")
    Path(context.outlets.model_files.path, "done").touch()
"""


def models_in(folder):
    """By customer what the newest iteration of its models holds."""
    table = pa.table(DeltaTable(folder / "warehouse" / "model_files").scan()).to_pylist()
    files = {row["customer"]: Path(row["path"], f"{row['customer']}.model") for row in table}
    return {key: file.read_text() if file.exists() else None for key, file in files.items()}


@pytest.mark.spark_alone  # changes a table as Sail cannot
def test_a_run_of_its_own_publishes_the_files_of_each_customer(spark, folder):
    (folder / "jobs" / "models.py").unlink()
    (folder / "jobs" / "files.py").write_text(LIST + TRAIN)
    for name in ("forecasts.yml", "forecasts.sql", "readings.yml"):
        (folder / name).unlink()
    (folder / "model_files.yml").write_text(FILES)
    project, known = Project.load(folder, env={}), set[str]()
    for hour, listed in {1: "a b", 2: "a b c", 3: "c d", 4: "c d"}.items():
        (folder / "customers.json").write_text(json.dumps(listed.split()))
        summary = project.run(spark, at=MONDAY + timedelta(hours=hour))
        known |= set(listed.split())
        each = [("*",)] if hour == 1 else [(key,) for key in sorted(known)]
        assert sorted(result.partition_keys for result in summary.runs) == each
        at = f"{MONDAY + timedelta(hours=hour - 1):%Y-%m-%dT%H:%M:%S+00:00}"
        expected = {key: f"{key} at {at}" if key in listed.split() else None for key in known}
        assert models_in(folder) == expected
        assert project.run(spark, at=MONDAY + timedelta(hours=hour, minutes=30)).runs == ()
