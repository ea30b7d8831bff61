import re
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.partitions import Partitioning, PartitionSet, SegmentPartition, TimePartition
from sparkassets.core.patterns import FileSlot, PathPattern, PatternError, fingerprint, is_skipped_name

UTC_DAYS = TimePartition("day", "UTC", column="day")
NEW_YORK_HOURS = TimePartition("hour", "America/New_York")


def message(error):
    return str(error.value)


# --------------------------------------------------------------------------- the text


@pytest.mark.parametrize(
    ("text", "root", "fields", "is_pattern"),
    [
        ("landing/{day:%Y%m%d}/*.csv", "landing", ("day",), True),
        ("/data/landing/flights/{day}.csv", "/data/landing/flights", ("day",), True),
        ("s3://b/o/{day:%Y-%m-%d}/x", "s3://b/o", ("day",), True),
        ("s3://bucket/{day}.csv", "s3://bucket", ("day",), True),
        ("landing/flights_{day}.csv", "landing", ("day",), True),
        ("landing/{day}/", "landing", ("day",), True),
        ("/{day}", "/", ("day",), True),
        ("{day}.csv", ".", ("day",), True),
        ("landing/*.csv", "landing", (), True),
        ("landing/**/*.csv", "landing", (), True),
        ("landing/flights.csv", "landing/flights.csv", (), False),
        ("landing/flights/", "landing/flights", (), False),
        ("/", "/", (), False),
    ],
)
def test_parses(text, root, fields, is_pattern):
    pattern = PathPattern.parse(text)
    assert (pattern.root, pattern.fields, pattern.is_pattern) == (root, fields, is_pattern)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "the path is empty"),
        (
            "landing/{day.csv",
            (
                "the path 'landing/{day.csv' has an unmatched '{' at character 9\n  hint: a field is written {day} "
                "or {day:%Y%m%d}"
            ),
        ),
        (
            "landing/day}.csv",
            (
                "the path 'landing/day}.csv' has an unmatched '}' at character 12\n  hint: a field is written "
                "{day} or {day:%Y%m%d}"
            ),
        ),
        ("l/{}.csv", "'{}' is not a field; expected {day} or {day:%Y%m%d}"),
        ("l/{2day}", "'{2day}' is not a field; expected {day} or {day:%Y%m%d}"),
        (
            "l/*.{csv,json}",
            (
                "'{csv,json}' is not a field; expected {day} or {day:%Y%m%d}\n"
                "  hint: alternatives are not supported; write '*'"
            ),
        ),
        ("l/{day:}", "the field '{day:}' has no format after ':'\n  hint: write {day} for the key"),
        (
            "l/{day:%y%m%d}",
            "the field '{day:%y%m%d}' has the unknown directive '%y'\n  hint: known are %Y %m %d %H %M %j %G %V",
        ),
        (
            "l/{day:%Y%}",
            "the field '{day:%Y%}' has the unknown directive '%'\n  hint: known are %Y %m %d %H %M %j %G %V",
        ),
        ("l/{day:%Y/%Y%m%d}", "the field '{day:%Y/%Y%m%d}' has '%Y' twice\n  hint: write '*' where it repeats"),
        ("l/{day:%Y*%m}", "the field '{day:%Y*%m}' contains a glob\n  hint: write '*' outside the braces"),
        ("l/{day}/{day}.csv", "the field {day} is used twice\n  hint: write '*' where it repeats"),
        (
            "l/{day}/{hour}.csv",
            (
                "at most one field may be time; found {day} and {hour}\n  hint: fields of segments are named like "
                "the dimension's column; write '*' for any other part"
            ),
        ),
        (
            "l/a**/b",
            (
                "'**' in the path 'l/a**/b' must be a whole folder name\n  hint: write '/**/' for folders of any "
                "depth, '*' for any name"
            ),
        ),
        (
            "l/**",
            (
                "'**' in the path 'l/**' must be a whole folder name\n  hint: write '/**/' for folders of any "
                "depth, '*' for any name"
            ),
        ),
        (
            "l/[0-9]*.csv",
            "the path 'l/[0-9]*.csv' contains brackets; character sets are not supported\n  hint: write '?' or '*'",
        ),
        ("s3://{day}/x", "the path 's3://{day}/x' must name its bucket or container before any pattern"),
    ],
)
def test_refuses_with_the_offending_piece(text, expected):
    with pytest.raises(PatternError) as error:
        PathPattern.parse(text)
    assert message(error) == expected


@pytest.mark.parametrize(
    ("text", "partition", "expected"),
    [
        (
            "l/*.csv",
            UTC_DAYS,
            (
                "'l/*.csv' does not identify the day of a file\n  hint: write {day} in place of 2013-01-05, or "
                "{day:%Y%m%d}"
            ),
        ),
        (
            "l/{day}.csv",
            None,
            (
                "the field {day} needs a partition\n"
                "  hint: add 'partition: {by: day, column: day}', or write '*' for the field"
            ),
        ),
        (
            "l/{date}.csv",
            UTC_DAYS,
            (
                "the field {date} is not the partition's column 'day'\n"
                "  hint: write {day} instead, or 'column: date' in the partition"
            ),
        ),
        (
            "l/{day:%Y%m}.csv",
            UTC_DAYS,
            (
                "the field {day} has %Y %m, which does not identify one day\n  hint: write {day:%Y%m%d}, or {day} "
                "for 2013-01-05"
            ),
        ),
        (
            "l/{w:%G-%m}.csv",
            TimePartition("week", "UTC"),
            (
                "the field {w} has %G %m, which does not identify one week\n  hint: write {w:%G-W%V}, or {w} for "
                "2013-W01"
            ),
        ),
        (
            "l/{hour:x}.csv",
            TimePartition("hour", "UTC"),
            (
                "the field {hour} has no directive, which does not identify one hour\n  hint: write "
                "{hour:%Y%m%d%H}, or {hour} for 2013-01-05T06"
            ),
        ),
    ],
)
def test_check_refuses_what_cannot_tell_the_slots(text, partition, expected):
    with pytest.raises(PatternError) as error:
        PathPattern.parse(text).check_time(partition)
    assert message(error) == expected


@pytest.mark.parametrize(
    ("form", "grains"),
    [
        ("%Y", {"year"}),
        ("%Y%m", {"month", "quarter", "year"}),
        ("%G-W%V", {"week"}),
        ("%Y%m%d", {"day", "week", "month", "quarter", "year"}),
        ("%d.%m.%Y", {"day", "week", "month", "quarter", "year"}),
        ("%Y-%j", {"day", "week", "month", "quarter", "year"}),
        ("%Y%m%dT%H", {"hour", "day", "week", "month", "quarter", "year"}),
        ("%Y%H", set()),
    ],
)
def test_a_finer_time_tells_a_coarser_slot(form, grains):
    field = PathPattern.parse(f"l/{{t:{form}}}").field
    assert {by for by in ("hour", "day", "week", "month", "quarter", "year") if field.determines(by)} == grains


def test_a_path_without_field_or_partition_is_fine():
    PathPattern.parse("landing/*.csv").check_time(None)


# --------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("landing/{day:%Y%m%d}/*.csv", "20130105/a.csv", "20130105"),
        ("landing/{day:%Y%m%d}/*.csv", "landing/20130105/a.csv", "20130105"),
        ("landing/{day:%Y%m%d}/*.csv", "20130105/b/a.csv", None),
        ("landing/{day:%Y%m%d}/*.csv", "2013010/a.csv", None),
        ("landing/{day:%Y%m%d}/*.csv", "20130105/a.json", None),
        ("landing/{day}.csv", "2013-01-05.csv", "2013-01-05"),
        ("landing/{day}-*.csv", "2013-01-05-a-b.csv", "2013-01-05"),
        ("landing/{day}*.csv", "2013-01-05.csv", "2013-01-05"),
        ("landing/{hour}.csv", "2024-11-03T01-04:00.csv", "2024-11-03T01-04:00"),
        ("landing/{week}.csv", "2013-W01.csv", "2013-W01"),
        ("landing/{quarter}.csv", "2013-Q1.csv", "2013-Q1"),
        ("landing/{day}", "2013-01-05/part-0.csv", "2013-01-05"),
        ("landing/{day}/", "2013-01-05/part-0.csv", "2013-01-05"),
        ("landing/{day:year=%Y/month=%m/day=%d}/*.csv", "year=2013/month=01/day=05/a.csv", "year=2013/month=01/day=05"),
        ("landing/**/{day}.csv", "2013-01-05.csv", "2013-01-05"),
        ("landing/**/{day}.csv", "a/b/2013-01-05.csv", "2013-01-05"),
        ("landing/?/{day}.csv", "a/2013-01-05.csv", "2013-01-05"),
        ("landing/?/{day}.csv", "ab/2013-01-05.csv", None),
        ("landing/*.csv", "a.csv", ""),
        ("landing/*.csv", "a.csv/part-0", ""),
        ("landing/*.csv", "acsv", None),
        ("landing", "anything/at.all", ""),
    ],
)
def test_matches(pattern, path, expected):
    assert PathPattern.parse(pattern).match(path) == expected


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("landing/{day:%Y%m%d}.csv", "backup.csv", True),
        ("landing/{day:%Y%m%d}.csv", "2013-01-05.csv", True),
        ("landing/{day:%Y%m%d}.csv", "notes.txt", False),
        ("landing/{day}*.csv", "old.csv", True),
        ("landing/{day:%Y/%m/%d}.csv", "2013/01/x.csv", True),
        ("landing/{day:%Y/%m/%d}.csv", "2013/x.csv", False),
    ],
)
def test_a_misnamed_file_resembles_the_pattern(pattern, path, expected):
    parsed = PathPattern.parse(pattern)
    assert parsed.match(path) is None
    assert parsed.resembles(path) is expected


@pytest.mark.parametrize(
    ("pattern", "depth", "name", "expected"),
    [
        ("l/{day:%Y%m%d}/x*/*.csv", 1, "20130105", True),
        ("l/{day:%Y%m%d}/x*/*.csv", 1, "misnamed", True),
        ("l/{day:%Y%m%d}/x*/*.csv", 2, "xyz", True),
        ("l/{day:%Y%m%d}/x*/*.csv", 2, "yz", False),
        ("l/{day:%Y%m%d}/x*/*.csv", 3, "a.csv", True),
        ("l/{day:%Y%m%d}/x*/*.csv", 3, "a", False),
        ("l/{day:%Y%m%d}/x*/*.csv", 4, "a.csv", False),
        ("l/d-{day:%Y/%m}/*", 1, "d-2013", True),
        ("l/d-{day:%Y/%m}/*", 1, "2013", False),
        ("l/a*/**/*.csv", 1, "b", False),
        ("l/a*/**/*.csv", 1, "ab", True),
        ("l/a*/**/*.csv", 7, "anything", True),
        ("l/**/*.csv", 1, "anything", True),
        ("l", 1, "country=nl", True),
        ("l", 1, "archive", False),
    ],
)
def test_enters_only_folders_that_can_hold_matches(pattern, depth, name, expected):
    assert PathPattern.parse(pattern).may_match_below(depth, name) is expected


def test_the_regex_finds_the_field_at_the_end_of_any_spelling_of_a_path():
    pattern = PathPattern.parse("/data/landing/{day:%Y%m%d}/*.csv")
    for path in ("/data/landing/20130105/a.csv", "file:///data/landing/20130105/a.csv", "20130105/a.csv"):
        assert re.search(pattern.regex, path)[1] == "20130105"
    assert re.search(pattern.regex, "/data/landing/x20130105/a.csv") is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [("_SUCCESS", True), (".a.csv.crc", True), ("a._COPYING_", True), ("_day=1", False), ("a_.csv", False)],
)
def test_hidden_names_are_those_that_spark_skips(name, expected):
    assert is_skipped_name(name) is expected


# --------------------------------------------------------------------------- times


@pytest.mark.parametrize(
    ("form", "text", "partition", "key"),
    [
        ("{t:%Y%m%d}", "20130105", TimePartition("day", "UTC"), "2013-01-05"),
        ("{t:%d.%m.%Y}", "05.01.2013", TimePartition("day", "Europe/Berlin"), "2013-01-05"),
        ("{t:%Y%j}", "2012366", TimePartition("day", "UTC"), "2012-12-31"),
        ("{t:%Y/%m/%d}", "2013/01/05", TimePartition("month", "UTC"), "2013-01"),
        ("{t:%Y%m}", "201305", TimePartition("quarter", "UTC"), "2013-Q2"),
        ("{t:%Y%m%d}", "20181231", TimePartition("week", "UTC"), "2019-W01"),
        ("{t:%G%V}", "201901", TimePartition("week", "UTC"), "2019-W01"),
        ("{t:%Y}", "2013", TimePartition("year", "UTC"), "2013"),
        ("{t:%Y%m%d%H}", "2013010506", TimePartition("hour", "Asia/Kolkata"), "2013-01-05T06"),
        ("{t:%Y%m%d%H}", "2013010506", TimePartition("day", "Asia/Kolkata"), "2013-01-05"),
        ("{t}", "2013-01-05T06", TimePartition("hour", "UTC"), "2013-01-05T06"),
        ("{t}", "2024-11-03T01-05:00", NEW_YORK_HOURS, "2024-11-03T01-05:00"),
        ("{t}", "2013-W01", TimePartition("week", "UTC"), "2013-W01"),
    ],
)
def test_the_slot_of_a_name(form, text, partition, key):
    pattern = PathPattern.parse(f"l/{form}.csv")
    assert pattern.slot_of_text(text, partition) == partition.parse_key(key)


@pytest.mark.parametrize(
    ("form", "text", "partition"),
    [
        ("{t:%Y%m%d}", "20130230", UTC_DAYS),
        ("{t:%Y%m%d}", "2013-0-2", UTC_DAYS),
        ("{t:%Y%m%d}", "201302011", UTC_DAYS),
        ("{t:%Y-%m-%d}", "2013_02_01", UTC_DAYS),
        ("{t:%Y%m%d%H}", "2013020124", TimePartition("hour", "UTC")),
        ("{t:%Y%m%d%H}", "2024031002", NEW_YORK_HOURS),
        ("{t:%Y%j}", "2013366", UTC_DAYS),
        ("{t:%Y%j}", "2013000", UTC_DAYS),
        ("{t:%G%V}", "201354", TimePartition("week", "UTC")),
        ("{t:%Y}", "0000", TimePartition("year", "UTC")),
        ("{t:%Y%m%d}", "20111230", TimePartition("day", "Pacific/Apia")),
        ("{t:%Y%m%d%H}", "2011123005", TimePartition("hour", "Pacific/Apia")),
        ("{t}", "2013-13-01", UTC_DAYS),
        ("{t}", "2013", UTC_DAYS),
        ("{t}", "2024-11-03T01", NEW_YORK_HOURS),
        ("*", "", UTC_DAYS),
    ],
)
def test_a_name_without_a_slot(form, text, partition):
    assert PathPattern.parse(f"l/{form}.csv").slot_of_text(text, partition) is None


@pytest.mark.parametrize(
    ("zone", "text", "first", "last"),
    [
        ("America/New_York", "2024110301", "2024-11-03T01-04:00", "2024-11-03T01-05:00"),
        ("Australia/Lord_Howe", "2024040701", "2024-04-07T01+11:00", "2024-04-07T01+10:30"),
    ],
)
def test_a_repeated_local_hour_without_offset_has_the_time_of_both(zone, text, first, last):
    hours = TimePartition("hour", zone)
    pattern = PathPattern.parse("l/{t:%Y%m%d%H}.csv")
    both = (hours.parse_key(first)[0], hours.parse_key(last)[1])
    assert pattern.slot_of_text(text, hours) == both
    for key in (first, last):
        start = hours.parse_key(key)[0]
        assert pattern.extent(start, hours) == both
        assert pattern.render(start, hours) == f"l/{text}.csv"


def test_half_of_an_hour_that_the_clocks_cut_is_its_slot():
    hours = TimePartition("hour", "Australia/Lord_Howe")
    assert PathPattern.parse("l/{t:%Y%m%d%H}").slot_of_text("2024100602", hours) == hours.parse_key("2024-10-06T02")


@pytest.mark.parametrize(
    ("path", "partition", "key", "expected"),
    [
        ("landing/{day:%Y%m%d}/*.csv", UTC_DAYS, "2013-01-05", "landing/20130105/*.csv"),
        ("landing/{day}.csv", UTC_DAYS, "2013-01-05", "landing/2013-01-05.csv"),
        ("{day}.csv", UTC_DAYS, "2013-01-05", "2013-01-05.csv"),
        ("/{day}.csv", UTC_DAYS, "2013-01-05", "/2013-01-05.csv"),
        ("s3://b/{w:%G-W%V}", TimePartition("week", "UTC"), "2019-W01", "s3://b/2019-W01"),
        ("l/{t:%Y%m%d}", TimePartition("month", "UTC"), "2013-02", "l/201302??"),
        ("l/{t:%Y%m%d}", TimePartition("week", "UTC"), "2019-W01", "l/????????"),
        ("l/{t:%Y%m}", TimePartition("quarter", "UTC"), "2013-Q2", "l/2013??"),
        ("l/{t:%Y%m%d-%H}", UTC_DAYS, "2013-01-05", "l/20130105-??"),
        ("l/{t:%Y%j}", TimePartition("year", "UTC"), "2013", "l/2013???"),
        ("l/{t:%Y%m%d}", TimePartition("day", "America/Santiago"), "2023-09-03", "l/20230903"),
        ("l/*.csv", UTC_DAYS, "2013-01-05", "l/*.csv"),
    ],
)
def test_renders_the_path_of_one_slot(path, partition, key, expected):
    assert PathPattern.parse(path).render(partition.parse_key(key)[0], partition) == expected


FORMS = {
    "hour": ["{t}", "{t:%Y%m%d%H}", "{t:%Y/%j/%H}"],
    "day": ["{t}", "{t:%Y%m%d}", "{t:%Y-%j}", "{t:%Y%m%d%H}"],
    "week": ["{t}", "{t:%G-W%V}", "{t:%Y%m%d}"],
    "month": ["{t}", "{t:%Y%m}", "{t:%Y%m%d}"],
    "quarter": ["{t}", "{t:%Y%m}"],
    "year": ["{t}", "{t:%Y}", "{t:%Y%m%d}"],
}


@given(
    st.sampled_from([(by, form) for by, forms in FORMS.items() for form in forms]),
    st.sampled_from(["UTC", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "America/Havana"]),
    st.integers(0, 2_000_000_000),
)
def test_what_is_rendered_is_found_again(by_form, zone, at):
    by, form = by_form
    partition = TimePartition(by, zone)
    pattern = PathPattern.parse(f"l/{form}/*.csv")
    start = partition.floor(at)
    rendered = pattern.render(start, partition)
    if "?" in rendered:
        assert re.fullmatch(rendered.replace("?", "[0-9]").replace("*", "x"), _written(pattern, partition, start))
    else:
        text = pattern.match(rendered.replace("*", "x"))
        assert pattern.slot_of_text(text, partition) == pattern.extent(start, partition)


def _written(pattern, partition, start):
    """The path of a file of the slot's second day or hour."""
    second = partition.local_start(start) + timedelta(days=1 if partition.by != "day" else 0, hours=1)
    return f"l/{pattern.field.write(second, second)}/x.csv"


@given(st.dates(date(1971, 1, 1), date(2100, 1, 1)))
def test_a_days_name_has_its_slot(day):
    pattern = PathPattern.parse("l/{day:%Y%m%d}.csv")
    assert pattern.slot_of_text(f"{day:%Y%m%d}", UTC_DAYS) == UTC_DAYS.parse_key(day.isoformat())


# --------------------------------------------------------------------------- fingerprints

FILES = st.lists(
    st.tuples(st.text(max_size=5), st.integers(0, 9), st.integers(0, 9)), max_size=5, unique_by=lambda file: file[0]
)


@given(FILES, FILES)
def test_a_fingerprint_tells_sets_of_files_apart(one, other):
    assert (fingerprint(one) == fingerprint(other)) == (sorted(one) == sorted(other))


def test_a_fingerprint_is_short_and_stays_the_same_between_versions():
    assert fingerprint([("a.csv", 1, 2)]) == "d2b4476905c57b5c"


# --------------------------------------------------------------------------- segments

REGIONS = SegmentPartition("region", ("de", "nl"))
TENANTS = SegmentPartition("tenant", ("a",))


@pytest.mark.parametrize(
    ("text", "path", "time", "segment"),
    [
        ("l/{region}/{day:%Y%m%d}/*.csv", "l/nl/20130105/a.csv", "20130105", ("nl",)),
        ("l/{day:%Y/%m/%d}/{region}.csv", "l/2013/01/05/n.l.csv", "2013/01/05", ("n.l",)),
        ("l/{tenant}-{region}_{day}.csv", "l/a-b-nl_x_2013-01-05.csv", "2013-01-05", ("nl_x", "a-b")),
        ("l/{region}{day:%Y%m%d}.csv", "l/nl20130105.csv", "20130105", ("nl",)),
        ("l/region={region}/*", "l/region=a%2Fb%20c/x", "", ("a/b c",)),
        ("l/region={region}/*", "l/region=__HIVE_DEFAULT_PARTITION__/x", "", None),
        ("l/{region}/*", "l/__HIVE_DEFAULT_PARTITION__/x", "", ("__HIVE_DEFAULT_PARTITION__",)),
        ("l/{region}/*", "l/100%25/x", "", ("100%25",)),
        ("l/**/{region}/{tenant}/*.csv", "l/x/y/nl/a/1.csv", "", ("nl", "a")),
        ("l/{region}", "l/nl/1.csv", "", ("nl",)),
        ("l/{region}/{day}.csv", "l/nl/x.csv", None, ()),
    ],
)
def test_a_path_tells_its_segments(text, path, time, segment):
    pattern = PathPattern.parse(text, ["region", "tenant"])
    assert (pattern.match(path), pattern.segments_of_path(path)) == (time, segment)
    assert pattern.resembles(path)


segment_texts = st.text("aé-_.=%2 ", min_size=1, max_size=6)


@given(segment_texts, segment_texts, st.dates(date(1000, 1, 1), date(8999, 12, 31)))
def test_what_a_path_is_made_of_is_read_from_it(region, tenant, day):
    pattern = PathPattern.parse("in/{region}/x{tenant}/{day:%Y%m%d}.csv", ["tenant", "region"])
    path = f"in/{region}/x{tenant}/{day:%Y%m%d}.csv".replace(f"{day:%Y%m%d}", f"{day.year:04d}{day:%m%d}")
    assert pattern.fields == ("day", "tenant", "region")
    assert pattern.segments_of_path(path) == (tenant, region)
    assert pattern.match(path) == f"{day.year:04d}{day:%m%d}"


@given(st.tuples(st.text(max_size=5), st.text(max_size=5)), st.none() | st.integers(-(10**10), 10**10))
def test_the_key_of_a_slot_is_read_back(segment, start):
    partitioning = Partitioning(UTC_DAYS if start is not None else None, (REGIONS, TENANTS))
    slot = FileSlot(segment, start)
    assert FileSlot.of_key(slot.key, partitioning) == slot
    assert FileSlot.of_key(slot.key, Partitioning(partitioning.time, (REGIONS,))) is None
    assert FileSlot.of_key("", partitioning) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "l/{region:%Y}/*.csv",
            "the field '{region:%Y}' has a format, but 'region' is a column of segments\n  hint: write {region}",
        ),
        (
            "l/{region}*.csv",
            "{region} and * need a separator between them\n  hint: write what stands between them",
        ),
        (
            "l/{tenant}{region}.csv",
            "{tenant} and {region} need a separator between them\n  hint: write what stands between them",
        ),
        ("l/{region}/{region}.csv", "the field {region} is used twice\n  hint: write '*' where it repeats"),
    ],
)
def test_refuses_segments_that_cannot_be_told(text, expected):
    with pytest.raises(PatternError) as error:
        PathPattern.parse(text, ["region", "tenant"])
    assert message(error) == expected


def test_every_dimension_of_segments_has_a_field():
    pattern = PathPattern.parse("l/{region}/*.csv", ["region", "tenant"])
    pattern.check_segments([REGIONS])
    with pytest.raises(PatternError) as error:
        pattern.check_segments([REGIONS, TENANTS])
    assert message(error) == (
        "'l/{region}/*.csv' does not identify the tenant of a file\n  hint: write {tenant} in place of the segment "
        "such as 'a'"
    )


@given(st.integers(0, 400), st.sampled_from(["{day:%Y%m%d}", "{day:%Y%m%d%H}", "{day}"]), st.booleans())
def test_a_slot_holds_the_partitions_that_its_names_tell(hour, field, segmented):
    """Around a change of clocks: a format has no offset, so that a repeated hour's files are of both."""
    by = "hour" if field != "{day:%Y%m%d}" else "day"
    time = TimePartition(by, "America/New_York", column="day")
    partitioning = Partitioning(time, (REGIONS,) if segmented else ())
    pattern = PathPattern.parse(f"in/{{region}}/{field}.csv", ["region"])
    start = time.floor(1730000000 + 3600 * hour)
    path = pattern.render(start, time).replace("*", "nl", 1).replace("??", "00")
    found = pattern.time_of_text(pattern.match(path), partitioning)
    segment = pattern.segments_of_path(path) if segmented else ()
    slot = FileSlot(segment, found[0])
    assert slot.parts(pattern, partitioning) == PartitionSet.from_slots([(segment, found)])
    assert slot.parts(pattern, partitioning).covers(PartitionSet.from_slots([(segment, (start, time.next(start)))]))
    assert slot.partition_key(partitioning) == ",".join([time.key(found[0]), *segment])
