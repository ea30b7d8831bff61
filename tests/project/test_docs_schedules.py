"""Every schedule that stands in docs/schedules.md is valid, and means what is written beside it."""

import re
import shutil
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from sparkassets.core.instants import format_instant
from sparkassets.core.timetables.parse import parse_timetable
from sparkassets.project import load_project

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/schedules.md").read_text(encoding="utf-8")
WRITTEN = re.findall(r"^schedule: .*?(?=  +#|$)", PAGE, flags=re.MULTILINE)
COMPARED = re.findall(r"\| `(schedule: .*?)` \|$", PAGE, flags=re.MULTILINE)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder for a project, with the package `payday` installed as far as Python can tell."""
    info = tmp_path / "packages/sparkassets_payday-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sparkassets-payday\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[sparkassets.timetables]\npayday = payday:Payday\n")
    shutil.copy(ROOT / "jobs/payday/payday.py", tmp_path / "packages")
    monkeypatch.syspath_prepend(tmp_path / "packages")
    yield tmp_path
    sys.modules.pop("payday", None)


def loaded(home, schedule):
    """The asset that has the schedule, beside sources `a` and `b`."""
    (home / "project.yml").write_text("project: p\nassets: [.]\n")
    sources = "".join(f"---\nasset: {name}\nsource: true\n" for name in "ab")
    (home / "all.yml").write_text(f"asset: x\nsql: SELECT 1 AS one\n{schedule}\n{sources}")
    return load_project(home, {}).assets["x"]


def test_the_tables_are_found():
    assert (len(WRITTEN), len(COMPARED)) == (21, 12)


@pytest.mark.parametrize("schedule", [*WRITTEN, *COMPARED])
def test_it_is_valid(schedule, home):
    assert loaded(home, schedule).schedule


@pytest.mark.parametrize(
    ("kind", "since", "expected"),
    [
        ("interval: 1d", "2025-03-14T12:00", ("2025-03-15T00:00", "2025-03-14T00:00", "2025-03-15T00:00")),
        ("every: 1mo", "2025-03-01T00:00", ("2025-03-31T00:00", "2025-02-28T00:00", "2025-03-31T00:00")),
        ("calendar: DE,", "2025-03-01T00:00", ("2025-03-14T09:00", "2025-03-14T09:00", "2025-03-14T09:00")),
        ("at: close", "2024-11-28T00:00", ("2024-11-29T18:30", "2024-11-29T18:00", "2024-11-29T18:00")),
        ("every: session", "2024-11-28T00:00", ("2024-11-29T18:00", "2024-11-29T14:30", "2024-11-29T18:00")),
        ("timetable: payday", "2025-03-01T00:00", ("2025-03-14T00:00", "2025-02-14T00:00", "2025-03-14T00:00")),
        ("window: 105h", "2025-03-01T00:00", ("2025-03-07T18:00", "2025-03-03T09:00", "2025-03-07T18:00")),
    ],
)
def test_it_means_what_is_said(kind, since, expected, home):
    schedule = next(each for each in [*WRITTEN, *COMPARED] if kind in each)
    timetable = loaded(home, schedule).schedule.timetable
    slot = timetable.first_after(datetime.fromisoformat(since).replace(tzinfo=UTC))
    assert tuple(format_instant(each)[:16] for each in (slot.run_after, slot.start, slot.end)) == expected


@pytest.mark.parametrize(
    ("schedule", "spring", "autumn"),
    [
        ({"cron": "30 * * * *"}, ["01:30+01:00", "03:30+02:00"], ["02:30+02:00", "02:30+01:00"]),
        ({"times": {"minutes": 30}}, ["01:30+01:00", "03:30+02:00"], ["02:30+02:00", "02:30+01:00"]),
        ({"cron": "30 2 * * *"}, ["03:30+02:00"], ["02:30+01:00"]),
        ({"cron": "30 */2 * * *"}, ["03:30+02:00"], ["02:30+01:00"]),
        ({"every": "1d", "start": "2025-01-01T02:30"}, ["03:30+02:00"], ["02:30+01:00"]),
        ({"at": ["2025-03-29T02:30", "2025-10-25T02:30"], "delay": "1d"}, ["03:30+02:00"], ["02:30+01:00"]),
        ({"cron": "30 2 29,25 * *", "interval": "1d"}, ["03:30+02:00"], ["02:30+01:00"]),
        ({"every": "6h", "start": "2025-01-01T00:30Z"}, ["01:30+01:00"], ["02:30+02:00"]),
    ],
)
def test_the_clocks_change_as_is_said(schedule, spring, autumn):
    def runs(begin: str) -> list[str]:
        start = datetime.fromisoformat(begin).replace(tzinfo=UTC)
        slots = timetable.between(start, start + timedelta(hours=1, minutes=59))
        return [slot.run_after.astimezone(berlin).isoformat(timespec="minutes")[11:] for slot in slots]

    timetable, berlin = parse_timetable(schedule, timezone="Europe/Berlin"), ZoneInfo("Europe/Berlin")
    assert (runs("2025-03-30T00:00"), runs("2025-10-26T00:00")) == (spring, autumn)
