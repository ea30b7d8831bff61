"""Tables that catalogs know by name: how they are written, and what they cannot do."""

import pytest

from sparkassets.core.spec.source_views import TableSet
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.table_names import format_table_name, parse_table_name, quote_table_name
from sparkassets.errors import InputError
from tests.core.spec.in_memory import compiled, errors, errors_of, one


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("daily", ("daily",)),
        ("demo.daily", ("demo", "daily")),
        ("main.demo.daily", ("main", "demo", "daily")),
        ("my-cat.`de mo`.`a``b.c`", ("my-cat", "de mo", "a`b.c")),
        ("Größe.1", ("Größe", "1")),
    ],
)
def test_a_name_has_parts_and_is_quoted_as_a_whole(text, parts):
    assert parse_table_name(text) == parts
    assert parse_table_name(format_table_name(parts)) == parts
    assert parse_table_name(quote_table_name(parts)) == parts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a.b.c.d", "'a.b.c.d' has 4 parts; expected catalog.schema.name, schema.name or name"),
        ("a..b", "'a..b' is not a table name; expected catalog.schema.name, schema.name or name"),
        ("a b", "'a b' is not a table name; expected catalog.schema.name, schema.name or name"),
        ("lake/daily", "'lake/daily' is not a table name; expected catalog.schema.name, schema.name or name"),
        ("delta.`/lake/a`", "'delta.`/lake/a`' names a folder, not a table in a catalog"),
        ("a.", "'a.' is not a table name; expected catalog.schema.name, schema.name or name"),
    ],
)
def test_what_is_no_name(text, message):
    with pytest.raises(InputError) as raised:
        parse_table_name(text)
    assert raised.value.args[0] == message
    assert message in errors_of(f'asset: a\ntable: "{text}"')


def test_an_asset_is_known_by_the_name_of_its_table():
    asset = one("asset: a\ntable: main.demo.daily")
    assert asset.storage == StorageLocation("table://main.demo.daily", "main.demo.daily", ("main", "demo", "daily"))
    assert (asset.uri, asset.is_named) == ("main.demo.daily", True)
    assert one("asset: a\ntable: main.demo.daily\nuri: s3://x/y").uri == "s3://x/y"


@pytest.mark.parametrize("source", ["true", "delta"])
def test_a_source_may_be_in_a_catalog(source):
    asset = one(f"asset: a\nsource: {source}\ntable: raw.events", name="a")
    assert asset.source is not None
    assert (asset.source.kind, asset.storage) == ("delta", StorageLocation.of_table(("raw", "events")))


SEVERAL = "asset: raw\nsource: delta\ntable: Lake.Raw_{region}\npartition: {segments: runtime, column: region}\n"


def test_a_name_with_fields_is_an_identity_as_it_is_written():
    asset = one(SEVERAL, name="raw")
    assert asset.storage == StorageLocation("table://Lake.Raw_{region}", "Lake.Raw_{region}", ("lake", "raw_{region}"))
    assert asset.uri == "Lake.Raw_{region}"
    tables = TableSet.of_source(asset)
    assert tables.pattern.segments_of_path("raw_de") == ("de",)
    assert tables.place("raw_de") == StorageLocation.of_table(("lake", "raw_de"))


@pytest.mark.parametrize(
    ("text", "relative", "segment", "table"),
    [
        ("raw_{region}", "raw_de", ("de",), ("raw_de",)),
        ("{region}.orders", "de/orders", ("de",), ("de", "orders")),
        ("main.raw_{region}.orders", "raw_de/orders", ("de",), ("main", "raw_de", "orders")),
        ("my-cat.raw.a_{region}_b", "a_n-l_b", ("n-l",), ("my-cat", "raw", "a_n-l_b")),
    ],
)
def test_the_schema_or_the_table_may_vary(text, relative, segment, table):
    tables = TableSet.of_source(one(SEVERAL.replace("Lake.Raw_{region}", f'"{text}"'), name="raw"))
    assert tables.pattern.segments_of_path(relative) == segment
    assert tables.place(relative).table == table


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lake.`a b`.raw_{region}", "has both fields and backquotes; write names with fields without"),
        ("lake.raw_{region", "is not a table name; expected catalog.schema.name, schema.name or name"),
        ("lake/raw_{region}", "is not a table name; expected catalog.schema.name, schema.name or name"),
        ("lake.raw_*_{region}", "is not a table name; expected catalog.schema.name, schema.name or name"),
        ("lake.{region}*", "is not a table name; expected catalog.schema.name, schema.name or name"),
        ("lake.{region}_{region}", "the field {region} is used twice"),
        ("lake.{day:%Y%m%d}_{region}", "the field {day} needs a partition"),
    ],
)
def test_what_is_no_name_with_fields(text, message):
    assert message in errors_of(SEVERAL.replace("Lake.Raw_{region}", f'"{text}"'))


@pytest.mark.parametrize(
    ("table", "is_refused"), [("Lake.raw_de", True), ("lake.other", False), ("x.lake.raw_de", False)]
)
def test_a_table_that_a_source_takes_for_its_own_is_not_written(table, is_refused):
    files = {
        "project.yml": "project: p",
        "raw.yml": SEVERAL,
        "a.yml": f"asset: a\ntable: {table}\nschedule: '@daily'",
        "a.sql": "SELECT 1 AS n",
    }
    if is_refused:
        assert "lies inside the source of asset 'raw', 'Lake.Raw_{region}'" in errors(files)
    else:
        assert compiled(files).assets["a"].is_named


def test_outlets_are_tables_of_their_own():
    project = compiled(
        {
            "project.yml": "project: p",
            "assets/split.yml": "asset: split\noutlets: {train: {table: ml.train}, test: {}}",
            "assets/train.sql": "SELECT 1 AS a",
            "assets/test.sql": "SELECT 2 AS a",
        }
    )
    assert project.assets["train"].storage == StorageLocation.of_table(("ml", "train"))
    assert project.assets["test"].storage.table == ()
    assert project.is_in_catalogs


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("path: x", "'table' and 'path' exclude each other"),
        ("write: {publish: {keep: 3}}", "'publish' needs a 'path': a catalog table has no folder beside it"),
    ],
)
def test_what_a_table_in_a_catalog_does_not_do(more, message):
    assert message in errors_of(f"asset: a\ntable: demo.a\n{more}")


def test_files_have_no_name_in_a_catalog():
    assert "'table' is not allowed for a source of csv files" in errors_of("asset: a\nsource: csv\ntable: demo.a")


def test_a_multi_asset_has_no_table_itself():
    assert "'table' is not allowed beside 'outlets'" in errors_of("asset: a\ntable: demo.a\noutlets: {b: {}}")


@pytest.mark.parametrize("name", ["demo.a", "Demo.A"])
def test_two_assets_that_replace_one_table_are_refused(name):
    files = {
        "project.yml": "project: p",
        "a.yml": "asset: a\ntable: demo.a\nuri: s3://x/a",
        "a.sql": "SELECT 1 AS n",
        "b.yml": f"asset: b\ntable: {name}\nuri: s3://x/b",
        "b.sql": "SELECT 1 AS n",
    }
    assert "writing one would destroy the other" in errors(files)


def test_the_journal_tells_a_table_from_a_folder_of_that_name():
    assert StorageLocation.of_table(("demo", "daily")).journal_identity == "table://demo.daily"
    assert StorageLocation("/p/demo.daily", "demo.daily").journal_identity == "demo.daily"
