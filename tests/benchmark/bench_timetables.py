"""A year of runs of 1,000 cron assets in zones with clock changes, beside croniter, cronsim and Airflow's timetable.

The others are measured on fewer crons and scaled to all, as said in the line. All rows come from one run; the ratios
tell more than the seconds.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib import import_module
from zoneinfo import ZoneInfo

from sparkassets.core.timetables.parse import parse_timetable
from tests.benchmark.figures import record

ASSETS, SAMPLE, DUE = 1000, 40, 10_000
BUDGET_SECONDS = 2.0
ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Africa/Cairo", "Asia/Gaza")
FIRST, LAST = datetime(2025, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)

Cron = tuple[str, str]


def crons(count: int) -> list[Cron]:
    """Crons with their zones: mostly daily, some every six hours or hourly, on weekdays, of a month."""
    draw = random.Random(1)  # noqa: S311 - repeatable
    found: list[Cron] = []
    for _ in range(count):
        minute, hour = draw.randrange(60), draw.randrange(24)
        rest = draw.choices(["* * *", "* * 1-5", "1 * *", "* * 0"], [70, 20, 5, 5])[0]
        hours = draw.choices([str(hour), "*", "*/6"], [93, 1, 6])[0]
        found.append((f"{minute} {hours} {rest}", draw.choice(ZONES)))
    return found


def ours(assets: list[Cron]) -> int:
    """Runs by sparkassets, from the text on."""
    return sum(1 for cron, zone in assets for _ in parse_timetable(cron, timezone=zone).between(FIRST, LAST))


def by_croniter(assets: list[Cron]) -> int:
    """Runs by croniter, one by one, as a scheduler asks."""
    croniter = import_module("croniter").croniter
    count = 0
    for cron, zone in assets:
        iterator = croniter(cron, FIRST.astimezone(ZoneInfo(zone)), ret_type=datetime)
        while iterator.get_next() < LAST:
            count += 1
    return count


def by_cronsim(assets: list[Cron]) -> int:
    """Runs by cronsim."""
    cronsim = import_module("cronsim").CronSim
    count = 0
    for cron, zone in assets:
        iterator = cronsim(cron, FIRST.astimezone(ZoneInfo(zone)))
        while next(iterator) < LAST:
            count += 1
    return count


def by_airflow(assets: list[Cron]) -> int:
    """Runs by Airflow's timetable of data intervals."""
    interval = import_module("airflow.timetables.interval").CronDataIntervalTimetable
    base = import_module("airflow.timetables.base")
    count = 0
    for cron, zone in assets:
        timetable, last = interval(cron, zone), None
        bounds = base.TimeRestriction(FIRST, LAST, catchup=True)
        while info := timetable.next_dagrun_info(last_automated_data_interval=last, restriction=bounds):
            last = info.data_interval
            count += 1
    return count


def seconds_of(count: Callable[[list[Cron]], int], assets: list[Cron]) -> tuple[float, int]:
    """(Seconds, runs) of one go."""
    begin = time.perf_counter()
    runs = count(assets)
    return time.perf_counter() - begin, runs


def next_runs() -> None:
    """What "anything due?" costs for one timetable, which a planner need not ask before its next instant."""
    timetables = [parse_timetable(cron, timezone=zone) for cron, zone in crons(DUE)]
    for ask in ("first_after", "last_at"):
        begin = time.perf_counter()
        for timetable in timetables:
            getattr(timetable, ask)(LAST - timedelta(days=100))
        each = (time.perf_counter() - begin) / DUE
        print(f"{ask:12} of {DUE:,} timetables: {each * 1e6:6.1f} µs each")


def main() -> None:
    """Prints the table."""
    assets = crons(ASSETS)
    seconds_of(ours, assets[:SAMPLE])  # clock changes are learnt once a process; the others have theirs from tzdata
    whole, runs = seconds_of(ours, assets)
    print(f"{runs:,} runs")
    what = f"a year of {ASSETS:,} crons in {len(ZONES)} zones with clock changes"
    record(what, whole, "s", goal=BUDGET_SECONDS, limit=f"{runs:,} instants")
    _, sampled = seconds_of(ours, assets[:SAMPLE])
    for name, count in (("croniter", by_croniter), ("cronsim", by_cronsim), ("Airflow", by_airflow)):
        try:
            took, found = seconds_of(count, assets[:SAMPLE])
        except ImportError:
            print(f"{name:12} is not installed")
            continue
        scaled = took * runs / sampled
        print(
            f"{name:12} {scaled:8.2f} s  scaled by runs from {SAMPLE} crons in {took:.2f} s; "
            f"{scaled / whole:.0f} times ours; {found:,} runs where we have {sampled:,}"
        )
    next_runs()


if __name__ == "__main__":
    main()
