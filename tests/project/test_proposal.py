"""Declarations as people write them who come from asset-centric proposals elsewhere: they run as they stand."""

from pathlib import Path
from textwrap import dedent

import pytest

from sparkassets.errors import SpecError
from sparkassets.project import load_project


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes a project of one module and optional YAML; returns its folder."""
    monkeypatch.chdir(tmp_path)

    def written(module, yaml="", project=""):
        (tmp_path / "conf/assets").mkdir(parents=True, exist_ok=True)
        (tmp_path / "jobs").mkdir(exist_ok=True)
        (tmp_path / "conf/project.yml").write_text(f"project: shop\npython: [jobs]\n{project}")
        (tmp_path / "conf/assets/given.yml").write_text(yaml)
        (tmp_path / "jobs/made.py").write_text(dedent(module))
        return Path("conf")

    return written


def errors(folder):
    with pytest.raises(SpecError) as error:
        load_project(folder, {})
    return str(error.value)


def test_an_asset_with_name_and_uri_is_a_source_known_by_its_events(write):
    project = load_project(
        write("""
            from sparkassets import Asset, asset

            raw_sales = Asset("raw_sales", uri="s3://lake/raw_sales")

            @asset(schedule=raw_sales)
            def report(context): ...

            @asset(schedule=Asset("raw_sales", uri="s3://lake/raw_sales") & "@daily")
            def second(context): ...
        """),
        {},
    )
    assert list(project.assets) == ["raw_sales", "report", "second"]
    raw = project.assets["raw_sales"]
    assert (raw.uri, raw.storage, raw.source.kind) == ("s3://lake/raw_sales", None, "events")
    assert project.assets["report"].schedule.text == "raw_sales"


def test_an_asset_with_name_and_uri_stands_for_the_one_that_is_declared(write):
    module = """
        from sparkassets import Asset, asset

        @asset(schedule=Asset("orders", uri="x-shop://orders"))
        def report(orders): ...
    """
    yaml = "asset: orders\nsource: delta\npath: lake/orders\nuri: x-shop://orders\n"
    project = load_project(write(module, yaml), {})
    assert list(project.assets) == ["orders", "report"]
    assert project.assets["orders"].source.kind == "delta"
    assert errors(write(module, yaml.replace("x-shop://orders", "x-shop://other"))).splitlines()[0] == (
        "jobs/made.py:4:37: the asset 'orders' has the uri 'x-shop://other', not 'x-shop://orders'"
    )


def test_columns_of_an_inlet_are_validated_where_it_is_read(write):
    project = load_project(
        write("""
            from sparkassets import Asset, AssetValidation, asset

            raw_sales = asset("raw_sales", source="delta", path="lake/raw_sales")

            @asset
            def rates(): ...

            @asset(
                inlets=[rates],
                validations=[
                    AssetValidation.has_columns(raw_sales.sales, raw_sales["name"]),
                    AssetValidation.range(rates.rate, min=0, severity="warn"),
                    AssetValidation.unique("id"),
                    {"row_count": {"min": 1}},
                ],
            )
            def report(raw_sales, rates): ...
        """),
        {},
    )
    report = project.assets["report"]
    assert [each.name for each in report.rules] == ["unique(id)", "row_count(min 1)"]
    assert [each.name for each in report.inlets["raw_sales"].rules] == ["has_columns(sales, name)"]
    assert [(each.name, each.severity) for each in report.inlets["rates"].rules] == [("range(rate)", "warn")]


def test_every_check_can_be_written_in_python(write):
    project = load_project(
        write("""
            from datetime import timedelta
            from sparkassets import Asset, AssetValidation as V, asset

            shops = asset("shops", source="delta", path="lake/shops")

            def judge(rows): ...

            @asset(validations=[
                V.has_columns({"id": "bigint"}), V.not_null("id", where="x > 1"), V.accepted("s", ["a", "b"]),
                V.pattern("email", ".+@.+"), V.freshness("at", timedelta(days=2)), V.foreign_key("shop", shops.id),
                V.row_count(min=1, change="-50%..+50%"), V.sql("a < b", name="order"), V.python("jobs.made:judge"),
            ])
            def report(shops): ...
        """),
        {},
    )
    assert len(project.assets["report"].rules) == 9


def test_columns_of_two_assets_in_one_rule_are_refused(write):
    module = """
        from sparkassets import Asset, AssetValidation, asset
        AssetValidation.unique(Asset("a").x, Asset("b").y)
        @asset
        def report(): ...
    """
    assert "one validation names columns of several assets: a, b" in errors(write(module))


def test_a_timedelta_is_a_schedule(write):
    project = load_project(
        write("""
            from datetime import timedelta
            from sparkassets import asset

            @asset(schedule=timedelta(days=1))
            def daily(): ...

            @asset(schedule=timedelta(hours=6) | daily)
            def either(): ...
        """),
        {},
    )
    assert [project.assets[each].schedule.text for each in ("daily", "either")] == [
        "every 86400s",
        '{"every": "21600s"} | daily',
    ]


STORES = """storage:
  archive: {region: eu-central-1, access_key: ARCHIVE_KEY, secret_key: ARCHIVE_SECRET}
  s3://lake: {region: eu-west-1}
"""


def test_a_path_names_how_its_bucket_is_reached(write):
    module = """
        from sparkassets import asset

        @asset(at="s3://archive@trips/2025/trips.parquet")
        def trips(): ...

        DAILY = {"by": "day", "column": "day"}
        landed = asset("landed", source="csv", at="s3a://archive@trips/landing/{day}.csv", partition=DAILY)

        @asset(at="s3://lake/other")
        def other(): ...
    """
    project = load_project(write(module, project=STORES), {})
    trips = project.assets["trips"]
    assert (trips.storage.path, trips.uri) == ("s3://trips/2025/trips.parquet", "s3://trips/2025/trips.parquet")
    assert project.assets["landed"].storage.path == "s3a://trips/landing/{day}.csv"
    assert [(each.bucket, each.region) for each in project.storage] == [
        ("lake", "eu-west-1"),
        ("trips", "eu-central-1"),
    ]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            "s3://archve@trips/x",
            "4:11: 'storage' in the project file has no store of this name\n  hint: did you mean 'archive'?",
        ),
        (
            "s3://archive@lake/x",
            "4:11: two entries of 'storage' match the bucket 'lake': this one and 's3://lake'",
        ),
        (
            "snowflake://account/db/table",
            (
                "4:11: nothing can be written at 'snowflake://': it is not a file store\n  hint: let the asset's "
                "own code write it: write: self, with this as its 'uri'"
            ),
        ),
    ],
)
def test_places_that_cannot_be_reached_are_refused(write, path, message):
    module = f"""
        from sparkassets import asset

        @asset(at="{path}")
        def trips(): ...
    """
    found = errors(write(module, project=STORES))
    lines = [line for line in found.splitlines() if not line.startswith("    ")]
    assert "\n".join(lines) == f"jobs/made.py:{message}"


def test_a_source_that_is_no_store_of_files_is_refused(write):
    yaml = "asset: orders\nsource: csv\npath: postgresql://db/orders\n"
    found = errors(write("", yaml))
    assert "conf/assets/given.yml:3:7: nothing can be read at 'postgresql://': it is not a file store" in found
    assert "write source: true with this as its 'uri'" in found
