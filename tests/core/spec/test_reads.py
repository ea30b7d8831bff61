"""`read` of an inlet in YAML: what it means, and what is refused with what to write instead."""

from textwrap import dedent

import pytest

from sparkassets.core.instants import Duration
from sparkassets.core.spec.model import ReadAfter, ReadChanges
from sparkassets.core.strategies import LatestOnly
from tests.core.spec.in_memory import compiled, errors

SQL = "SELECT * FROM {{ inlets.orders }}"
DELTA = "asset: orders\nsource: delta\npath: lake/orders"


def reading(read, *, write="append", orders=DELTA, sql=SQL, more=""):
    text = f"asset: a\ninlets: {{orders: {{read: {read}}}}}\nwrite: {write}\n{more}"
    return {"a.yml": text, "a.sql": sql, "orders.yml": orders}


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        ("changes", ReadChanges()),
        ("{after: at}", ReadAfter("at")),
        ("{after: at, overlap: 1h30m}", ReadAfter("at", Duration(seconds=5400))),
    ],
)
def test_what_is_new_is_latest_only(read, expected):
    asset = compiled(reading(read, write="{upsert: {keys: [id]}}")).assets["a"]
    assert (asset.inlets["orders"].read, asset.strategy) == (expected, LatestOnly())


def test_an_asset_of_the_project_has_changes_too():
    files = reading("changes", orders="asset: orders\nsql: SELECT 1 AS id\nschedule: manual")
    assert compiled(files).assets["a"].inlets["orders"].read == ReadChanges()


@pytest.mark.parametrize(
    ("read", "orders", "followed"),
    [
        ("changes", "write: replace", True),
        ("changes", "strategy: every_instance\nwrite: {upsert: {keys: [id]}}", True),
        ("changes", "strategy: every_instance\nwrite: append", False),
        ("{after: id}", "write: replace", False),
    ],
)
def test_an_asset_is_followed_whose_changes_are_not_all_of_them_new_rows(read, orders, followed):
    assets = compiled(reading(read, orders=f"asset: orders\nsql: SELECT 1 AS id\nschedule: '@daily'\n{orders}")).assets
    assert (assets["orders"].followed, assets["a"].followed) == (followed, False)


def test_the_columns_of_changes_are_known():
    columns = f"{DELTA}\ncolumns: {{id: int}}"
    sql = "SELECT {{ inlets.orders['_change_type'] }}, {{ inlets.orders['_commit_version'] }} FROM {{ inlets.orders }}"
    assert compiled(reading("changes", orders=columns, sql=sql)).assets["a"]
    assert "declares no column '_change_type'" in errors(reading("{after: id}", orders=columns, sql=sql))
    assert compiled(reading("changes", sql=f"{SQL} WHERE 1 > {{{{ watermark.low }}}}")).assets["a"]


REFUSED = [
    pytest.param(
        reading("{after: at, overlap: 1h}"),
        """
        a.yml:2:46: 'overlap' reads rows a second time, and 'append' would duplicate them
            inlets: {orders: {read: {after: at, overlap: 1h}}}
                                                         ^^
          hint: write 'write: {upsert: {keys: [<column>]}}', or leave 'overlap' out
        """,
        id="overlap_into_append",
    ),
    pytest.param(
        reading("{after: at, overlap: 0s}"),
        """
        a.yml:2:46: 'overlap' is '0s'; expected a positive duration
            inlets: {orders: {read: {after: at, overlap: 0s}}}
                                                         ^^
        """,
        id="no_overlap",
    ),
    pytest.param(
        reading("change"),
        """
        a.yml:2:25: 'read' of inlet 'orders' is 'change'; expected changes or {after: column}
            inlets: {orders: {read: change}}
                                    ^^^^^^
          hint: did you mean 'changes'?
        """,
        id="another_word",
    ),
    pytest.param(
        reading("changes", orders="asset: orders\nsource: csv\npath: lake/*.csv"),
        """
        a.yml:2:25: 'read: changes' needs a Delta table, but asset 'orders' is csv files
            inlets: {orders: {read: changes}}
                                    ^^^^^^^
          hint: read: {after: <column>} reads new rows of files
        """,
        id="changes_of_files",
    ),
    pytest.param(
        reading(
            "changes",
            write="{upsert: {keys: [id], newest_by: lsn}}",
            orders="asset: orders\nsource: json\npath: lake/*.json",
        ),
        """
        a.yml:2:25: 'read: changes' needs a Delta table, but asset 'orders' is json files
            inlets: {orders: {read: changes}}
                                    ^^^^^^^
          hint: put an asset that selects its rows in between; {after: <column>} would lose late rows
        """,
        id="changes_of_files_by_newest",
    ),
    pytest.param(
        reading("changes", write="replace"),
        """
        a.yml:3:8: strategy 'latest_only' cannot 'replace': a run has only the new rows and would overwrite all others
            write: replace
                   ^^^^^^^
          hint: write 'write: append'
        """,
        id="changes_into_replace",
    ),
    pytest.param(
        reading("changes, partitions: aligned", orders="asset: orders\nschedule: '@daily'\nsql: SELECT 1 AS a")
        | {"a.sql": SQL},
        """
        a.yml:2:19: 'read: changes' and 'partitions: aligned' exclude each other: aligned reads all rows of one run
            inlets: {orders: {read: changes, partitions: aligned}}
                              ^^^^
        a.yml:2:46: 'partitions: aligned' needs a timetable as the schedule of asset 'a'
            inlets: {orders: {read: changes, partitions: aligned}}
                                                         ^^^^^^^
          hint: it is 'manual'; write it as a cron or another timetable
        """,
        id="changes_of_one_run",
    ),
]


@pytest.mark.parametrize(("files", "expected"), REFUSED)
def test_what_is_refused(files, expected):
    assert errors(files) == dedent(expected).strip()


@pytest.mark.parametrize("columns", ["", "\ncolumns: {id: int, source: struct<lsn:int>}"])
def test_a_field_of_a_column_is_no_watermark(columns):
    told = errors(reading("{after: source.lsn}", orders=DELTA + columns))
    assert "a.yml:2:33: 'after' is 'source.lsn'; expected a column of its own, not a field of another" in told
    assert "hint: flatten it in an asset before: SELECT source.lsn AS lsn, …" in told


def test_a_declared_column_with_a_dot_is_a_watermark():
    files = reading("{after: source.lsn}", orders=f"{DELTA}\ncolumns: {{source.lsn: int}}")
    assert compiled(files).assets["a"].inlets["orders"].read == ReadAfter("source.lsn")


def test_changes_of_what_is_known_by_its_events_only():
    files = reading("changes", orders="asset: orders\nsource: true", sql="SELECT 1 AS a")
    assert "'read: changes' needs a Delta table, but asset 'orders' is known only by its events" in errors(files)


TABLES = "asset: orders\nsource: {}\n{}\npartition: {{segments: {}, column: region}}"
SPELLINGS = ["path: lake/raw_{region}", "table: lake.raw_{region}", "table: main.lake_{region}.raw"]


@pytest.mark.parametrize("source", ["delta", "true"])
@pytest.mark.parametrize("place", SPELLINGS)
@pytest.mark.parametrize("segments", ["runtime", "[de, nl]"])
def test_a_path_or_a_name_with_fields_stands_for_tables(source, place, segments):
    files = reading("{after: at}", orders=TABLES.format(source, place, segments))
    orders = compiled(files).assets["orders"]
    assert orders.source is not None
    assert (orders.source.kind, orders.partitioning.segment_columns) == ("tables", ("region",))


@pytest.mark.parametrize("place", SPELLINGS)
def test_what_is_of_one_table_is_refused_for_several(place):
    told = errors(reading("changes", orders=TABLES.format("delta", place, "runtime")))
    assert "'read: changes' needs a Delta table, but asset 'orders' stands for several" in told
    files = reading("changes", orders=TABLES.format("delta", place, "runtime"))
    files["a.yml"] = "asset: a\npartition: {by: day, column: day}\ninlets: {orders: {partitions: {from: day}}}\n"
    assert "'from' queries a single table, but 'orders' stands for several" in errors(files)


def test_changes_without_a_write_are_refused_by_the_name_of_the_inlet():
    text = "asset: a\ninlets: {orders: {read: changes}}\n"
    assert errors({"a.yml": text, "a.sql": SQL, "orders.yml": DELTA}).split("\n") == [
        "a.yml:2:25: 'read: changes' of inlet 'orders' needs 'write'",
        "    inlets: {orders: {read: changes}}",
        "                            ^^^^^^^",
        "  hint: write 'write: append', or 'write: {upsert: {keys: [<column>]}}' to apply updates and deletes",
    ]
