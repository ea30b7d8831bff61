"""A project with some of everything that a report shows, told without Spark, and the site that is made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.documents.report import KINDS, ReportDocuments, ReportHistory, build_report
from sparkassets.core.instants import Duration, from_unix, to_unix
from sparkassets.core.journal.codec import from_row
from sparkassets.core.journal.marks import MarkEntry
from sparkassets.core.partitions import WindowMapping
from sparkassets.core.planner.plan import PlannedRun
from sparkassets.core.planner.planner import make_plan
from sparkassets.core.spec.asset_services import DeadlineSpec
from sparkassets.core.spec.code_bodies import SqlBody
from sparkassets.core.spec.model import AssetSpec, ColumnSpec, InletSpec
from sparkassets.core.timetables.parse import parse_timetable
from sparkassets.core.validations import NotNullCheck, RangeCheck, RowCountCheck, RuleVerdict, ValidationRule
from sparkassets.errors import FileLocation
from sparkassets.report import WrittenSite, write_site
from tests.builders import Story, asset, at, multi, project, source, timed

MARKUP = '<img src=x onerror="window.broken=1"><script>window.broken=2</script>'
"""What must stay text wherever it is shown."""
SECRET = "postgres://report:hunter2secret@db/orders"  # noqa: S105  it is made up
"""What must not be shown at all."""
RULES = (
    ValidationRule("not_null(amount)", NotNullCheck(("amount",))),
    ValidationRule("row_count(min 100)", RowCountCheck(min=100)),
    ValidationRule("range(discount)", RangeCheck("discount", 0, 100), severity="warn", where="amount > 0"),
)
REGIONS = ("de", "es", "fr", "it", "nl", "pl", "pt", "se")


def assets() -> Sequence[AssetSpec]:
    """A small shop of flights: sources, products, windows, a month, gates, a multi-asset."""
    regions = {"region": REGIONS}
    delays = asset(
        "daily_delays",
        "flights",
        "weather",
        description="Mean delay of each day and airport",
        owner="ops@example.com",
        listed_columns={
            "day": ColumnSpec("DATE"),
            "origin": ColumnSpec("STRING", "The airport of the departure"),
            "mean_delay": ColumnSpec("DOUBLE"),
        },
        private=frozenset({"origin"}),
    )
    trailing = InletSpec("daily_delays", "", WindowMapping.trailing(Duration.parse("7d")))
    made = [
        source("flights", description="Every departure of the three airports", owner="feeds@example.com"),
        source("weather"),
        source("sales", segments=regions),
        source("airports", by=None),
        delays,
        asset("delays_7d", trailing, description="The same over a week", deadlines=by_noon()),
        asset("monthly_delays", "daily_delays", by="month", owner="finance@example.com"),
        asset(
            "regional_sales",
            "sales",
            segments=regions,
            description="Sales by region, checked",
            owner="shop@example.com",
            rules=RULES,
        ),
        asset("all_sales", "regional_sales", description="Sales of all regions"),
        asset("fleet_report", "daily_delays", "airports", by=None, schedule="airports & (daily_delays | delays_7d)"),
        asset("morning_report", "all_sales", by=None, schedule=timed("0 6 * * *")),
        asset("pay_report", "all_sales", by=None, schedule=timed("0 2 1 * *"), paused=True),
        *multi(asset("split_sales", "sales", description=MARKUP), "small_orders", "large_orders"),
        asset("model_scores", "all_sales", by=None, extra={"contact": SECRET, "note": MARKUP}, owner=MARKUP),
    ]
    return [replace(each, body=_body(each), definition=_definition(each)) for each in made]


def by_noon() -> DeadlineSpec:
    """The newest is to be there by noon of each day."""
    return DeadlineSpec(parse_timetable("0 12 * * *", timezone="UTC"), "by 12:00, every day")


def _body(each: AssetSpec) -> SqlBody | None:
    if each.source is not None or each.written_by:
        return None
    reads = "\nJOIN ".join(f"{{{{ inlets.{name} }}}}" for name in each.inlets)
    text = f"-- {each.name} </script>\nSELECT day, 'a <b> c' AS note\nFROM {reads}\nWHERE n > 0\nGROUP BY ALL"
    return SqlBody(text, FileLocation(f"assets/{each.name}.sql", 1, 1))


def _definition(each: AssetSpec) -> AssetDefinition | None:
    return (
        None if each.source is not None or each.written_by else AssetDefinition.build(text=f"SELECT 1 AS {each.name}")
    )


def make_story() -> Story:
    """What happened to it."""
    story = Story(project(*assets()), now="2025-03-12T07:30:00")
    story.clock = "2025-03-01T06:00:00"
    story.observed("airports", version=1)
    story.observed("weather", "2025-01-01..2025-03-09")
    story.observed("flights", "2025-01-01..2025-02-28")
    for region in REGIONS:
        story.observed("sales", f"2025-01-01..2025-02-28,{region}")
    _work(story)
    for day in range(1, 11):
        story.clock = f"2025-03-{day + 1:02}T06:{day:02}:00"
        story.observed("flights", f"2025-03-{day:02}")
        for region in REGIONS[: 8 if day < 9 else 5]:
            story.observed("sales", f"2025-03-{day:02},{region}")
        _work(story, fail={"regional_sales"} if day == 8 else set())
    story.clock = "2025-03-12T06:40:00"
    story.observed("flights", "2025-02-03..2025-02-05")
    story.observed("sales", "2025-01-20,fr")
    spec = story.project.assets["regional_sales"]
    skipped = spec.partitioning.parse("2025-01-01..2025-01-03,pt")
    story.add(MarkEntry("regional_sales", spec.uri, "skip", skipped, f"closed {MARKUP}", "ann"))
    run = next(run for run in story.plan().runs if run.asset == "daily_delays")
    story.claim(run)
    return story


def _work(story: Story, *, fail: set[str] = frozenset()) -> None:
    """Runs what is due, each for a while; of what is to fail the first run fails."""
    failing, minute = set(fail), 0
    while runs := [run for run in story.plan(invocation="i").runs if run.asset != "pay_report"]:
        begin = from_unix(at(story.clock)).replace(second=0)
        for run in runs[:4]:
            minute += 1
            assert minute < 100, f"never idle: {run}"
            story.clock = begin.isoformat()
            judge = story.project.judge_of(story.project.assets[run.asset])  # as a driver claims it
            claim = story.claim(replace(run, request=replace(run.request, judge=judge)))
            seconds = 20 + 13 * (claim % 7)
            story.clock = from_unix(to_unix(begin) + seconds).isoformat()
            if run.asset in failing:
                failing.discard(run.asset)
                story.fail(run.asset, claim, error=f"[DIVIDE_BY_ZERO] Division by zero; see {SECRET} {MARKUP}")
            else:
                rows = {"rows": 1000 * (claim % 9) + 7}
                judged = _judged(story, run) if run.asset == "regional_sales" else {}
                story.succeed(run.asset, claim, version=claim, seconds=float(seconds), extra=rows, **judged)
        story.clock = from_unix(to_unix(begin) + 75).isoformat()


def _judged(story: Story, run: PlannedRun) -> dict[str, Any]:
    """What the rules say of a run: amounts lack in Poland on one day, discounts are odd now and then."""
    partitions = run.partitions
    bad = partitions & story.project.assets["regional_sales"].partitioning.parse("2025-03-05,pl")
    odd = len(story.entries) % 3
    rows = ({"day": "2025-03-05", "region": "pl", "amount": "NULL", "buyer": "•••"}, {"amount": MARKUP, "buyer": "•••"})
    verdicts = [
        RuleVerdict("not_null(amount)", "fail", "passed", partitions - bad, checked=900),
        RuleVerdict("row_count(min 100)", "fail", "passed", partitions, checked=900),
        RuleVerdict("range(discount)", "warn", "warned" if odd else "passed", partitions, checked=900, failing=4 * odd),
    ]
    if bad:
        verdicts.insert(0, RuleVerdict("not_null(amount)", "fail", "withheld", bad, 120, 12, "", rows))
    return {"withheld": bad, "verdicts": tuple(verdicts)}


def past(story: Story) -> ReportHistory:
    rows = [row for row in story.rows if row.kind in KINDS]
    return ReportHistory.from_entries([from_row(row) for row in rows], whole=True)


def report(told: Story | None = None) -> ReportDocuments:
    """The report of the demo."""
    told = told or make_story()
    context = told.context()
    return build_report(context, make_plan(context), past(told))


def site(folder: Path, story: Story | None = None) -> WrittenSite:
    """The site of the demo, in a folder."""
    return write_site(report(story), str(folder))
