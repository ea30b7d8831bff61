"""Partitions by segments and products as they are compiled, with what follows from them."""

import pytest

from sparkassets.core.partitions import OverlapMapping, Partitioning, SegmentPartition, TimePartition
from sparkassets.core.spec.model import PartitionRequirement
from sparkassets.core.strategies import DateRange, SegmentBatches
from tests.core.spec.in_memory import compiled, errors

SHOPS = "[{by: hour, column: hour}, {segments: ['1', '-2'], column: shop}]"
REGIONS = SegmentPartition("region", ("de", "nl"))
FLIGHTS = """
asset: flights
source: delta
path: flights
partition: [{by: day, column: day}, {segments: [nl, de], column: region}]
"""
RATES = "asset: rates\nsource: delta\npath: rates\npartition: {segments: [de, nl], column: Region}"


def project(text, **more):
    files = {"a.yml": f"asset: a\n{text}", "a.sql": "SELECT *", "flights.yml": FLIGHTS, "rates.yml": RATES}
    return compiled({**files, **more})


def one(text):
    return project(text).assets["a"]


@pytest.mark.parametrize(
    ("text", "partitioning", "strategy"),
    [
        ("partition: {segments: [nl, de], column: region}", Partitioning(None, (REGIONS,)), SegmentBatches()),
        ("partition: [{segments: [nl, de], column: region}]", Partitioning(None, (REGIONS,)), SegmentBatches()),
        (
            "partition: {segments: [nl, de], column: region}\nstrategy: {segments: {max_partitions_per_run: 7}}",
            Partitioning(None, (REGIONS,)),
            SegmentBatches(7),
        ),
        (
            "partition: {segments: [nl, de], column: region}\nstrategy: segments\nstart: 2025-01-01",
            Partitioning(None, (REGIONS,)),
            SegmentBatches(),
        ),
        (
            "partition: [{segments: [de, nl], column: region}, {by: hour, column: hour}]\nstrategy: date_range",
            Partitioning(TimePartition("hour", "UTC", "hour"), (REGIONS,), 1),
            DateRange(),
        ),
        (
            f"partition: {SHOPS}\ncolumns: {{hour: timestamp, shop: INT}}",
            Partitioning(TimePartition("hour", "UTC", "hour"), (SegmentPartition("shop", ("-2", "1")),)),
            DateRange(),
        ),
    ],
)
def test_dimensions_in_the_order_of_the_list(text, partitioning, strategy):
    found = one(text)
    assert (found.partitioning, found.strategy) == (partitioning, strategy)
    assert found.start is None


@pytest.mark.parametrize("kind", ["string", "VARCHAR(3)", "date"])
def test_columns_that_hold_such_keys(kind):
    assert one(f"partition: {{segments: [2025-01-01], column: d}}\ncolumns: {{d: {kind}}}").partitioning.segments


def test_segments_may_have_any_column_where_partitions_has_no_time_of_a_partition():
    assert one("partition: {segments: [de, nl], column: start}").partitioning.segments
    written = FLIGHTS.replace("region", "end")
    assert project("partition: none", **{"flights.yml": written}).assets["flights"].partitioning.segments


BOTH = "[{by: day, column: day}, {segments: [de, nl], column: region}]"


@pytest.mark.parametrize(
    ("partition", "flights", "rates"),
    [
        (BOTH, (OverlapMapping(), "rerun"), (OverlapMapping(), "ignore")),
        ("{by: day, column: day}", (OverlapMapping(), "rerun"), (None, "ignore")),
        ("{segments: [de], column: region}", (OverlapMapping(), "rerun"), (OverlapMapping(), "rerun")),
        ("{segments: [de], column: land}", (None, "rerun"), (None, "rerun")),
        ("none", (None, "rerun"), (None, "rerun")),
    ],
)
def test_inlets_are_mapped_by_the_dimensions_that_both_have(partition, flights, rates):
    inlets = one(f"partition: {partition}\ninlets: [flights, rates]").inlets
    assert (inlets["flights"].mapping, inlets["flights"].on_update) == flights
    assert (inlets["rates"].mapping, inlets["rates"].on_update) == rates


def test_a_count_goes_by_all_segments_of_a_dimension_that_only_the_inlet_has():
    found = one("partition: {by: day, column: day}\ninlets: {flights: {require: {at_least: 2}}}")
    assert found.inlets["flights"].require == PartitionRequirement("at_least", 2)


def test_segments_that_are_named_unlike_are_probably_not_meant():
    found = project(f"partition: {BOTH.replace('region', 'land')}\ninlets: [flights]").warnings
    (warning,) = found
    assert str(warning) == (
        "a.yml:3:10: 'a' has segments by land, 'flights' by region: each partition reads all segments of "
        "'flights'\n    inlets: [flights]\n             ^^^^^^^\n  hint: dimensions match by column; write "
        "`partitions: {land: region}` if both mean the same"
    )


OPEN = "{segments: runtime, column: carrier}"
RAW = "asset: raw\nsource: delta\npath: raw\n"


@pytest.mark.parametrize("strategy", ["", "\nstrategy: every_instance"])
def test_no_query_asks_for_segments_that_only_rows_make_known(strategy):
    text = f"asset: a\npartition: {OPEN}{strategy}\n"
    sql = "SELECT r.* FROM {{ inlets.raw }} r JOIN {{ partitions }} p ON p.carrier = r.carrier"
    assert errors({"a.yml": text, "a.sql": sql, "raw.yml": RAW}) == (
        "a.sql:1:44: 'partitions' has no 'carrier': no inlet lists its segments, so rows of new segments would be "
        "lost\n    SELECT r.* FROM {{ inlets.raw }} r JOIN {{ partitions }} p ON p.carrier = "
        "r.carrier\n                                               ^^^^^^^^^^\n  hint: leave it out, and a run "
        "keeps all rows; or let an inlet list the segments, such as by partitions: {from: <column>}"
    )


def test_the_one_partition_of_a_run_has_no_segment_that_only_rows_make_known():
    text = f"asset: a\npartition: [{{by: day, column: day}}, {OPEN}]\nstrategy: every_instance\n"
    text += "inlets: {raw: {on_update: rerun}}\n"
    sql = "SELECT * FROM {{ inlets.raw }} WHERE day = {{ partition.day }} AND c = {{ partition.carrier }}"
    first, *_, hint = errors({"a.yml": text, "a.sql": sql, "raw.yml": RAW}).splitlines()
    assert first.startswith("a.sql:1:85: 'partition' has no 'carrier': no inlet lists its segments")
    assert hint.startswith("  hint: use only day, and a run keeps all rows")


@pytest.mark.parametrize(
    ("keys", "files"),
    [
        ("inlets: {raw: {partitions: {from: carrier}}}", {"raw.yml": RAW}),
        ("inlets: [raw]", {"raw.yml": f"{RAW}partition: {OPEN}\n"}),
        (
            "inlets: [raw, carriers]",
            {"raw.yml": RAW, "carriers.yml": f"asset: carriers\nsource: true\npartition: {OPEN}"},
        ),
        ("strategy: every_instance\nwrite: append", {"raw.yml": RAW, "a.sql": "SELECT carrier FROM {{ partitions }}"}),
    ],
)
def test_a_query_may_ask_for_segments_that_an_inlet_lists_or_that_it_reads_no_rows_of(keys, files):
    sql = "SELECT p.carrier FROM {{ inlets.raw }} r JOIN {{ partitions }} p ON p.carrier = r.carrier"
    found = project(f"partition: {OPEN}\n{keys}", **{"a.sql": sql, **files})
    assert found.assets["a"].segments_from_rows == ()


def test_segments_are_from_rows_where_no_inlet_has_their_dimension():
    segments = "[{by: day, column: day}, {segments: runtime, column: region}, {segments: runtime, column: carrier}]"
    listing = f"{RAW}partition: {{segments: runtime, column: region}}\n"
    text = f"partition: {segments}\ninlets: {{raw: {{on_update: rerun}}}}"
    found = project(text, **{"a.sql": "SELECT * FROM {{ inlets.raw }}", "raw.yml": listing})
    assert found.assets["a"].segments_from_rows == ("carrier",)
    assert found.assets["a"].listed_partition_names == ("day", "region")


def test_a_template_knows_the_columns_of_all_dimensions():
    sql = "SELECT day, '{{ partition.region }}' AS region FROM {{ inlets.flights }}"
    assert project(f"partition: {BOTH}", **{"a.sql": sql}).assets["a"].inlets["flights"].mapping == OverlapMapping()


@pytest.mark.parametrize(
    ("path", "partition", "columns", "partitioning"),
    [
        ("x/{region}/{day:%Y%m%d}.csv", BOTH, "", Partitioning(TimePartition("day", "UTC", "day"), (REGIONS,))),
        ("x/region={region}/*", "{segments: [de, nl], column: region}", "{id: int}", Partitioning(None, (REGIONS,))),
    ],
)
def test_fields_of_a_path_are_segments(path, partition, columns, partitioning):
    found = one(f"source: csv\npath: {path}\npartition: {partition}" + (f"\ncolumns: {columns}" if columns else ""))
    assert found.partitioning == partitioning
