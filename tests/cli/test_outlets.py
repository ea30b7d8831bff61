"""Multi-assets on the command line: runs go by the asset, data by its outlets."""

import pytest

pytestmark = pytest.mark.usefixtures("engine")

SPLIT = """
asset: split
partition: {by: day, column: day}
outlets:
  small: {sql: "SELECT * FROM {{ inlets.daily_revenue }} WHERE revenue < 5"}
  large: {sql: "SELECT * FROM {{ inlets.daily_revenue }} WHERE revenue >= 5"}
"""


@pytest.fixture(autouse=True)
def split(shop):
    (shop / "assets" / "split.yml").write_text(SPLIT)
    (shop / "assets" / "sum.yml").write_text("asset: sum\n")
    (shop / "assets" / "sum.sql").write_text("SELECT sum(revenue) AS revenue FROM {{ inlets.large }}")


def test_a_run_of_the_asset_is_told_once_and_followed_by_what_reads_its_outlets(run_cli, run_json, engine):
    found = run_json("run")
    ran = [run["asset"] for run in found["runs"]]
    assert ran.count("split") == 1
    assert ran.index("split") < ran.index("sum")
    assert not {"small", "large"} & set(ran)
    assert len(engine.data("small")) == len(engine.data("large")) == 1
    events = [event["asset"] for event in run_json("events", "list")]
    assert events.count("small") == events.count("large") == 1
    assert "split" not in events
    assert [run["asset"] for run in run_json("runs", "--asset", "split")] == ["split"]
    rows = {row["asset"]: row for row in run_json("status")}
    assert rows["small"]["kind"] == "outlet of split"
    assert rows["small"]["partitions"] == rows["split"]["partitions"]
    assert rows["small"]["last_run"] == rows["split"]["last_run"]
    keys = [each["partition"] for each in run_json("partitions", "small")]
    assert keys == [each["partition"] for each in run_json("partitions", "split")]
    lineage = run_json("lineage", "large", "--partition", keys[0])
    assert lineage["origins"][0]["run"] == rows["split"]["last_run"]
    assert [read["asset"] for read in lineage["origins"][0]["reads"]] == ["daily_revenue"]
    down = run_json("impact", "split", "--partition", keys[0])["downstream"]
    assert [each["asset"] for each in down] == ["small", "large", "sum"]
    assert run_cli("explain", "large")[1].splitlines()[1].endswith("the runs of split write it")
    assert run_cli("explain", "split")[1].splitlines()[-1] == "└─ runs are committed by the driver"


def test_an_outlet_that_is_selected_brings_its_multi_asset(run_json):
    run_json("run", "--select", "daily_revenue")
    assert [run["asset"] for run in run_json("run", "--select", "small")["runs"]] == ["split"]


def test_the_graph_has_what_is_written(run_cli, run_json):
    edges = [(each["from"], each["to"]) for each in run_json("graph")["edges"] if each["kind"] == "writes"]
    assert edges == [("split", "small"), ("split", "large")]
    text = run_cli("graph")[1]
    assert "  writes small, large\n" in text
    assert "small  (outlet of split)\n" in text
    assert " ==> " in run_cli("graph", "--format", "mermaid")[1]
    assert "style=bold" in run_cli("graph", "--format", "dot")[1]


@pytest.mark.parametrize(
    ("args", "verb"),
    [
        (("backfill", "small", "--partition", "2025-03-01"), "backfill"),
        (("backfill", "small", "--partition", "2025-03-01", "--dry-run"), "backfill"),
        (("mark", "small", "--partition", "2025-03-01", "--done", "--reason", "x"), "mark"),
        (("pause", "small"), "pause"),
        (("resume", "small"), "resume"),
    ],
)
def test_what_has_to_do_with_runs_goes_by_the_asset(run_cli, args, verb):
    code, _, err = run_cli(*args)
    told = " ".join(err.split())
    assert code == 2
    assert "'small' is an outlet, and is written by the runs of 'split'" in told
    assert f"hint: `sparkassets {verb} split`" in told


def test_nobody_tells_of_the_asset_itself(run_cli):
    code, _, err = run_cli("events", "add", "split")
    assert (code, "'split' is a multi-asset without data of its own" in err) == (2, True)
    assert "name 'small' or 'large'" in err
    assert run_cli("events", "add", "small", "--partition", "2025-03-01")[0] == 0


def test_a_mark_and_a_pause_of_the_asset(run_cli, run_json):
    run_json("run")
    keys = [each["partition"] for each in run_json("partitions", "split")]
    assert run_cli("mark", "split", "--partition", keys[0], "--missing", "--reason", "wrong")[0] == 0
    assert run_json("partitions", "large")[0]["status"] == "missing"
    assert [run["asset"] for run in run_json("plan")["runs"]] == ["split"]
    assert run_cli("mark", "split", "--partition", keys[0], "--done", "--reason", "right")[0] == 0
    event = run_json("events", "list", "--last", "2")
    assert {each["asset"] for each in event} == {"small", "large"}
    assert run_cli("pause", "split")[0] == 0
    assert {row["asset"]: row["paused"] for row in run_json("status")}["small"]
