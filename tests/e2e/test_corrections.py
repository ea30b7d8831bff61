"""What follows from a failure, from a correction, and from nothing, in a small real project."""

from __future__ import annotations

import shutil
from datetime import date

import pytest
from deltalake import DeltaTable

from sparkassets import Project
from sparkassets.cli import main
from tests.e2e.projects import rows, sell, stamps, write

pytestmark = pytest.mark.spark
DAILY = "partition: {by: day, column: day}\nsql: SELECT day, sum(amount) AS amount FROM {{ inlets.%s }} GROUP BY day\n"
PROJECT = {
    "project.yml": "project: shop\nstate: ./state\nwarehouse: ./warehouse\nassets: [assets/]\ndefaults: {retries: 0}\n",
    "assets/sales.yml": "asset: sales\nsource: delta\npath: sales\npartition: {by: day, column: day}\n",
    "assets/daily.yml": "asset: daily\n" + DAILY % "sales",
    "assets/copy.yml": "asset: copy\n" + DAILY % "daily",
    "assets/report.yml": "asset: report\nsql: SELECT sum(amount) AS amount FROM {{ inlets.copy }}\n",
    "assets/other.yml": "asset: other\n" + DAILY % "sales",
}
FIRST, SECOND = date(2025, 1, 1), date(2025, 1, 2)
BROKEN = DAILY.replace("sum(amount)", "sum(amount) + if(sum(amount) > 20, raise_error('too much'), 0)")


@pytest.fixture
def home(tmp_path, spark, monkeypatch):
    """A project that has computed one day."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, PROJECT)
    sell(tmp_path / "sales", (1, "2025-01-01", 10))
    assert main(["run", "--project", "."]) == 0
    return tmp_path


def ran(home, asset):
    """The partitions of each run that wrote, oldest first."""
    return [marker["partitions"] for marker in stamps(home / "warehouse" / asset)]


@pytest.mark.alike
def test_a_second_start_runs_nothing(home):
    assert Project.load(home).run().runs == ()


def test_a_corrected_day_recomputes_exactly_what_is_stale(home):
    sell(home / "sales", (2, "2025-01-02", 5))
    assert main(["run", "--project", "."]) == 0
    sell(home / "sales", (3, "2025-01-01", 1))
    assert main(["run", "--project", "."]) == 0
    for asset in ("daily", "copy", "other"):
        assert ran(home, asset) == [["2025-01-01"], ["2025-01-02"], ["2025-01-01"]]
        assert rows(home / "warehouse" / asset, "day", "amount") == [(FIRST, 11), (SECOND, 5)]
    assert rows(home / "warehouse" / "report", "amount") == [(16,)]
    assert Project.load(home).run().runs == ()


@pytest.mark.alike
def test_a_table_that_vanished_is_computed_again_as_a_whole_before_anything_reads_it(home, capsys):
    sell(home / "sales", (2, "2025-01-02", 5))
    assert main(["run", "--project", "."]) == 0
    shutil.rmtree(home / "warehouse" / "daily")
    capsys.readouterr()
    assert main(["plan", "--project", "."]) == 0
    assert f"2 partitions missing; its table at {home}/warehouse/daily was deleted" in " ".join(
        capsys.readouterr().out.split()
    )
    assert main(["run", "--project", "."]) == 0
    for asset in ("daily", "copy"):
        assert rows(home / "warehouse" / asset, "day", "amount") == [(FIRST, 10), (SECOND, 5)]
    assert rows(home / "warehouse" / "report", "amount") == [(15,)]
    assert Project.load(home).run().runs == ()


@pytest.mark.alike
def test_a_failed_asset_holds_up_what_reads_it_and_nothing_else_until_it_is_mended(home, capsys):
    schema = DeltaTable(home / "warehouse" / "daily").schema()
    write(home, {"assets/daily.yml": "asset: daily\n" + BROKEN % "sales"})
    sell(home / "sales", (2, "2025-01-02", 50))
    capsys.readouterr()
    assert main(["run", "--project", "."]) == 1
    said = capsys.readouterr().err
    assert "2 runs: 1 success, 1 failed" in said
    assert "daily failed: " in said

    assert rows(home / "warehouse" / "daily", "day", "amount") == [(FIRST, 10)]
    assert DeltaTable(home / "warehouse" / "daily").schema() == schema
    assert len(Project.load(home).history.events(asset="daily")) == 1
    assert ran(home, "other") == [["2025-01-01"], ["2025-01-02"]]
    assert ran(home, "copy") == [["2025-01-01"]]
    waiting = {each.asset: each.reason for each in Project.load(home).plan().waiting}
    assert "daily" in waiting["copy"]
    assert "copy" in waiting["report"]

    write(home, {"assets/daily.yml": PROJECT["assets/daily.yml"]})
    assert main(["run", "--project", "."]) == 0
    for asset in ("daily", "copy", "other"):
        assert ran(home, asset) == [["2025-01-01"], ["2025-01-02"]]
    assert rows(home / "warehouse" / "report", "amount") == [(60,)]
    assert Project.load(home).run().runs == ()
