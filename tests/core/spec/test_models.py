"""What a correct project compiles to: defaults first."""

import pytest

from sparkassets.core.conditions import UpdateLeaf
from sparkassets.core.conditions.parsing import parse_condition
from sparkassets.core.instants import Duration, parse_instant, to_unix
from sparkassets.core.partitions import OverlapMapping, TimePartition, WindowMapping
from sparkassets.core.spec.code_bodies import SqlBody
from sparkassets.core.spec.model import InletSpec, PartitionRequirement, ReadAfter, Schedule, SourceSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.strategies import DateRange, FullRefresh, LatestOnly
from sparkassets.core.writes import AppendWrite, ReplaceWrite
from sparkassets.errors import FileLocation
from tests.builders import clock
from tests.core.spec.in_memory import FLIGHTS, compiled, one

DAILY = "asset: a\npartition: {by: day, column: day}\n"
SQL = "SELECT day FROM {{ inlets.flights }}"


def test_the_two_line_asset():
    asset = one(DAILY, sql=SQL)
    assert asset.partitioning.time == TimePartition("day", "UTC", "day")
    assert asset.inlets == {
        "flights": InletSpec(
            "flights",
            "landing/flights/{day}.csv",
            OverlapMapping(),
            on_removed="keep",
            location=FileLocation("a.sql", 1, 27),
        )
    }
    assert asset.schedule == Schedule(condition=UpdateLeaf("flights"), text="flights", default=True)
    assert (asset.strategy, asset.write) == (DateRange(None, 366), ReplaceWrite())
    assert asset.storage == StorageLocation("/shop/warehouse/a", "warehouse/a")
    assert asset.uri == "warehouse/a"
    assert asset.body == SqlBody(SQL, FileLocation("a.sql", 1, 1))
    assert asset.location == FileLocation("a.yml", 1, 8)
    assert (asset.retries, asset.retry_delay_seconds, asset.timeout_seconds, asset.lease_seconds) == (1, 30, 7200, 600)
    assert (asset.type, asset.timezone, asset.paused, asset.start, asset.end) == ("dataset", "UTC", False, None, None)


def test_a_source_of_files():
    asset = one("asset: a", name="flights")
    assert asset.source == SourceSpec("csv", {}, 0)
    assert asset.storage == StorageLocation("/shop/landing/flights/{day}.csv", "landing/flights/{day}.csv")
    assert asset.partitioning.time == TimePartition("day", "UTC", "day")
    assert (asset.strategy, asset.write, asset.body, asset.inlets) == (None, None, None, {})
    assert asset.schedule == Schedule()


def test_options_of_a_reader_are_text():
    asset = one(
        "asset: a\nsource: csv\npath: x/*.csv\noptions: {header: true, sep: ';', maxColumns: 30, x: NA}\nsettle: 15m"
    )
    assert asset.source == SourceSpec("csv", {"header": "true", "sep": ";", "maxColumns": "30", "x": "NA"}, 900)


@pytest.mark.parametrize(
    ("text", "kind", "uri"),
    [
        ("source: true\npath: s3://lake/a/", "delta", "s3://lake/a"),
        ("source: true", "events", "a"),
        ("source: true\nuri: x-drop://inbox", "events", "x-drop://inbox"),
        ("source: delta\npath: /data/a", "delta", "/data/a"),
    ],
)
def test_other_sources(text, kind, uri):
    asset = one(f"asset: a\n{text}")
    assert (asset.source, asset.uri) == (SourceSpec(kind), uri)


def test_the_short_partition_of_a_file_source_has_the_field_as_column():
    asset = one('asset: a\nsource: csv\npath: "x/{day}.csv"\npartition: "@daily"')
    assert asset.partitioning.time == TimePartition("day", "UTC", "day")


def test_without_inlets_an_asset_is_manual():
    asset = one("asset: a")
    assert (asset.schedule, asset.strategy, asset.write) == (Schedule(default=True), FullRefresh(), ReplaceWrite())


def test_the_default_schedule_is_any_inlet_that_makes_stale():
    asset = one(
        "asset: a\ninlets: {b: {on_update: ignore}}",
        sql="SELECT 1 FROM {{ inlets.flights }}, {{ inlets.c }}, {{ inlets.b }}",
        **{"b.yml": "asset: b\nsql: SELECT 1", "c.yml": "asset: c\nsql: SELECT 1"},
    )
    assert asset.schedule == Schedule(condition=parse_condition("flights | c", clock), text="flights | c", default=True)


def test_an_inlet_without_partitions_makes_nothing_stale():
    asset = one(DAILY, sql=SQL + ", {{ inlets.b }}", **{"b.yml": "asset: b\nsql: SELECT 1"})
    assert (asset.inlets["b"].mapping, asset.inlets["b"].on_update) == (None, "ignore")
    assert asset.schedule.text == "flights"


def test_an_asset_without_partitions_takes_any_update():
    asset = one("asset: a", sql=SQL)
    assert (asset.inlets["flights"].mapping, asset.inlets["flights"].require) == (None, PartitionRequirement("any"))
    assert asset.strategy == FullRefresh()


def test_what_is_only_listed_is_waited_for():
    asset = one("asset: a\ninlets: [flights]")
    assert asset.inlets["flights"].waits_only
    assert asset.inlets["flights"].location == FileLocation("a.yml", 2, 10)


@pytest.mark.parametrize(
    ("options", "mapping"),
    [
        ("{}", OverlapMapping()),
        ("", OverlapMapping()),
        ("{window: 7d}", WindowMapping.trailing(Duration(days=7))),
        ("{window: [-6d, 0d]}", WindowMapping(Duration(days=-6), Duration())),
    ],
)
def test_mappings(options, mapping):
    assert one(f"{DAILY}inlets: {{flights: {options}}}", sql=SQL).inlets["flights"].mapping == mapping


@pytest.mark.parametrize(
    ("options", "require"),
    [
        ("require: all", PartitionRequirement()),
        ("require: any", PartitionRequirement("any")),
        ("require: none", PartitionRequirement("none")),
        ("require: {at_least: 6}, window: 7d", PartitionRequirement("at_least", 6)),
    ],
)
def test_require(options, require):
    assert one(f"{DAILY}inlets: {{flights: {{{options}}}}}", sql=SQL).inlets["flights"].require == require


def test_reading_above_a_watermark_is_latest_only():
    asset = one("asset: a\ninlets: {flights: {read: {after: id}}}\nwrite: append", sql=SQL)
    assert (asset.strategy, asset.write) == (LatestOnly(), AppendWrite())
    assert asset.inlets["flights"].read == ReadAfter("id")


def test_a_date_range_with_options():
    asset = one(f"{DAILY}strategy: {{date_range: {{lookback: 2d, max_partitions_per_run: 31}}}}", sql=SQL)
    assert asset.strategy == DateRange(Duration(days=2), 31)


@pytest.mark.parametrize("text", ['"@daily"', '"0 6 * * *"', "0 6 * * MON-FRI", "{cron: '@daily'}"])
def test_timetables(text):
    schedule = one(f"asset: a\nschedule: {text}").schedule
    assert schedule.timetable is not None
    assert schedule.condition is None
    assert schedule.text == schedule.timetable.text


def test_once_needs_no_start_where_the_asset_has_an_end():
    schedule = one("asset: a\nend: 2025-04-01\nschedule: '@once'").schedule
    assert (schedule.timetable.start, schedule.timetable.end) == (None, 1743465600)


def test_a_timetable_has_the_zone_and_bounds_of_its_asset_unless_it_has_its_own():
    text = "asset: a\ntimezone: Europe/Berlin\nstart: 2025-01-01\nschedule: {}\n"
    outer = one(text.replace("{}", '"@daily"')).schedule.timetable
    berlin = to_unix(parse_instant("2025-01-01", zone="Europe/Berlin"))
    assert (outer.timezone, outer.start, outer.end) == ("Europe/Berlin", berlin, None)
    inner = one(
        text.replace("{}", "{cron: '@daily', timezone: UTC, start: 2025-02-01, end: 2025-03-01}")
    ).schedule.timetable
    assert (inner.timezone, inner.start, inner.end) == ("UTC", 1738368000, 1740787200)


def test_a_partition_has_the_zone_and_bounds_of_its_asset_unless_it_has_its_own():
    asset = one(f"{DAILY}timezone: Europe/Berlin\nstart: 2025-01-01\n", sql=SQL)
    berlin = to_unix(parse_instant("2025-01-01", zone="Europe/Berlin"))
    assert asset.partitioning.time == TimePartition("day", "Europe/Berlin", "day", berlin)
    assert (asset.start, asset.end) == (berlin, None)
    asset = one(
        "asset: a\nstart: 2025-01-01\npartition: {by: day, column: day, start: 2025-02-01, timezone: Europe/Berlin}",
        sql=SQL,
    )
    assert (asset.start, asset.partitioning.time.start, asset.timezone) == (1738364400, 1738364400, "UTC")


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("flights & b", "flights & b"),
        ("[flights, b]", "flights & b"),
        ("{any: [flights, b]}", "flights | b"),
        ("{all: [{any: [flights, b]}, x-drop://inbox]}", "(flights | b) & x-drop://inbox"),
        ("{uri: elsewhere}", "{uri: elsewhere}"),
        ("b", "b"),
        ("'@daily & b'", "@daily & b"),
        ("flights | @daily", "flights | @daily"),
        ('"@daily | x-drop://inbox"', "@daily | x-drop://inbox"),
    ],
)
def test_conditions(text, condition):
    schedule = one(f"asset: a\nschedule: {text}", **{"b.yml": "asset: b\nsql: SELECT 1"}).schedule
    assert (schedule.text, schedule.default, schedule.timetable) == (condition, False, None)
    assert schedule.condition == parse_condition(condition, clock)


def test_manual():
    assert one("asset: a\nschedule: manual\ninlets: [flights]").schedule == Schedule()


def test_assets_stand_after_what_they_need():
    project = compiled(
        {
            "a.yml": "asset: a\nschedule: c\nsql: SELECT 1",
            "b.yml": "asset: b\nsql: SELECT * FROM {{ inlets.a }}",
            "c.yml": "asset: c\nuri: x://c\nsql: SELECT * FROM {{ inlets.d }}",
            "d.yml": "asset: d\nsource: true\npath: x",
            "e.yml": "asset: e\nschedule: x://c\nsql: SELECT 1",
        }
    )
    assert list(project.assets) == ["d", "c", "a", "e", "b"]


def test_sql_in_the_yaml_knows_its_place():
    asset = one("asset: a\nsql: |\n  SELECT *\n  FROM {{ inlets.flights }}\n")
    assert asset.body == SqlBody("SELECT *\nFROM {{ inlets.flights }}\n", FileLocation("a.yml", 3, 3))
    assert asset.inlets["flights"].location == FileLocation("a.yml", 4, 18)


def test_a_sql_file_by_its_path_from_the_project_folder():
    asset = one("asset: a\nsql: queries/x.sql", **{"queries/x.sql": "SELECT 2"})
    assert asset.body == SqlBody("SELECT 2", FileLocation("queries/x.sql", 1, 1))


def test_several_documents_in_a_file():
    project = compiled({"all.yml": "asset: a\nsource: true\n---\n---\nasset: b\nsource: true\n"})
    assert list(project.assets) == ["a", "b"]


def test_a_moderate_alias():
    project = compiled(
        {"all.yml": "asset: a\nsource: true\nextra: {x: &x {k: [1, 2]}, y: *x}\ncolumns: {c: &t int, d: *t}\n"}
    )
    assert project.assets["a"].extra == {"x": {"k": [1, 2]}, "y": {"k": [1, 2]}}
    assert project.assets["a"].columns == {"c": "int", "d": "int"}


def test_everything_that_people_may_add():
    asset = one(
        """
        asset: a
        type: report
        description: "2013: all"
        owner: ${TEAM:-data}
        extra: {tier: 1, tags: [x]}
        columns: {id: bigint, price: "decimal(12,2)"}
        uri: S3://Lake/a
        path: out/a/
        params: {limit: 3, day: 2024-01-01}
        paused: true
        retries: 0
        retry_delay: 0s
        timeout: 90m
        lease: 1h
        """,
        sql="SELECT {{ params.limit }}",
    )
    assert (asset.type, asset.description, asset.owner) == ("report", "2013: all", "data")
    assert asset.extra == {"tier": 1, "tags": ["x"]}
    assert asset.columns == {"id": "bigint", "price": "decimal(12,2)"}
    assert (asset.uri, asset.storage) == ("s3://Lake/a", StorageLocation("/shop/out/a", "out/a"))
    assert asset.params == {"limit": 3, "day": "2024-01-01"}
    assert asset.paused
    assert (asset.retries, asset.retry_delay_seconds, asset.timeout_seconds, asset.lease_seconds) == (0, 0, 5400, 3600)


def test_the_project_file():
    project = compiled(
        {
            "project.yml": """
            project: nyc
            state: s3://lake/state
            warehouse: ${ROOT}/warehouse/
            timezone: Europe/Berlin
            assets: [.]
            python: [jobs]
            spark: {spark.sql.shuffle.partitions: 8, spark.ui.enabled: false}
            max_parallel_runs: 2
            defaults: {retries: 3, retry_delay: 1m, timeout: 1h, lease: 5m}
            """,
            "a.yml": "asset: a\nsql: SELECT 1",
            "flights.yml": FLIGHTS,
        },
        env={"ROOT": "/data"},
    )
    assert (project.name, project.root, project.state) == ("nyc", "/shop", "s3://lake/state")
    assert (project.warehouse, project.timezone, project.python) == ("/data/warehouse", "Europe/Berlin", ("jobs",))
    assert project.spark == {"spark.sql.shuffle.partitions": "8", "spark.ui.enabled": "false"}
    assert project.max_parallel_runs == 2
    asset = project.assets["a"]
    assert asset.storage == StorageLocation("/data/warehouse/a", "/data/warehouse/a")
    assert (asset.retries, asset.retry_delay_seconds, asset.timeout_seconds, asset.lease_seconds) == (3, 60, 3600, 300)
    assert project.assets["flights"].partitioning.time.timezone == "Europe/Berlin"


def test_the_smallest_project_file():
    project = compiled({"a.yml": "asset: a\nsource: true"})
    assert (project.state, project.warehouse, project.timezone) == ("/shop/state", "/shop/warehouse", "UTC")
    assert (project.python, project.spark, project.max_parallel_runs) == ((), {}, 4)
