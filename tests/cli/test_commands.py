"""Every command on a real project with files and a journal, without Spark."""

import json
import os
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from sparkassets.core.spec.file_schema import json_schema

pytestmark = pytest.mark.usefixtures("shop", "engine")
DAYS = "2025-01-01..2025-01-02"


def lines(text):
    return [line.rstrip() for line in text.splitlines()]


# ------------------------------------------------------------------ validate, schema, graph


def test_validate_counts(run_cli, run_json):
    assert run_cli("validate") == (0, "project 'shop' is valid: 2 assets, 1 source\n", "")
    assert run_json("validate") == {"problems": [], "warnings": []}


def test_a_landing_folder_that_is_not_there_is_told_by_validate_plan_and_status(shop, run_cli, run_json):
    (shop / "assets/prices.yml").write_text("asset: a\nsource: csv\npath: landign/orders\n")
    message = f"the source 'a' has no folder '{shop / 'landign/orders'}'"
    hint = f"did you mean '{shop / 'landing'}'? if not, create the folder: the source then waits for its data"
    place = {"file": "conf/assets/prices.yml", "line": 1, "column": 8}
    assert run_json("validate") == {"problems": [], "warnings": [{**place, "message": message, "hint": hint}]}
    code, _, err = run_cli("validate")
    assert (code, err) == (0, f"warning: conf/assets/prices.yml:1:8: {message}\n  hint: {hint}\n")
    waiting = {each["asset"]: each["reason"] for each in run_json("plan")["waiting"]}
    assert waiting["a"] == f"{message}; {hint}"
    assert {each["asset"]: each["error"] for each in run_json("status")}["a"] == f"{message}; {hint}"
    assert "landign" in run_cli("status")[1]


def test_validate_refuses_sql_that_cannot_run_and_plan_leaves_it_to_spark(shop, run_cli):
    (shop / "assets/sums.yml").write_text("asset: sums\nsql: SELECT sum(1 AS n FROM {{ inlets.orders }}\n")
    code, out, err = run_cli("validate")
    assert (code, out) == (2, "")
    assert err.startswith("conf/assets/sums.yml:2:19: the SQL cannot run: expected ) before 'AS'")
    assert run_cli("plan")[0] == 0


def test_validate_warns_of_what_is_valid_and_probably_not_meant(shop, run_cli, run_json):
    (shop / "assets/prices.yml").write_text(
        "asset: a\nsource: true\nuri: x-p://p\n---\nasset: b\nsource: true\nuri: x-p://P/\n"
    )
    message = "'x-p://P/' is not the dataset 'x-p://p' of asset 'a': a slash at the end and case differ"
    hint = "URIs are compared as written; if you mean the same dataset, write 'x-p://p'"
    for _ in range(2):  # compiled, and from the cache
        code, out, err = run_cli("validate")
        assert (code, out) == (0, "project 'shop' is valid: 2 assets, 3 sources\n")
        assert (
            err
            == f"""\
warning: conf/assets/prices.yml:7:6: {message}
    uri: x-p://P/
         ^^^^^^^^
  hint: {hint}
"""
        )
    place = {"file": "conf/assets/prices.yml", "line": 7, "column": 6}
    assert run_json("validate") == {"problems": [], "warnings": [{**place, "message": message, "hint": hint}]}


def test_validate_tells_every_problem_at_once(shop, run_cli):
    (shop / "assets/orders.yml").write_text("asset: orders\nsource: csv\npath: x.csv\nshedule: manual\n")
    (shop / "assets/best_shops.sql").write_text("SELECT * FROM {{ inlets.daily_revenu }}\n")
    code, out, err = run_cli("validate")
    assert (code, out) == (2, "")
    assert "conf/assets/orders.yml:4:1: " in err
    assert "conf/assets/best_shops.sql:1:" in err
    assert "did you mean 'daily_revenue'?" in err
    assert lines(err)[-1].endswith(" problems in the project's files")
    code, out, err = run_cli("validate", "--json")
    problems = json.loads(out)["problems"]
    assert (code, err) == (2, "")
    assert {(item["file"], item["line"]) for item in problems} >= {
        ("conf/assets/orders.yml", 4),
        ("conf/assets/best_shops.sql", 1),
    }
    assert all(set(item) == {"file", "line", "column", "message", "hint"} for item in problems)


def test_validate_asks_a_table_that_others_write_for_its_columns(shop, run_cli):
    (shop / "assets/rates.yml").write_text("asset: rates\nsource: delta\npath: rates\n")
    (shop / "assets/today.yml").write_text("asset: today\nsql: SELECT {{ inlets.rates.rat }} FROM {{ inlets.rates }}\n")
    assert run_cli("validate")[0] == 0  # there is no table yet
    write_deltalake(str(shop / "rates"), pa.table({"day": ["2025-01-01"], "rate": [1.5]}))
    code, out, err = run_cli("validate")
    assert (code, out) == (2, "")
    assert "conf/assets/today.yml:2:29: the table of asset 'rates' has no column 'rat'\n" in err
    assert "did you mean 'rate'?" in err
    assert run_cli("plan")[0] == 0  # only `validate` asks


@pytest.mark.parametrize("verb", ["plan", "run", "status", "runs", "validate"])
def test_a_folder_without_a_project_is_invalid(verb, tmp_path, monkeypatch, run_cli):
    monkeypatch.chdir(tmp_path)
    code, out, err = run_cli(verb, "--project", "nowhere")
    assert (code, out) == (2, "")
    assert "nowhere" in err


def test_the_project_is_in_conf_or_else_here(shop, monkeypatch, run_cli):
    valid = (0, "project 'shop' is valid: 2 assets, 1 source\n", "")
    assert run_cli("validate") == valid
    monkeypatch.chdir(shop)
    assert run_cli("validate") == valid
    monkeypatch.chdir("assets")
    code, out, err = run_cli("validate")
    assert (code, out) == (2, "")
    assert lines(err) == [
        "error: no project found: neither conf/project.yml nor ./project.yml exists",
        "  hint: give the project's folder by --project, or create one: sparkassets init",
    ]
    assert "[default: (conf, or the current folder)]" in " ".join(run_cli("validate", "--help")[1].split())


@pytest.mark.parametrize(("theirs", "level"), [(None, "error"), ("debug", "debug")])
def test_deltalake_logs_errors_only_unless_it_is_told_otherwise(theirs, level, monkeypatch, run_cli):
    monkeypatch.setenv("RUST_LOG", theirs or "")
    if theirs is None:
        monkeypatch.delenv("RUST_LOG")
    run_cli("schema")
    assert os.environ["RUST_LOG"] == level


def test_the_schema_is_json_with_or_without_the_option(run_cli, run_json, tmp_path):
    assert json.loads(run_cli("schema")[1]) == run_json("schema") == json_schema()
    file = tmp_path / "schema.json"
    assert run_cli("schema", "--out", str(file)) == (0, "", f"wrote {file}\n")
    assert file.read_text() == run_cli("schema")[1]
    assert run_json("schema", "--out", str(file)) == {"out": str(file)}
    code, _, err = run_cli("schema", "--out", str(tmp_path / "no/schema.json"))
    assert (code, err) == (2, f"error: cannot write '{tmp_path}/no/schema.json': No such file or directory\n")


def test_the_graph_in_its_forms(run_cli, run_json):
    assert lines(run_cli("graph")[1])[0] == "orders  (csv source, by day in UTC)"
    assert run_cli("graph", "--format", "mermaid")[1].startswith('flowchart LR\n  n0[("orders")]\n')
    assert run_cli("graph", "--format", "dot")[1].startswith("digraph assets {\n")
    assert run_json("graph")["edges"] == [
        {"from": "orders", "to": "daily_revenue", "kind": "reads", "gates": []},
        {"from": "daily_revenue", "to": "best_shops", "kind": "reads", "gates": []},
    ]


# ------------------------------------------------------------------ plan, explain, run


def test_plan_says_what_runs_and_what_waits_and_records_nothing(shop, run_cli, run_json):
    code, out, err = run_cli("plan", "--at", "2025-01-03T06:00")
    assert (code, err) == (0, "")
    assert lines(out) == [
        "plan at 2025-01-03T06:00Z",
        "",
        "runs 1 asset:",
        "  asset          partitions              reason",
        "  daily_revenue  2025-01-01..2025-01-02  2 partitions missing",
        "",
        "waits:",
        "  asset       reason",
        "  best_shops  waits for daily_revenue 2025-01-01..2025-01-02, which runs first",
    ]
    assert not (shop / "state").exists()
    (run,) = run_json("plan")["runs"]
    assert run["partitions"] == {"ranges": [DAYS], "count": 2}


def test_plan_of_a_selection(run_cli, run_json):
    document = run_json("plan", "--select", "best_shops")
    assert document["runs"] == []
    assert ("daily_revenue", "not selected") in [(item["asset"], item["reason"]) for item in document["waiting"]]
    assert [run["asset"] for run in run_json("plan", "--select", "+best_shops")["runs"]] == ["daily_revenue"]
    code, _, err = run_cli("plan", "--select", "daily_revenu+")
    assert code == 2
    assert err == "error: --select: no asset 'daily_revenu' in project 'shop'\n  hint: did you mean 'daily_revenue'?\n"


def test_a_time_that_is_none_is_refused(run_cli):
    code, out, err = run_cli("plan", "--at", "yesterday")
    assert (code, out) == (2, "")
    assert err.startswith("error: 'yesterday' is not an instant; expected an ISO date or time")


def test_explain_draws_a_tree(run_cli, run_json):
    _, out, _ = run_cli("explain", "daily_revenue")
    assert any("runs now 2025-01-01..2025-01-02: 2 partitions missing" in line for line in lines(out))
    *_, history, committer = lines(out)
    assert history in ("├─ never ran", "|- never ran")
    assert committer in ("└─ runs are committed by the driver", "`- runs are committed by the driver")
    document = run_json("explain", "daily_revenue", "--partition", "2025-01-01")
    assert (document["text"], document["holds"]) == ("daily_revenue", True)
    code, _, err = run_cli("explain", "daily")
    assert (code, err) == (
        2,
        "error: no asset 'daily' in project 'shop'\n  hint: known are best_shops, daily_revenue, orders\n",
    )
    code, _, err = run_cli("explain", "daily_revenue", "--partition", "2025")
    assert (code, err) == (2, "error: '2025' is not a partition key by day; expected one such as 2013-01-05\n")


def test_run_runs_until_nothing_is_due(engine, run_cli):
    code, out, err = run_cli("run")
    assert (code, out) == (0, "")
    assert lines(err)[0].endswith("Z starting Spark")
    assert f"Z started daily_revenue {DAYS}: 2 partitions missing; daily_revenue-20" in lines(err)[1]
    assert lines(err)[-1] == "2 runs: 2 success"
    assert [len(engine.data(name)) for name in ("daily_revenue", "best_shops")] == [1, 1]
    assert run_cli("run") == (0, "", "nothing was due\n")


def test_run_prints_one_document(run_json):
    document = run_json("run")
    assert [(run["asset"], run["status"], run["rows"]) for run in document["runs"]] == [
        ("daily_revenue", "success", 5),
        ("best_shops", "success", 5),
    ]
    assert (document["faults"], document["interrupted"]) == ([], False)


def test_a_failed_run_is_told_with_its_log_and_exits_1(shop, engine, run_cli):
    def broken(_):
        raise ValueError("no such column\nmore of it")

    engine.hooks["daily_revenue", "compute"] = broken
    (shop / "project.yml").write_text((shop / "project.yml").read_text() + "defaults: {retries: 0}\n")
    code, _, err = run_cli("run")
    assert code == 1
    assert "daily_revenue failed: ValueError: no such column" in lines(err)
    assert "more of it" not in err
    assert "Traceback" not in err
    (log,) = (shop / "state/logs").iterdir()
    assert f"  details: {log}" in lines(err)
    assert "more of it" in log.read_text()
    assert lines(err)[-2:] == [
        "  asset       reason",
        "  best_shops  waits for daily_revenue 2025-01-01..2025-01-02, which failed",
    ]


# ------------------------------------------------------------------ what is known


def test_nothing_is_known_before_the_first_run(run_cli, run_json):
    assert run_cli("runs") == (0, "no runs\n", "")
    assert run_cli("events", "list") == (0, "no events\n", "")
    assert (run_json("runs"), run_json("events", "list")) == ([], [])
    assert lines(run_cli("status")[1])[2:] == [
        "  daily_revenue                          2 missing",
        "  best_shops                             never",
    ]


def test_status_after_a_run(run_cli, run_json):
    run_cli("run")
    assert [(item["asset"], item["partitions"] and item["partitions"]["current"]) for item in run_json("status")] == [
        ("orders", 2),
        ("daily_revenue", 2),
        ("best_shops", None),
    ]
    assert [item["asset"] for item in run_json("status", "--select", "*_shops,orders")] == ["orders", "best_shops"]
    table = lines(run_cli("status")[1])
    assert table[2].startswith("  daily_revenue  2025-01-01..2025-01-02  2 current  20")
    assert table[3].startswith("  best_shops                             success    20")


def test_runs_are_listed(run_cli, run_json):
    run_cli("run")
    runs = run_json("runs")
    assert [(run["asset"], run["status"]) for run in runs] == [("daily_revenue", "success"), ("best_shops", "success")]
    assert [run["asset"] for run in run_json("runs", "--last", "1")] == ["best_shops"]
    assert [run["asset"] for run in run_json("runs", "--asset", "daily_revenue")] == ["daily_revenue"]
    assert run_json("runs", "--status", "failed") == []
    titles, daily, best = lines(run_cli("runs")[1])
    assert " ".join(titles.split()) == "started run partitions interval status rows seconds"
    told = "  2025-01-01..2025-01-02  2025-01-01T00:00Z to 2025-01-03T00:00Z  success     5 "
    assert f"  {runs[0]['run']}{told}" in daily
    assert f"  {runs[1]['run']} " in best
    code, _, err = run_cli("runs", "--asset", "x")
    assert (code, err.splitlines()[0]) == (2, "error: no asset 'x' in project 'shop'")


def test_failed_runs_are_listed_with_their_cause_below(shop, engine, run_cli, run_json):
    def broken(_):
        raise ValueError("no such column")

    engine.hooks["best_shops", "compute"] = broken
    (shop / "project.yml").write_text((shop / "project.yml").read_text() + "defaults: {retries: 0}\n")
    run_cli("run")
    (run,) = run_json("runs", "--status", "failed")
    assert (run["asset"], run["error"], run["rows"]) == ("best_shops", "ValueError: no such column", None)
    assert lines(run_cli("runs")[1])[-3:] == [
        "",
        f"{run['run']} failed: ValueError: no such column",
        f"  details: {run['details']}",
    ]
    assert lines(run_cli("status")[1])[-3:] == [
        "  best_shops                             failed",
        "",
        "best_shops failed: ValueError: no such column",
    ]


def test_what_a_run_fails_of_is_recorded_whatever_text_it_is(shop, engine, run_cli, run_json):
    def broken(_):
        raise ValueError(b"caf\xe9.csv".decode(errors="surrogateescape"))

    engine.hooks["best_shops", "compute"] = broken
    (shop / "project.yml").write_text((shop / "project.yml").read_text() + "defaults: {retries: 0}\n")
    assert run_cli("run")[0] == 1
    (run,) = run_json("runs", "--status", "failed")
    assert run["error"] == "ValueError: caf\\udce9.csv"
    assert "ValueError: caf\\udce9.csv" in Path(run["details"]).read_text(encoding="utf-8")


def test_partitions_share_lines(shop, run_cli, run_json):
    run_cli("run")
    (shop / "landing/orders/2025-01-04.csv").write_text("order_id,shop,amount\n")
    assert lines(run_cli("partitions", "daily_revenue")[1]) == [
        "  partitions              count  status",
        "  2025-01-01..2025-01-02      2  current",
        "  2025-01-03..2025-01-04      2  missing",
    ]
    current, missing = run_json("partitions", "daily_revenue")[1:3]
    assert len(current.pop("definition")) == 16
    assert current == {"partition": "2025-01-02", "status": "current"}
    assert missing == {"partition": "2025-01-03", "status": "missing", "definition": None}
    code, _, err = run_cli("partitions", "best_shops")
    assert (code, err) == (
        2,
        "error: asset 'best_shops' has no partitions\n  hint: `sparkassets status` shows the asset\n",
    )


def test_a_line_of_partitions_spans_no_gap(shop, run_cli, run_json):
    (shop / "landing/orders/2025-01-05.csv").write_text("order_id,shop,amount\n")
    assert lines(run_cli("partitions", "orders")[1]) == [
        "  partitions              count  status",
        "  2025-01-01..2025-01-02      2  there",
        "  2025-01-05                  1  there",
    ]
    assert [each["partition"] for each in run_json("partitions", "orders")] == [
        "2025-01-01",
        "2025-01-02",
        "2025-01-05",
    ]


def test_partitions_of_nothing(shop, run_cli):
    for file in (shop / "landing/orders").iterdir():
        file.unlink()
    assert run_cli("partitions", "daily_revenue") == (0, "no partition is wanted or present yet\n", "")


# ------------------------------------------------------------------ events, backfill


def test_an_event_is_announced_and_listed(run_cli, run_json):
    event = run_json("events", "add", "x-drop://inbox", "--extra", "rows=3", "--extra", "note=ok", "--extra", "id=010")
    assert {key: event[key] for key in ("asset", "uri", "partitions", "extra", "run")} == {
        "asset": None,
        "uri": "x-drop://inbox",
        "partitions": [],
        "extra": {"rows": 3, "note": "ok", "id": "010"},
        "run": None,
    }
    named = run_json("events", "add", "daily_revenue", "--partition", "2025-01-01")
    assert (named["asset"], named["partitions"]) == ("daily_revenue", ["2025-01-01..2025-01-01"])
    assert run_json("events", "list") == [event, named]
    assert run_json("events", "list", "--last", "1") == [named]
    assert run_json("events", "list", "--asset", "daily_revenue") == [named]
    table = lines(run_cli("events", "list")[1])
    assert table[0].split() == ["event", "at", "dataset", "partitions", "extra"]
    assert table[1].endswith("  x-drop://inbox              id=010, note=ok, rows=3")


def test_an_event_of_nothing_known_is_refused(shop, run_cli):
    code, _, err = run_cli("events", "add", "order")
    assert (code, err) == (2, "error: no asset 'order' in project 'shop'\n  hint: did you mean 'orders'?\n")
    assert not (shop / "state").exists()


def test_backfill_computes_what_is_missing(run_json):
    document = run_json("backfill", "daily_revenue", "--partition", "2025-01-02")
    (run,) = document["runs"]
    assert (run["asset"], run["kind"], run["partitions"]["ranges"]) == (
        "daily_revenue",
        "backfill",
        ["2025-01-02..2025-01-02"],
    )
    assert [item["status"] for item in run_json("partitions", "daily_revenue")] == ["missing", "current"]


def test_backfill_downstream_runs_what_reads_it_and_what_it_triggers(shop, run_json):
    (shop / "assets/mail.yml").write_text("asset: mail\nsql: SELECT 1 AS one\nschedule: daily_revenue\n")
    document = run_json("backfill", "daily_revenue", "--partition", DAYS, "--downstream")
    assert {run["asset"] for run in document["runs"]} == {"daily_revenue", "best_shops", "mail"}


def test_a_rebuild_is_of_the_whole_table_or_is_refused(engine, run_cli, run_json):
    run_cli("run")
    document = run_json("backfill", "daily_revenue", "--rebuild")
    assert [run["partitions"]["ranges"] for run in document["runs"]] == [["2025-01-01..2025-01-02"]]
    assert engine.data("daily_revenue")[-1].order.rebuilds
    code, _, err = run_cli("backfill", "daily_revenue", "--rebuild", "--partition", DAYS)
    assert (code, err) == (
        2,
        "error: --rebuild excludes --partition, --segment, --interval and --all: it computes the whole table\n",
    )


def test_a_dry_backfill_is_a_plan(engine, run_cli, run_json):
    run_cli("run")
    code, out, err = run_cli("backfill", "daily_revenue", "--partition", DAYS, "--dry-run")
    assert (code, err) == (0, "")
    assert lines(out)[2:] == [
        "nothing is due",
        "",
        "nothing due:",
        "  asset          partitions              reason",
        "  daily_revenue  2025-01-01..2025-01-02  up to date (--force recomputes it)",
    ]
    forced = run_json("backfill", "daily_revenue", "--partition", DAYS, "--dry-run", "--force")
    assert [run["partitions"]["count"] for run in forced["runs"]] == [2]
    assert len(engine.data("daily_revenue")) == 1


def test_a_dry_backfill_tells_what_would_be_due_after_it(engine, shop, run_cli, run_json):
    (shop / "assets/weekly.yml").write_text("asset: weekly\npartition: {by: week, column: week}\n")
    (shop / "assets/weekly.sql").write_text("SELECT 1 FROM {{ inlets.daily_revenue }}\n")
    run_cli("run")
    args = ("backfill", "daily_revenue", "--partition", DAYS, "--dry-run", "--downstream")
    assert lines(run_cli(*args, "--force")[1])[-4:] == [
        "would then be due downstream:",
        "  asset       partitions    reads    takes",
        "  best_shops              unknown   ~0.0 s",
        "  weekly      2025-W01    unknown  unknown",
    ]
    assert [(each["asset"], each["partitions"]) for each in run_json(*args, "--force")["downstream"]] == [
        ("best_shops", None),
        ("weekly", {"ranges": ["2025-W01..2025-W01"], "count": 1}),
    ]
    assert lines(run_cli(*args)[1])[-1] == "nothing is downstream of it"
    assert run_json(*args)["downstream"] == []
    assert "downstream" not in run_json(*args[:-1])


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["daily_revenue"], "asset 'daily_revenue' has partitions: name them by --partition A..B, or pass --all"),
        (
            ["orders", "--partition", "2025-01-01"],
            "asset 'orders' is a source: others write it, so there is nothing to backfill",
        ),
        (
            ["daily_revenue", "--partition", "2025-01-01", "--interval", "2025-01-01..2025-01-02"],
            "asset 'daily_revenue' has partitions, but --interval is for assets without",
        ),
        (
            ["daily_revenue", "--partition", "2024-12-31..2025-01-01"],
            (
                "2024-12-31 of 'daily_revenue' can never have data: it lies outside the bounds that its inlets "
                "declare\n  hint: --force computes it anyway"
            ),
        ),
        (
            ["best_shops", "--interval", "2025-01-02..2025-01-01"],
            "the interval '2025-01-02..2025-01-01' ends before it starts",
        ),
    ],
)
def test_a_backfill_that_makes_no_sense_is_refused(engine, run_cli, args, message):
    code, out, err = run_cli("backfill", *args)
    assert (code, out, err) == (2, "", f"error: {message}\n")
    assert engine.started == 0


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["runs", "--last", "x"], "error: invalid value for '--last': 'x' is not a whole number\n"),
        (["runs", "--status", "suces"], "  hint: did you mean 'success'?\n"),
        (["runs", "--status", "x"], "  hint: `sparkassets runs --help` shows what it takes\n"),
    ],
)
def test_a_value_that_an_option_has_not(run_cli, args, message):
    code, out, err = run_cli(*args)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.usefixtures("engine")
def test_the_interval_of_a_backfill_is_in_the_zone_of_the_schedule(shop, run_json):
    (shop / "assets/report.yml").write_text(
        "asset: report\nschedule: {cron: '@daily', timezone: Asia/Tokyo}\nsql: SELECT 1 AS n\n"
    )
    (run,) = run_json("backfill", "report", "--interval", "2025-03-20..2025-03-21T00:00Z", "--dry-run")["runs"]
    assert run["data_interval"] == {"start": "2025-03-19T15:00:00Z", "end": "2025-03-21T00:00:00Z"}


# ------------------------------------------------------------------ state


def test_a_state_of_another_project_is_exit_3_for_every_command(shop, run_cli):
    run_cli("run")
    (shop / "project.yml").write_text((shop / "project.yml").read_text().replace("project: shop", "project: other"))
    for verb in (["plan"], ["run"], ["status"], ["runs"], ["events", "list"], ["partitions", "daily_revenue"]):
        code, out, err = run_cli(*verb)
        assert (code, out) == (3, ""), verb
        assert "shop" in err, verb
    code, out, _ = run_cli("status", "--json")
    assert (code, set(json.loads(out))) == (3, {"error"})


def test_a_damaged_state_is_exit_3(shop, run_cli):
    run_cli("run")
    for file in (shop / "state/journal/_delta_log").glob("*.json"):
        file.write_text("not json")
    code, out, err = run_cli("status")
    assert (code, out) == (3, "")
    assert err.startswith("error: ")
    assert "Traceback" not in err
