"""The files that the demo's supplier leaves."""

import csv
from datetime import date

import pytest

from jobs.landing import correct_day, land_days, land_dimensions

NEW_YEAR, FIFTH = date(2013, 1, 1), date(2013, 1, 5)


def test_a_local_day_is_a_file_of_flights_and_a_file_for_each_hour_of_weather(tmp_path):
    land_days(tmp_path, NEW_YEAR, NEW_YEAR)
    assert [file.name for file in (tmp_path / "flights").iterdir()] == ["20130101.csv"]
    assert len(rows(tmp_path / "flights" / "20130101.csv")) == 842
    hours = sorted(file.stem for file in (tmp_path / "weather").iterdir())
    assert hours[0] == "20130101T06", "the record begins an hour after the local day"
    assert hours[-1] == "20130102T04", "which ends at 05:00 UTC"
    assert len(hours) == 23


def test_columns_stay_as_they_are(tmp_path):
    land_days(tmp_path, NEW_YEAR, NEW_YEAR)
    first = rows(tmp_path / "flights" / "20130101.csv")[0]
    assert (first["day"], first["dep_delay"], first["time_hour"]) == ("1", "2", "2013-01-01T10:00:00Z")
    assert {row["origin"] for row in rows(tmp_path / "weather" / "20130101T06.csv")} == {"EWR", "JFK", "LGA"}


def test_a_day_without_all_its_hours_lacks_their_files(tmp_path):
    files = land_days(tmp_path, date(2013, 12, 30), date(2013, 12, 31))
    assert len(files) == 2 + 19


def test_a_correction_changes_the_delays_of_one_carrier_only_and_twice_is_once(tmp_path):
    land_days(tmp_path, FIFTH, FIFTH)
    file = tmp_path / "flights" / "20130105.csv"
    before = rows(file)
    assert correct_day(tmp_path, FIFTH) == file
    after = rows(file)
    changes = [
        (old["carrier"], old["dep_delay"], new["dep_delay"])
        for old, new in zip(before, after, strict=True)
        if old != new
    ]
    assert {(carrier, int(new) - int(old)) for carrier, old, new in changes} == {("UA", 10)}
    assert len(changes) == sum(row["carrier"] == "UA" and row["dep_delay"] != "NA" for row in before)
    correct_day(tmp_path, FIFTH)
    assert rows(file) == after


def test_landing_again_writes_the_same_bytes_and_leaves_nothing_unfinished(tmp_path):
    once = {file: file.read_bytes() for file in land_days(tmp_path, NEW_YEAR, NEW_YEAR) + land_dimensions(tmp_path)}
    land_days(tmp_path, NEW_YEAR, NEW_YEAR)
    land_dimensions(tmp_path)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == once


@pytest.mark.parametrize(("name", "count"), [("airlines", 16), ("airports", 1458), ("planes", 3322)])
def test_dimensions_are_whole(tmp_path, name, count):
    land_dimensions(tmp_path)
    assert len(rows(tmp_path / f"{name}.csv")) == count


def rows(file):
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))
