"""What comes out as it was is current and no news: a small real project."""

from __future__ import annotations

import json
from datetime import date

import pytest
from deltalake import DeltaTable

from sparkassets import Project
from sparkassets.cli import main
from tests.depth import deep
from tests.e2e.projects import rows, sell, stamps, write

pytestmark = pytest.mark.spark
DAILY = "partition: {by: day, column: day}\nsql: SELECT day, %s FROM {{ inlets.%s }} GROUP BY day\n"
PROJECT_FILE = "project: shop\nstate: ./state\nwarehouse: ./warehouse\nassets: [assets/]\ndefaults: %s\n"
PROJECT = {
    "project.yml": PROJECT_FILE % "{retries: 0, unchanged: skip}",
    "assets/sales.yml": "asset: sales\nsource: delta\npath: sales\npartition: {by: day, column: day}\n",
    "assets/level.yml": "asset: level\n" + DAILY % ("sum(amount) DIV 100 AS level", "sales"),
    "assets/copy.yml": "asset: copy\n" + DAILY % ("max(level) AS level", "level"),
    "assets/report.yml": "asset: report\nsql: SELECT sum(level) AS level FROM {{ inlets.copy }}\n",
}
FIRST, SECOND = date(2025, 1, 1), date(2025, 1, 2)


@pytest.fixture
def home(tmp_path, spark, monkeypatch):
    """A project that has computed two days."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, PROJECT)
    sell(tmp_path / "sales", (1, "2025-01-01", 110), (2, "2025-01-02", 220))
    assert main(["run", "--project", "."]) == 0
    return tmp_path


def files(home, asset):
    return set(DeltaTable(home / "warehouse" / asset).file_uris())


def run_json(capsys, *arguments):
    capsys.readouterr()
    assert main([*arguments, "--project", ".", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.alike
def test_what_came_out_as_it_was_ends_there(home, capsys):
    before = files(home, "level")
    sell(home / "sales", (3, "2025-01-01", 5), (4, "2025-01-02", 5))
    runs = run_json(capsys, "run")["runs"]
    assert [(run["asset"], run["rows"], run["unchanged"]) for run in runs] == [("level", 2, 2)]
    assert files(home, "level") == before
    assert len([*(home / "warehouse" / "level").glob("level-*")]) == 1
    assert [marker["partitions"] for marker in stamps(home / "warehouse" / "level")] == [["2025-01-01..2025-01-02"]] * 2
    assert [event["asset"] for event in run_json(capsys, "events", "list")] == [
        "sales",
        "level",
        "copy",
        "report",
        "sales",
    ]
    assert run_json(capsys, "runs", "--asset", "level")[-1]["unchanged"] == 2
    assert Project.load(home).run().runs == ()


@pytest.mark.alike
def test_only_the_partitions_that_changed_are_news(home, capsys):
    before = files(home, "level")
    sell(home / "sales", (3, "2025-01-01", 5), (4, "2025-01-02", 500))
    capsys.readouterr()
    assert main(["run", "--project", "."]) == 0
    printed = capsys.readouterr()
    assert "success, unchanged: 1 of 2 partitions" in printed.err
    runs = {run["asset"]: run for run in run_json(capsys, "runs")[-3:]}
    assert {name: run["partitions"] and run["partitions"]["count"] for name, run in runs.items()} == {
        "level": 2,
        "copy": 1,
        "report": None,
    }
    assert len(files(home, "level") & before) == 1
    assert rows(home / "warehouse" / "copy", "day", "level") == [(FIRST, 1), (SECOND, 7)]
    assert rows(home / "warehouse" / "report", "level") == [(8,)]


@pytest.mark.alike
def test_by_default_every_success_is_an_update(home, capsys):
    """A producer on a timetable triggers its consumer at each tick, whatever rows come out."""
    write(
        home,
        {
            "project.yml": PROJECT_FILE % "{retries: 0}",
            "assets/beat.yml": "asset: beat\nschedule: '@hourly'\nsql: SELECT 1 AS n\n",
            "assets/heard.yml": "asset: heard\nschedule: beat\nsql: SELECT n FROM {{ inlets.beat }}\n",
        },
    )
    for hour in range(3):
        runs = run_json(capsys, "run", "--select", "beat,heard", "--at", f"2025-01-03T0{hour}:30")["runs"]
        assert [(run["asset"], run["unchanged"]) for run in runs] == [("beat", 0), ("heard", 0)]


@pytest.mark.deep
def test_an_asset_may_publish_where_the_project_skips(home, capsys):
    write(home, {"assets/level.yml": PROJECT["assets/level.yml"] + "unchanged: publish\n"})
    sell(home / "sales", (3, "2025-01-01", 5))
    assert [(run["asset"], run["unchanged"]) for run in run_json(capsys, "run")["runs"]] == [
        ("level", 0),
        ("copy", 1),
    ]


@pytest.mark.deep
def test_by_force_the_same_is_no_news_either(home, capsys):
    runs = run_json(capsys, "backfill", "level", "--partition", "2025-01-01", "--force", "--downstream")["runs"]
    assert [(run["asset"], run["unchanged"]) for run in runs] == [("level", 1)]


@pytest.mark.alike
def test_an_asset_without_partitions_is_one_partition(home, capsys):
    runs = run_json(capsys, "backfill", "report", "--force")["runs"]
    assert [(run["asset"], run["rows"], run["unchanged"]) for run in runs] == [("report", 1, 1)]


def shuffle(home, seed, more):
    """The levels, of 50 places each, in another order of rows."""
    levels = "SELECT * FROM {{ inlets.copy }}, range(50)"
    write(home, {"assets/report.yml": f"asset: report\n{more}sql: {levels} ORDER BY hash(id, {seed})\n"})


@pytest.mark.alike
@pytest.mark.parametrize("commit", ["", deep("commit: spark\n")])
def test_rows_in_another_order_are_the_same_where_that_is_asked(home, capsys, commit):
    shuffle(home, 0, "")
    run_json(capsys, "backfill", "report", "--force")
    publish = "unchanged: publish\n" + commit
    for seed, more, expected in [(1, publish, 0), (2, commit, 1), (3, commit, 1), (4, publish, 0)]:
        shuffle(home, seed, more)
        runs = run_json(capsys, "backfill", "report", "--force")["runs"]
        assert [(run["rows"], run["unchanged"]) for run in runs] == [(100, expected)], seed


@pytest.mark.spark_alone  # commits by it
def test_of_what_spark_commits_the_partitions_are_told_apart(home, capsys):
    write(home, {"assets/level.yml": PROJECT["assets/level.yml"] + "commit: spark\n"})
    sell(home / "sales", (3, "2025-01-01", 5), (4, "2025-01-02", 500))
    runs = {run["asset"]: run for run in run_json(capsys, "run")["runs"]}
    assert [runs["level"]["unchanged"], runs["copy"]["partitions"]["count"]] == [1, 1]
    assert rows(home / "warehouse" / "copy", "day", "level") == [(FIRST, 1), (SECOND, 7)]
    assert Project.load(home).run().runs == ()


@pytest.mark.deep
def test_an_asset_that_spark_commits_without_partitions(home, capsys):
    write(home, {"assets/report.yml": PROJECT["assets/report.yml"] + "commit: spark\n"})
    assert [run["unchanged"] for run in run_json(capsys, "backfill", "report", "--force")["runs"]] == [1]
    sell(home / "sales", (4, "2025-01-02", 500))
    assert {run["asset"]: run["unchanged"] for run in run_json(capsys, "run")["runs"]} == {
        "level": 0,
        "copy": 0,
        "report": 0,
    }
