"""What `partitions` of an inlet may say, as a model; what it cannot, each refused where it stands."""

import pytest

from sparkassets.core.partitions import (
    NewestMapping,
    OverlapMapping,
    Partitioning,
    SegmentMatch,
    SegmentPartition,
    TimePartition,
    WholeMapping,
)
from sparkassets.core.spec.model import PartitionRequirement
from tests.core.spec.in_memory import compiled, errors

INLETS = {
    "sales.yml": """
        asset: sales
        source: delta
        path: sales
        partition: [{by: day, column: day}, {segments: [de, jp, nl], column: country}]
    """,
    "rates.yml": """
        asset: rates
        source: delta
        path: rates
        partition: {segments: [de, jp, nl], column: country}
    """,
    "plain.yml": "asset: plain\nsource: delta\npath: plain",
    "stores.yml": """
        asset: stores
        source: delta
        path: stores
        partition: [{segments: [a, b], column: store}, {segments: [de, jp, nl], column: country}]
    """,
    "days.yml": "asset: days\nsource: delta\npath: days\npartition: {by: day, column: day}",
}
REGIONS = "{segments: [apac, emea], column: region}"
BOTH = f"[{{by: day, column: day}}, {REGIONS}]"
COUNTRIES = "{segments: [de, jp], column: land}"
MAPPED = (SegmentMatch("region", "country", (("apac", ("jp",)), ("emea", ("de", "nl")))),)
KEYS = "{emea: [de, nl], apac: [jp]}"


def files(partition, inlets):
    return {"a.yml": f"asset: a\npartition: {partition}\ninlets: {inlets}", "a.sql": "SELECT 1", **INLETS}


@pytest.mark.parametrize(
    ("partition", "inlets", "mapping", "matches", "on_update"),
    [
        (REGIONS, f"{{sales: {{partitions: {KEYS}}}}}", OverlapMapping(), MAPPED, "rerun"),
        (BOTH, f"{{sales: {{partitions: {KEYS}, window: 7d}}}}", None, MAPPED, "rerun"),
        (REGIONS, f"{{stores: {{partitions: {{region: {{country: {KEYS}}}}}}}}}", OverlapMapping(), MAPPED, "rerun"),
        (
            BOTH,
            f"{{sales: {{partitions: {{day: latest, region: {KEYS}}}}}, days: }}",
            NewestMapping(),
            MAPPED,
            "ignore",
        ),
        (REGIONS, f"{{sales: {{partitions: {{day: latest, region: {KEYS}}}}}}}", NewestMapping(), MAPPED, "rerun"),
        (BOTH, "{sales: {partitions: latest}, days: }", NewestMapping(), None, "ignore"),
        (REGIONS, "{days: {partitions: latest}}", NewestMapping(), None, "rerun"),
        (BOTH, "{sales: {partitions: all}}", WholeMapping(), (), "rerun"),
        (BOTH, "{sales: {partitions: {day: all}}}", WholeMapping(), None, "rerun"),
        (
            COUNTRIES,
            "{sales: {partitions: {land: country}}}",
            OverlapMapping(),
            (SegmentMatch("land", "country"),),
            "rerun",
        ),
        ("{segments: [de], column: country}", "{rates: {partitions: {country: all}}}", OverlapMapping(), (), "rerun"),
    ],
)
def test_what_is_said(partition, inlets, mapping, matches, on_update):
    inlet, *_ = compiled(files(partition, inlets)).assets["a"].inlets.values()
    assert mapping in (None, inlet.mapping)
    assert inlet.matches == matches
    assert inlet.on_update == on_update


def test_keys_that_nobody_names_are_probably_forgotten():
    first, second = compiled(files(REGIONS, "{sales: {partitions: {emea: [de]}}}")).warnings
    assert str(first) == (
        "a.yml:3:30: 'apac' of 'region' needs nothing of 'sales': not in the map\n    inlets: {sales: {partitions: "
        "{emea: [de]}}}\n                                 ^^^^^^^^^^^^\n  hint: write `apac: []` if you mean that"
    )
    assert second.message == "no partition of 'a' needs 'jp' and 'nl' of 'country': not in the map"


@pytest.mark.parametrize(
    ("partition", "inlets", "expected"),
    [
        (
            REGIONS,
            "{sales: {partitions: {emae: [de, nk], apac: [jp, jp]}}}",
            """\
a.yml:3:31: 'emae' is not a segment of 'region' of asset 'a'
    inlets: {sales: {partitions: {emae: [de, nk], apac: [jp, jp]}}}
                                  ^^^^
  hint: did you mean 'emea'?
a.yml:3:42: 'nk' is not a segment of 'country' of asset 'sales'
    inlets: {sales: {partitions: {emae: [de, nk], apac: [jp, jp]}}}
                                             ^^
  hint: known are de, jp, nl
a.yml:3:58: the segment 'jp' is listed twice
    inlets: {sales: {partitions: {emae: [de, nk], apac: [jp, jp]}}}
                                                             ^^
""",
        ),
        (
            REGIONS,
            "{sales: {partitions: {emea: []}}}",
            """\
a.yml:3:10: 'a' and 'sales' have no segment in common
    inlets: {sales: {partitions: {emea: []}}}
             ^^^^^
  hint: compare the segments of both assets
""",
        ),
        (
            REGIONS,
            "{sales: {partitions: {emea: de}}}",
            """\
a.yml:3:31: 'emea' is neither a dimension of 'a' nor the time of 'sales'
    inlets: {sales: {partitions: {emea: de}}}
                                  ^^^^
  hint: write {emea: [de]}
""",
        ),
        (
            REGIONS,
            "{sales: {partitions: {emea: [1]}}}",
            """\
a.yml:3:30: the map of partitions is empty
    inlets: {sales: {partitions: {emea: [1]}}}
                                 ^^^^^^^^^^^
  hint: write {<key>: [<key>, …], …}
a.yml:3:38: item 1 of 'emea' in 'partitions' is 1; expected text
    inlets: {sales: {partitions: {emea: [1]}}}
                                         ^
  hint: put it in quotes
""",
        ),
        (
            REGIONS,
            "{sales: {partitions: latst}}",
            """\
a.yml:3:30: 'partitions' of inlet 'sales' is 'latst'; expected all, latest or aligned
    inlets: {sales: {partitions: latst}}
                                 ^^^^^
  hint: did you mean 'latest'?
""",
        ),
        (
            "none",
            "{plain: {partitions: [a]}}",
            """\
a.yml:3:18: 'partitions' maps partitions, but asset 'plain' has none
    inlets: {plain: {partitions: [a]}}
                     ^^^^^^^^^^
""",
        ),
        (
            "none",
            "{sales: {partitions: latest, window: 7d}}",
            """\
a.yml:3:38: 'window' and 'partitions: latest' exclude each other
    inlets: {sales: {partitions: latest, window: 7d}}
                                         ^^^^^^
""",
        ),
        (
            REGIONS,
            "{sales: {partitions: [a]}}",
            """\
a.yml:3:31: of asset 'sales': 'a' is not a partition key by day; expected one such as 2013-01-05
    inlets: {sales: {partitions: [a]}}
                                  ^
""",
        ),
        (
            REGIONS,
            "{rates: {partitions: latest}}",
            """\
a.yml:3:30: 'latest' needs time partitions, but asset 'rates' is not partitioned by time
    inlets: {rates: {partitions: latest}}
                                 ^^^^^^
  hint: leave it out: an inlet is always read at its newest version
""",
        ),
        (
            REGIONS,
            "{plain: {partitions: latest}}",
            """\
a.yml:3:18: 'partitions' maps partitions, but asset 'plain' has none
    inlets: {plain: {partitions: latest}}
                     ^^^^^^^^^^
""",
        ),
        (
            "none",
            "{sales: {partitions: all}}",
            """\
a.yml:3:18: 'partitions' maps partitions, but asset 'a' has none
    inlets: {sales: {partitions: all}}
                     ^^^^^^^^^^
""",
        ),
        (
            REGIONS,
            "{stores: {partitions: {emea: [de]}}}",
            """\
a.yml:3:31: asset 'stores' has segments by store and country: say which of them these keys need
    inlets: {stores: {partitions: {emea: [de]}}}
                                  ^^^^^^^^^^^^
  hint: write {region: {store: {<key>: [<key>, …]}}}
""",
        ),
        (
            REGIONS,
            "{stores: {partitions: {region: country}}}",
            """\
a.yml:3:10: 'a' and 'stores' have no segment in common
    inlets: {stores: {partitions: {region: country}}}
             ^^^^^^
  hint: compare the segments of both assets
""",
        ),
        (
            REGIONS,
            "{stores: {partitions: {region: contry}}}",
            """\
a.yml:3:32: asset 'stores' has no segments by 'contry'; it has store and country
    inlets: {stores: {partitions: {region: contry}}}
                                   ^^^^^^
  hint: did you mean 'country'?
""",
        ),
        (
            REGIONS,
            "{stores: {partitions: {regoin: country}}}",
            """\
a.yml:3:32: 'regoin' is neither a dimension of 'a' nor the time of 'stores'
    inlets: {stores: {partitions: {regoin: country}}}
                                   ^^^^^^
  hint: did you mean 'region'?
""",
        ),
        (
            REGIONS,
            "{stores: {partitions: {region: latest}}}",
            """\
a.yml:3:40: 'latest' needs time, but 'region' of asset 'a' is a dimension of segments
    inlets: {stores: {partitions: {region: latest}}}
                                           ^^^^^^
""",
        ),
        (
            REGIONS,
            "{stores: {partitions: {region: {}}}}",
            """\
a.yml:3:40: expected one map of keys
    inlets: {stores: {partitions: {region: {}}}}
                                           ^^
  hint: write {region: {<key>: [<key>, …], …}}
""",
        ),
        (
            REGIONS,
            "{sales: {partitions: {}}}",
            """\
a.yml:3:30: the map of partitions is empty
    inlets: {sales: {partitions: {}}}
                                 ^^
  hint: write {<key>: [<key>, …], …}
""",
        ),
        (
            REGIONS,
            "{sales: {partitions: {day: country}}}",
            """\
a.yml:3:36: 'day' is a time dimension; expected 'all' or 'latest'
    inlets: {sales: {partitions: {day: country}}}
                                       ^^^^^^^
  hint: leave it out: time maps by overlap, or by a `window` beside `partitions`
""",
        ),
        (
            REGIONS,
            "{sales: {partitions: {emea: [de], region: all}}}",
            """\
a.yml:3:31: 'emea' has a list of keys, but other entries name a dimension
    inlets: {sales: {partitions: {emea: [de], region: all}}}
                                  ^^^^
  hint: write {<column>: {<key>: [<key>, …]}, …}
""",
        ),
        (
            REGIONS,
            "{days: {partitions: {emea: [de]}}}",
            """\
a.yml:3:29: a map of keys needs segments, but asset 'days' has none
    inlets: {days: {partitions: {emea: [de]}}}
                                ^^^^^^^^^^^^
""",
        ),
        (
            "{by: day, column: day}",
            "{days: {partitions: {emea: [de]}}}",
            """\
a.yml:3:29: a map of keys needs segments, but asset 'a' has none
    inlets: {days: {partitions: {emea: [de]}}}
                                ^^^^^^^^^^^^
  hint: time maps by overlap, or by 'window'
""",
        ),
        (
            BOTH,
            "{sales: {partitions: latest, window: 7d}}",
            """\
a.yml:3:38: 'window' and 'partitions: latest' exclude each other
    inlets: {sales: {partitions: latest, window: 7d}}
                                         ^^^^^^
""",
        ),
        (
            BOTH,
            "{sales: {partitions: latest, require: {at_least: 2}}}",
            """\
a.yml:3:47: 'partitions: latest' is a single partition, so 'require' cannot count
    inlets: {sales: {partitions: latest, require: {at_least: 2}}}
                                                  ^^^^^^^^^^^^^
""",
        ),
        (
            BOTH,
            "{sales: {partitions: all, window: 7d}}",
            """\
a.yml:3:35: 'window' and 'partitions: all' exclude each other
    inlets: {sales: {partitions: all, window: 7d}}
                                      ^^^^^^
""",
        ),
        (
            BOTH,
            "{sales: {partitions: {region: country}}}",
            """\
a.yml:3:10: 'a' and 'sales' have no segment in common
    inlets: {sales: {partitions: {region: country}}}
             ^^^^^
  hint: compare the segments of both assets
""",
        ),
        (
            "[{segments: [x], column: region}, {segments: [y], column: area}]",
            "{rates: {partitions: {region: country, area: country}}}",
            """\
a.yml:3:48: 'region' is already mapped to 'country' of 'rates'
    inlets: {rates: {partitions: {region: country, area: country}}}
                                                   ^^^^
""",
        ),
        (
            "[{segments: [x], column: region}, {segments: [y], column: area}]",
            "{rates: {partitions: {x: [de]}}}",
            """\
a.yml:3:30: asset 'a' has segments by region and area: say which of them these keys belong to
    inlets: {rates: {partitions: {x: [de]}}}
                                 ^^^^^^^^^
  hint: write {region: {<key>: [<key>, …]}}
""",
        ),
    ],
)
def test_what_cannot_be_said_is_refused_where_it_stands(partition, inlets, expected):
    assert errors(files(partition, inlets)) == expected.rstrip("\n")


VIEWED = {
    "raw.yml": "asset: raw\nsource: delta\npath: raw\ncolumns: {happened: date, region: string, amount: int}",
    "landed.yml": """
        asset: landed
        source: delta
        path: landed
        partition: [{by: day, column: day}, {segments: [apac, emea, us], column: region}]
    """,
    "events.yml": "asset: events\nsource: true\nuri: x-events",
    "landing.yml": "asset: landing\nsource: csv\npath: landing/{region}/*.csv\n"
    "columns: {day: date, amount: double, note: string}\npartition: {segments: [a, b], column: region}",
    "lines.yml": "asset: lines\nsource: json\npath: lines/*.json",
    "bare.yml": "asset: bare\nsource: csv\npath: bare/*.csv\noptions: {header: false}",
    "own.yml": "asset: own\npartition: {by: day, column: day}\nsql: SELECT DATE '2025-01-01' AS day",
}
DAY = "{by: day, column: day, timezone: Europe/Berlin, start: 2025-01-01}"
HAPPENED = TimePartition("day", "Europe/Berlin", column="happened")


def viewed(partition, inlets):
    return files(partition, inlets) | VIEWED


def test_values_of_a_column_make_partitions_of_their_own():
    found = compiled(viewed(DAY, "{raw: {partitions: {from: happened}, window: 2d}}"))
    inlet = found.assets["a"].inlets["raw"]
    assert inlet.view == Partitioning(HAPPENED)
    assert inlet.uri == "sparkassets:raw/happened?by=day&timezone=Europe/Berlin"
    assert (inlet.require, inlet.on_update) == (PartitionRequirement("any"), "rerun")
    assert found.assets["raw"].views == {inlet.uri: inlet.view}
    assert found.dependency(found.assets["a"], inlet).is_mapped


def test_segments_that_the_inlet_has_itself_match_as_ever():
    found = compiled(viewed(f"[{DAY}, {REGIONS}]", "{landed: {partitions: {from: happened}}}"))
    view = found.assets["a"].inlets["landed"].view
    assert view == Partitioning(HAPPENED, (SegmentPartition("region", ("apac", "emea", "us")),))


def test_files_are_asked_of_values_besides_what_their_paths_tell():
    region = "{segments: [a, b], column: region}"
    found = compiled(viewed(f"[{DAY}, {region}]", "{landing: {partitions: {from: day}}}"))
    inlet, read = found.assets["a"].inlets["landing"], found.inlet_with_mapping(found.assets["a"], "landing")
    assert inlet.view is not None
    assert inlet.view.columns == ("day", "region")
    assert (read.partitioning, read.path_partitioning) == (inlet.view, found.assets["landing"].partitioning)
    assert list(read.views) == [inlet.uri]


def test_slots_that_are_shifted_or_left_out_are_another_view():
    shifted = "{by: day, column: day, offset: 6h, exclude: '* * * * SUN'}"
    found = compiled(viewed(shifted, "{raw: {partitions: {from: happened}}}"))
    uri = found.assets["a"].inlets["raw"].uri
    assert uri.endswith("?by=day&timezone=UTC&offset=21600&exclude=%2A%20%2A%20%2A%20%2A%20SUN")


def test_segments_alone_go_by_the_column_and_two_assets_share_a_view():
    asked = viewed(REGIONS, "{raw: {partitions: {from: region}}}")
    asked["b.yml"] = "asset: b\npartition: {segments: [us], column: r}\ninlets: {raw: {partitions: {from: region}}}"
    found = compiled(asked | {"b.sql": "SELECT 1"})
    inlet = found.assets["a"].inlets["raw"]
    assert inlet.view == Partitioning(None, (SegmentPartition("region", ("apac", "emea")),))
    assert inlet.matches == (SegmentMatch("region", "region"),)
    assert found.assets["raw"].views == {
        inlet.uri: Partitioning(None, (SegmentPartition("region", ("apac", "emea", "us")),))
    }


@pytest.mark.parametrize(
    ("partition", "inlets", "expected"),
    [
        (
            DAY,
            "{raw: {partitions: {from: happend}}}",
            """\
a.yml:3:35: asset 'raw' declares no column 'happend'
    inlets: {raw: {partitions: {from: happend}}}
                                      ^^^^^^^
  hint: did you mean 'happened'?
""",
        ),
        (
            DAY,
            "{landing: {partitions: {from: region}}}",
            """\
a.yml:3:39: 'region' is a field in the path of 'landing', which is already partitioned by it
    inlets: {landing: {partitions: {from: region}}}
                                          ^^^^^^
  hint: leave 'from' out
""",
        ),
        (
            DAY,
            "{landing: {partitions: {from: amount}}}",
            """\
a.yml:3:39: 'amount' of 'landing' is double, but partitions of 'a' need a date, a timestamp or text
    inlets: {landing: {partitions: {from: amount}}}
                                          ^^^^^^
""",
        ),
        (
            DAY,
            "{lines: {partitions: {from: day}}}",
            """\
a.yml:3:37: the json files of 'lines' do not declare the type of 'day'
    inlets: {lines: {partitions: {from: day}}}
                                        ^^^
  hint: declare it in 'columns'
""",
        ),
        (
            DAY,
            "{bare: {partitions: {from: day}}}",
            """\
a.yml:3:36: the csv files of 'bare' do not declare the type of 'day'
    inlets: {bare: {partitions: {from: day}}}
                                       ^^^
  hint: declare it in 'columns'
""",
        ),
        (
            DAY,
            "{own: {partitions: {from: date}}}",
            """\
a.yml:3:35: the SELECT of asset 'own' yields no column 'date'
    inlets: {own: {partitions: {from: date}}}
                                      ^^^^
  hint: known is day
""",
        ),
        (
            DAY,
            "{events: {partitions: {from: day}}}",
            """\
a.yml:3:32: 'events' is known only by its events, so its values cannot be queried
    inlets: {events: {partitions: {from: day}}}
                                   ^^^^
""",
        ),
        (
            "none",
            "{raw: {partitions: {from: happened}}}",
            """\
a.yml:3:29: 'from' maps partitions, but asset 'a' has none
    inlets: {raw: {partitions: {from: happened}}}
                                ^^^^
""",
        ),
        (
            "[{segments: [x], column: region}, {segments: [y], column: area}]",
            "{raw: {partitions: {from: region}}}",
            """\
a.yml:3:29: asset 'a' has segments by region and area: 'from' does not say which of them the column contains
    inlets: {raw: {partitions: {from: region}}}
                                ^^^^
  hint: 'from' works for assets partitioned by time, or by one dimension of segments
""",
        ),
        (
            DAY,
            "{raw: {partitions: {from: happened}, require: all}}",
            """\
a.yml:3:55: 'require' has no effect with 'partitions: {from: …}': a partition is wanted once it has rows
    inlets: {raw: {partitions: {from: happened}, require: all}}
                                                          ^^^
  hint: leave it out
""",
        ),
        (
            DAY,
            "{raw: {partitions: {from: happened}, read: {after: amount}}}",
            """\
a.yml:3:46: 'read' and 'partitions: {from: …}' exclude each other
    inlets: {raw: {partitions: {from: happened}, read: {after: amount}}}
                                                 ^^^^
a.yml:3:46: the options of 'raw' have no effect: the code does not read it
    inlets: {raw: {partitions: {from: happened}, read: {after: amount}}}
                                                 ^^^^
""",
        ),
        (
            DAY,
            "{raw: {partitions: {from: [happened]}}}",
            """\
a.yml:3:16: 'partitions' maps partitions, but asset 'raw' has none
    inlets: {raw: {partitions: {from: [happened]}}}
                   ^^^^^^^^^^
""",
        ),
    ],
)
def test_values_that_cannot_tell_partitions_are_refused_where_they_stand(partition, inlets, expected):
    assert errors(viewed(partition, inlets)) == expected.rstrip("\n")
