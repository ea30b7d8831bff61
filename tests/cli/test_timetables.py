"""`preview` and `align`: what timetables will do, without a run."""

from datetime import UTC, datetime

import pytest

from sparkassets.wiring.host import SystemClock

DAILY = "asset: report\nschedule: {cron: '0 6 * * *', timezone: Europe/Berlin}\nsql: SELECT 1 AS n\n"
HOURLY = "asset: pulse\nschedule: '@hourly'\nsql: SELECT 1 AS n\n"


@pytest.fixture(autouse=True)
def now(monkeypatch):
    """A quarter past two in the morning of the day on which Berlin's clocks go forward an hour later."""
    monkeypatch.setattr(SystemClock, "now", lambda _: datetime(2025, 3, 30, 0, 15, tzinfo=UTC))


@pytest.fixture
def timed(shop):
    (shop / "assets/report.yml").write_text(DAILY)
    (shop / "assets/pulse.yml").write_text(HOURLY)
    return shop


def lines(text):
    return [line.rstrip() for line in text.splitlines()]


@pytest.mark.usefixtures("timed")
def test_preview_tells_the_next_runs_and_why_some_assets_have_none(run_cli):
    code, out, err = run_cli("preview", "report", "pulse", "orders", "best_shops", "--count", "2")
    assert (code, err) == (0, "")
    assert lines(out) == [
        "  asset   runs                    interval                                          from now",
        "  report  2025-03-30T06:00+02:00  2025-03-29T06:00+01:00 to 2025-03-30T06:00+02:00  in 4 h",
        "  report  2025-03-31T06:00+02:00  2025-03-30T06:00+02:00 to 2025-03-31T06:00+02:00  in 28 h",
        "  pulse   2025-03-30T01:00Z       2025-03-30T00:00Z to 2025-03-30T01:00Z            in 45 min",
        "  pulse   2025-03-30T02:00Z       2025-03-30T01:00Z to 2025-03-30T02:00Z            in 2 h",
        "",
        "no further run:",
        "  asset       reason",
        "  orders      no timetable: others write it",
        "  best_shops  no timetable: runs on daily_revenue",
    ]


def test_preview_tells_apart_what_the_clock_shows_twice(shop, run_cli):
    (shop / "assets/report.yml").write_text(DAILY.replace("0 6 *", "30 * *"))
    code, out, _ = run_cli("preview", "report", "--from", "2025-10-26T00:30", "--count", "2")
    assert code == 0
    assert [line.partition("  in ")[0].rstrip() for line in lines(out)[1:]] == [
        "  report  2025-10-26T02:30+02:00  2025-10-26T01:30+02:00 to 2025-10-26T02:30+02:00",
        "  report  2025-10-26T02:30+01:00  2025-10-26T02:30+02:00 to 2025-10-26T02:30+01:00",
    ]


@pytest.mark.usefixtures("timed")
def test_preview_says_what_is_paused(shop, run_cli):
    (shop / "assets/best_shops.yml").write_text((shop / "assets/best_shops.yml").read_text() + "paused: true\n")
    run_cli("pause", "pulse")
    _, out, _ = run_cli("preview", "pulse", "report", "best_shops", "--count", "1")
    table = lines(out)
    assert (table[1][-17:], table[2][-8:]) == ("in 45 min; paused", "  in 4 h")
    assert table[-1] == "  best_shops  no timetable: runs on daily_revenue; paused"


@pytest.mark.usefixtures("timed")
def test_preview_as_a_document_has_timetables_only(run_json):
    assert run_json("preview", "--from", "2025-03-28", "--count", "1") == [
        {
            "asset": "pulse",
            "run_after": "2025-03-28T00:00:00Z",
            "data_interval": {"start": "2025-03-27T23:00:00Z", "end": "2025-03-28T00:00:00Z"},
            "logical_date": "2025-03-27T23:00:00Z",
        },
        {
            "asset": "report",
            "run_after": "2025-03-28T05:00:00Z",
            "data_interval": {"start": "2025-03-27T05:00:00Z", "end": "2025-03-28T05:00:00Z"},
            "logical_date": "2025-03-27T05:00:00Z",
        },
    ]
    assert len(run_json("preview")) == 10


def test_preview_and_status_agree_on_a_time_in_a_condition(shop, run_cli, run_json):
    schedule = '{any: ["0 6 * * *", orders & best_shops]}'
    (shop / "assets/report.yml").write_text(f"asset: report\nsql: SELECT 1 AS one\nschedule: {schedule}\n")
    (run,) = run_json("preview", "--count", "1")
    assert (run["asset"], run["run_after"]) == ("report", "2025-03-30T06:00:00Z")
    assert run_cli("preview", "report", "--count", "1")[1].splitlines()[1].startswith("  report  2025-03-30T06:00Z ")
    (row,) = (line for line in lines(run_cli("status")[1]) if "report" in line)
    assert row.endswith("  due")


@pytest.mark.usefixtures("shop")
def test_preview_where_nothing_runs_by_a_timetable(run_cli, run_json):
    assert lines(run_cli("preview")[1])[0] == "no run is scheduled by time"
    assert run_json("preview") == []
    code, _, err = run_cli("preview", "ordrs")
    assert (code, err) == (2, "error: no asset 'ordrs' in project 'shop'\n  hint: did you mean 'orders'?\n")


@pytest.mark.usefixtures("timed")
def test_status_says_when_each_asset_runs_next(run_cli, run_json):
    rows = {line.split()[0]: line for line in lines(run_cli("status", "--at", "2025-03-30T00:15")[1])}
    assert rows["pulse"].split() == ["pulse", "never", "due"]
    assert {item["asset"]: item["next_at"] for item in run_json("status", "--at", "2025-03-30T00:15")} == {
        "orders": None,
        "daily_revenue": None,
        "best_shops": None,
        "pulse": "2025-03-30T00:00:00Z",
        "report": "2025-03-29T05:00:00Z",
    }


def test_status_before_the_next_run_is_due(shop, run_cli, run_json):
    (shop / "assets/report.yml").write_text(DAILY.replace("Berlin}", "Berlin, start: 2025-03-30}"))
    (row,) = (line for line in lines(run_cli("status")[1]) if "report" in line)
    assert row.endswith("  2025-03-31T04:00Z, in 28 h")

    def next_at():
        return next(item["next_at"] for item in run_json("status") if item["asset"] == "report")

    assert next_at() == "2025-03-31T04:00:00Z"
    run_cli("pause", "report")
    assert next_at() is None


def test_align_two_crons_without_a_project(run_cli, run_json, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    crons = ("0 6 * * *", "0 * * * *", "--at", "2025-03-22T04:00")
    assert run_json("align", *crons) == {
        "upstream_logical_date": "2025-03-20T06:00:00Z",
        "downstream_logical_date": "2025-03-22T03:00:00Z",
        "execution_delta": 162000,
        "case": 2,
    }
    assert lines(run_cli("align", *crons)[1]) == [
        "              runs               interval",
        "  upstream    2025-03-21T06:00Z  2025-03-20T06:00Z to 2025-03-21T06:00Z",
        "  downstream  2025-03-22T04:00Z  2025-03-22T03:00Z to 2025-03-22T04:00Z",
        "",
        "execution_delta  45:00:00 (162000 s)",
        "case             2: only the downstream fires at 2025-03-22T04:00Z",
    ]


@pytest.mark.usefixtures("timed")
def test_align_an_asset_with_a_cron_in_the_zone_of_the_project(run_cli):
    assert lines(run_cli("align", "report", "@daily", "--at", "2025-03-31")[1]) == [
        "              runs                    interval",
        "  upstream    2025-03-30T06:00+02:00  2025-03-29T06:00+01:00 to 2025-03-30T06:00+02:00",
        "  downstream  2025-03-31T00:00Z       2025-03-30T00:00Z to 2025-03-31T00:00Z",
        "",
        "execution_delta  19:00:00 (68400 s)",
        "case             2: only the downstream fires at 2025-03-31T00:00Z",
    ]


@pytest.mark.usefixtures("timed")
def test_align_says_which_run_it_took_where_none_is_at_that_time(run_cli):
    assert lines(run_cli("align", "pulse", "pulse")[1])[4:] == [
        "execution_delta  0:00:00 (0 s)",
        "case             1: both fire at 2025-03-30T00:00Z",
        "the downstream does not fire at 2025-03-30T00:15Z: this is its last interval that ended by then",
    ]


def test_align_tells_the_runs_and_not_only_the_intervals(shop, run_cli):
    (shop / "assets/late.yml").write_text(
        "asset: late\nschedule: {cron: '0 6 * * *', delay: 20h}\nsql: SELECT 1 AS n\n"
    )
    both = [
        "  {:10}  2025-03-22T02:00Z  2025-03-20T06:00Z to 2025-03-21T06:00Z",
        "  {:10}  2025-03-22T00:00Z  2025-03-21T00:00Z to 2025-03-22T00:00Z",
    ]
    told = lines(run_cli("align", "late", "@daily", "--at", "2025-03-22")[1])
    assert told[1:3] == [both[0].format("upstream"), both[1].format("downstream")]
    assert told[-1] == "the upstream runs later: with `partitions: aligned` the downstream waits for it"
    for at in ("2025-03-21T06:00", "2025-03-22T02:00"):
        told = lines(run_cli("align", "late", "late", "--at", at)[1])
        assert told[2] == both[0].format("downstream")
        assert told[-1] == "case             1: both fire at 2025-03-21T06:00Z"


@pytest.mark.usefixtures("timed")
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["orders", "@daily"], "asset 'orders' has no timetable: others write it"),
        (["@daily", "best_shops"], "asset 'best_shops' has no timetable: runs on daily_revenue"),
        (["pulze", "@daily"], "no asset 'pulze' in project 'shop'\n  hint: did you mean 'pulse'?"),
        (
            ["0 6 * *", "@daily"],
            "cron '0 6 * *' has 4 fields; expected five: minute hour day-of-month month day-of-week",
        ),
        (["@dayly", "@daily"], "unknown preset '@dayly'"),
    ],
)
def test_align_refuses_what_is_no_timetable(run_cli, args, message):
    code, out, err = run_cli("align", *args)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {message}")


def test_align_says_that_there_is_no_run_yet(shop, run_cli):
    (shop / "assets/late.yml").write_text(
        "asset: late\nschedule: {cron: '@daily', start: 2025-03-20}\nsql: SELECT 1 AS n\n"
    )
    zero = "2025-03-20T00:00Z"
    late = f"@daily (UTC) from {zero}"
    noon = ("--at", "2025-03-20T12:00")
    code, out, err = run_cli("align", "late", "@daily", *noon)
    assert (code, out, err) == (2, "", f"error: 'late' has no run by {zero}, when '@daily' runs: {late}\n")
    code, out, err = run_cli("align", "@daily", "late", *noon)
    assert (code, out, err) == (2, "", f"error: 'late' has no run by 2025-03-20T12:00Z: {late}\n")
