"""What is due where days are excluded, from the YAML to the plan; and when what is excluded becomes another."""

from tests.builders import at
from tests.core.planner.test_grains_of_time import SOURCE, make_story, refolded
from tests.core.spec.in_memory import compiled

DAYS = "source: delta\npath: t\npartition: {{by: day, column: day, exclude: {}}}\n"
WEEKENDS = "'* * * * SAT,SUN'"


def test_a_month_is_due_when_its_trading_days_are_there():
    story = make_story(
        "2025-04-05",
        trades=DAYS.format(f"[{WEEKENDS}, 2025-03-05]"),
        months="inlets: [trades]\npartition: {by: month, column: month}\n",
    )
    story.observed("trades", "2025-03-03..2025-03-28")
    assert story.due() == {}
    story.observed("trades", "2025-03-31")
    assert story.due() == {"months": ["2025-03"]}
    story.run_all()
    story.observed("trades", "2025-02-28")
    assert story.due() == {}
    story.observed("trades", "2025-03-17")
    assert story.due() == {"months": ["2025-03"]}
    assert refolded(story).assets == story.state.assets


def test_working_days_need_their_hours_and_those_of_weekends_are_nobodys():
    story = make_story(
        "2025-03-03T12:00",
        hours=SOURCE.format("h", "hour"),
        days=f"inlets: [hours]\npartition: {{by: day, column: day, exclude: {WEEKENDS}}}\n",
    )
    story.observed("hours", "2025-02-27T00..2025-02-28T23")
    assert story.due() == {"days": ["2025-02-27..2025-02-28"]}
    assert story.plan().runs[0].interval == (at("2025-02-27"), at("2025-03-01"))
    story.run_all()
    story.observed("hours", "2025-03-01T00..2025-03-03T11")
    assert story.due() == {}
    story.now = "2025-03-04T00:00"
    story.observed("hours", "2025-03-03T12..2025-03-03T23")
    assert story.due() == {"days": ["2025-03-03"]}


def test_a_friday_is_due_on_saturday():
    story = make_story(
        "2025-02-28T23:59",
        report=f"schedule: '@daily'\npartition: {{by: day, column: day, start: 2025-02-27, exclude: {WEEKENDS}}}\n",
    )
    assert story.due() == {"report": ["2025-02-27"]}
    story.now = "2025-03-01"
    assert story.due() == {"report": ["2025-02-27..2025-02-28"]}
    story.run_all()
    story.now = "2025-03-03T23:59"
    assert story.due() == {}
    story.now = "2025-03-04"
    assert story.due() == {"report": ["2025-03-03"]}


def respecified(told, exclude):
    """The project where another cron or day of `report` is excluded; nothing where it is empty."""
    more = f", exclude: {exclude}" if exclude else ""
    text = f"asset: report\nschedule: '@daily'\npartition: {{by: day, column: day, start: 2025-02-24{more}}}\n"
    made = compiled({"report.yml": text, "report.sql": "SELECT 1 AS day"})
    told.change(made.assets["report"])


def test_what_was_excluded_is_missing_once_it_is_not_any_more():
    story = make_story(
        "2025-03-05",
        report=f"schedule: '@daily'\npartition: {{by: day, column: day, start: 2025-02-24, exclude: {WEEKENDS}}}\n",
    )
    story.run_all()
    respecified(story, "'* * * * SUN'")
    story.now = "2025-03-06"
    assert story.due() == {"report": ["2025-03-01", "2025-03-05"]}
    story.run_all()
    respecified(story, "")
    story.now = "2025-03-07"
    assert story.due() == {"report": ["2025-03-02", "2025-03-06"]}
    respecified(story, f"[{WEEKENDS}, 2025-03-03]")
    assert story.due() == {"report": ["2025-03-06"]}
    respecified(story, "")
    assert story.due() == {"report": ["2025-03-01..2025-03-03", "2025-03-06"]}
    assert refolded(story).assets == story.state.assets


def test_a_source_that_excludes_less_has_no_more_than_it_told():
    story = make_story(
        "2025-04-05",
        trades=DAYS.format(WEEKENDS),
        months="inlets: [trades]\npartition: {by: month, column: month}\n",
    )
    story.observed("trades", "2025-03-03..2025-03-31")
    made = compiled(
        {
            "trades.yml": "asset: trades\n" + DAYS.format("'* * * * SUN'"),
            "months.yml": "asset: months\ninlets: [trades]\npartition: {by: month, column: month}\n",
            "months.sql": "SELECT * FROM {{ inlets.trades }}",
        }
    )
    story.change(*made.assets.values())
    assert story.due() == {}
    story.observed("trades", "2025-03-01")
    for day in ("08", "15", "22", "29"):
        story.observed("trades", f"2025-03-{day}")
    assert story.due() == {"months": ["2025-03"]}


def test_a_working_day_reads_the_dump_of_its_own_end_not_of_the_next_one():
    story = make_story(
        "2025-03-07T00:00",
        dump="schedule: {cron: '0 6 * * *', start: 2025-03-05T06:00, catchup: all}\n",
        table="inlets: {dump: {partitions: aligned, on_update: ignore}}\nschedule: '@daily'\n"
        f"partition: {{by: day, column: day, start: 2025-03-06, exclude: {WEEKENDS}}}\n",
    )
    versions, read = {}, {}
    for hours in range(0, 6 * 24, 6):
        story.now = f"2025-03-{7 + hours // 24:02}T{hours % 24:02}:00"
        while runs := story.plan().runs:
            run = runs[0]
            if run.asset == "dump":
                assert run.interval is not None
                versions[len(versions)] = run.interval[1]
                story.succeed("dump", story.claim(run), version=len(versions) - 1)
                continue
            read |= dict.fromkeys(story.keys("table", run.partitions), versions[run.request.pins["dump"].version])
            story.run("table")
    assert read == {
        "2025-03-06": at("2025-03-06T06:00"),
        "2025-03-07": at("2025-03-07T06:00"),  # not that of Sunday, when the slot's piece ends
        "2025-03-10": at("2025-03-10T06:00"),
        "2025-03-11": at("2025-03-11T06:00"),
    }
