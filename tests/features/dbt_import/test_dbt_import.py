"""A dbt project becomes a valid one, and what could not be carried over is reported at its line."""

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from sparkassets.cli import main
from sparkassets.features.dbt_import.dbt_rendering import DbtRenderer, NotRenderableError, split_macros
from sparkassets.features.dbt_import.queries import find_filter
from sparkassets.project import load_project

SHOP = Path(__file__).parent / "shop"


@pytest.fixture
def imported(tmp_path):
    """Writes files over a copy of the shop, imports it with these arguments, and loads the result."""

    def make(files=None, *arguments):
        source = Path(shutil.copytree(SHOP, tmp_path / "dbt"))
        for name, text in (files or {}).items():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_text(text)
        assert main(["import", "dbt", str(source), "--to", str(tmp_path / "new"), *arguments]) == 0
        return tmp_path / "new"

    return make


def document(folder, asset):
    (file,) = folder.rglob(f"{asset}.yml")
    return yaml.safe_load(file.read_text())


def test_the_project_is_valid_and_each_kind_of_model_has_its_write(imported):
    folder = imported()
    project = load_project(folder, {})
    assert {name for name, asset in project.assets.items() if asset.source} == {"raw_orders", "raw_customers"}
    assert document(folder, "raw_orders")["columns"] == {
        "id": "bigint",
        "customer": "string",
        "cents": "bigint",
        "status": "string",
        "ordered_at": "timestamp",
        "updated_at": "timestamp",
    }
    after = {"stg_orders": {"read": {"after": "updated_at"}}}
    assert document(folder, "latest_orders") == {
        "asset": "latest_orders",
        "owner": "Sales",
        "inlets": after,
        "schema": "add_columns",
        "write": {"upsert": {"keys": ["order_id"]}},
    }
    assert document(folder, "order_log") == {
        "asset": "order_log",
        "owner": "Sales",
        "inlets": after,
        "write": "append",
    }
    merged = document(folder, "merged_orders")
    assert (merged["strategy"], merged["write"]) == (
        "every_instance",
        {"upsert": {"keys": ["customer", "status"]}},
    )
    daily = document(folder, "daily_revenue")
    assert daily["partition"] == {"by": "day", "column": "day", "start": "2025-01-01"}
    assert daily["inlets"] == {"stg_orders": {"partitions": {"from": "ordered_at"}}}
    assert document(folder, "order_history")["write"]["upsert"]["history"]["valid_to"] == "dbt_valid_to"


def test_tests_become_validations_and_descriptions_tags_and_owners_are_carried(imported):
    folder = imported()
    orders = document(folder, "stg_orders")
    assert orders["description"] == "One row for each order that costs something."
    assert orders["tags"] == ["staging"]
    assert orders["columns"] == {"order_id": {"description": "Number of the order."}}
    assert document(folder, "stg_customers")["columns"] == {"name": {"pii": True}}
    assert orders["validations"] == [
        {"unique": ["order_id"]},
        {"not_null": ["order_id"]},
        {"accepted": {"status": ["placed", "sent"]}, "severity": "warn"},
        {"foreign_key": {"customer": "stg_customers.customer"}, "where": "amount > 0"},
    ]
    assert orders["inlets"]["raw_orders"]["validations"] == [{"unique": ["id"]}, {"not_null": ["id"]}]


def test_described_columns_are_those_that_the_query_yields(imported):
    properties = (
        "models:\n  - name: order_log\n    columns:\n      - {name: status, description: Its state}\n"
        "      - {name: gone, description: Left}\n  - name: all_orders\n    config: {contract: {enforced: true}}\n"
        "    columns: [{name: ORDER_ID, data_type: bigint}, {name: status, data_type: text, description: x}]\n"
        "seeds:\n  - name: raw_customers\n    columns: [{name: id, description: Its letter}]\n"
    )
    query = "with o as (select * from {{ ref('stg_orders') }}) select o.* exclude (customer, amount) from o"
    folder = imported({"models/marts/more.yml": properties, "models/marts/all_orders.sql": query})
    assert document(folder, "order_log")["columns"] == {"status": {"description": "Its state"}}
    assert document(folder, "all_orders")["columns"] == {
        "ORDER_ID": "BIGINT",
        "status": {"type": "STRING", "description": "x"},
    }
    assert document(folder, "raw_customers")["columns"]["id"] == {"type": "string", "description": "Its letter"}
    assert "column order_log.gone | it is described, but may not be" in (folder / "IMPORTED.md").read_text()


def test_queries_are_in_sparks_sql_and_as_written_where_nothing_changes(imported):
    folder = imported()
    assert (folder / "assets/marts/order_log.sql").read_text() == (
        "select order_id, status, updated_at\nfrom {{ inlets.stg_orders }}\n"
    )
    assert "CAST(cents / 100 AS DECIMAL(12, 2)) AS amount" in (folder / "assets/staging/stg_orders.sql").read_text()
    assert "as sent_orders" in (folder / "assets/marts/customers.sql").read_text()


def test_what_is_not_carried_over_is_reported_at_its_line(imported, capsys):
    folder = imported(None, "--json")
    found = {note["subject"]: note for note in json.loads(capsys.readouterr().out)["notes"]}
    exposure = found["exposure weekly_report"]
    assert (exposure["file"], exposure["line"]) == ("models/marts/marts.yml", 11)
    unknown = found["test dbt_utils_like_unknown of daily_revenue.revenue"]
    assert unknown["reason"] == "no validation is known for it"
    assert found["test no_loss"]["remedy"] == "a validation with `sql`"
    report = (folder / "IMPORTED.md").read_text()
    assert "| models/marts/marts.yml:11 | exposure weekly_report |" in report


def test_a_model_that_cannot_be_rendered_is_a_source_that_dbt_still_writes(imported, capsys):
    files = {
        "models/marts/spine.sql": "{% call statement('n') %}select 1{% endcall %}",
        "models/marts/scores.py": "def model(dbt, session):\n    return dbt.ref('stg_orders')\n",
        "models/marts/scores.yml": "models: [{name: spine, columns: [{name: x, tests: [unique, not_null]}]}]",
        "models/marts/reader.sql": "select * from {{ ref('spine') }} join {{ ref('scores') }} using (x)",
        "models/marts/today.sql": "select current_date as day",
        "models/marts/own_filter.sql": "{{ config(materialized='incremental', unique_key='order_id') }}\n"
        "select * from {{ ref('stg_orders') }} {% if is_incremental() %} where status = 'sent' {% endif %}",
        "snapshots/checked.sql": "{% snapshot checked %}{{ config(strategy='check', unique_key='order_id', "
        "check_cols=['status']) }} select * from {{ ref('stg_orders') }}{% endsnapshot %}",
    }
    folder = imported(files)
    assets = load_project(folder, {}).assets
    assert list(assets["reader"].inlets) == ["spine", "scores"]
    assert {name for name in ("spine", "scores", "checked") if assets[name].source} == {"spine", "scores", "checked"}
    report = (folder / "IMPORTED.md").read_text()
    assert "| model spine | statement queries the database while dbt compiles |" in report
    assert document(folder, "today") == {"asset": "today", "owner": "Sales", "schedule": "@daily"}
    assert "| 2 tests of spine | the model was not carried over |" in report
    assert "| model scores | it is Python; write a function with `python:` |" in report
    assert "its filter is not of the form `column > max(column)`" in report
    assert "its strategy is not `timestamp`" in report


def test_a_foreign_key_to_what_is_computed_from_it_is_reported(imported):
    properties = (
        "models:\n  - name: stg_orders\n    columns:\n      - name: order_id\n        tests:\n"
        "          - relationships: {to: ref('order_log'), field: order_id}\n"
    )
    query = "select 1 as order_id, '' as customer, 1 as amount, '' as status, now() as ordered_at, now() as updated_at"
    folder = imported({"models/staging/staging.yml": properties, "models/staging/stg_orders.sql": query})
    load_project(folder, {})
    report = (folder / "IMPORTED.md").read_text()
    assert (
        "models/staging/staging.yml:6 | test relationships of stg_orders.order_id | 'order_log' is computed" in report
    )


def test_nothing_is_overwritten_and_no_other_folder_is_a_project(tmp_path, capsys):
    (tmp_path / "new").mkdir()
    (tmp_path / "new/mine.txt").write_text("")
    assert main(["import", "dbt", str(SHOP), "--to", str(tmp_path / "new")]) == 2
    assert "is not empty; nothing was written" in capsys.readouterr().err
    assert main(["import", "dbt", str(tmp_path / "new"), "--to", str(tmp_path / "other")]) == 2
    assert "it has no dbt_project.yml" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()
    assert main(["import", "dbt", str(SHOP), "--to", str(tmp_path / "other"), "--vars", "[1]"]) == 2
    assert "--vars '[1]' does not hold a map" in capsys.readouterr().err


def test_variables_and_the_dialect_are_options(imported):
    folder = imported(None, "--vars", "{least_cents: 100}", "--dialect", "postgres")
    assert "cents >= 100" in (folder / "assets/staging/stg_orders.sql").read_text()
    assert "postgres divides whole numbers into whole numbers" in (folder / "IMPORTED.md").read_text()


def test_a_manifest_is_believed(imported):
    node = {"original_file_path": "models/a.sql", "columns": {}, "schema": "main", "resource_type": "model"}
    seed = {**node, "resource_type": "seed", "name": "raw", "original_file_path": "seeds/raw.csv", "config": {}}
    test = {
        "resource_type": "test",
        "name": "unique_a_id",
        "test_metadata": {"name": "unique", "kwargs": {"column_name": "id", "model": "…"}},
        "attached_node": "model.a",
        "config": {"severity": "WARN"},
        "original_file_path": "models/a.yml",
    }
    compiled = {
        "raw_code": "select {{ dbt_utils.unknown() }}",
        "compiled_code": 'select raw.id, 1 as "one" from "db"."main"."raw"',
        "config": {"materialized": "table"},
        "tags": ["x"],
    }
    manifest = {
        "metadata": {"project_name": "m", "adapter_type": "duckdb"},
        "nodes": {
            "model.a": {**node, **compiled, "name": "a"},
            "seed.raw": {**seed, "relation_name": '"db"."main"."raw"'},
            "test.a": test,
        },
        "sources": {},
        "macros": {},
    }
    folder = imported({"target/manifest.json": json.dumps(manifest), "seeds/raw.csv": "id\n1\n"})
    assert document(folder, "a") == {
        "asset": "a",
        "tags": ["x"],
        "validations": [{"unique": ["id"], "severity": "warn"}],
    }
    assert "{{ inlets.raw }} AS raw" in (folder / "assets/a.sql").read_text()
    assert list(load_project(folder, {}).assets) == ["raw", "a"]


MACROS = """
{% macro twice(x) %}{% set parts = [] %}{% do parts.append(x) %}{% do parts.append(x) %}{{ return(parts | join('+')) }}
{% endmacro %}
{% macro four(x) %}{{ twice(twice(x)) }}{% endmacro %}
"""


def renderer(dialect="duckdb", **variables):
    return DbtRenderer("shop", variables, split_macros("shop", MACROS), dialect=dialect, documents={})


def test_macros_call_each_other_and_return():
    assert renderer().render("{{ four('a') }}{{ shop.twice('b') }}").text == "a+a+a+ab+b"


def test_macros_of_dbt_are_in_the_sql_of_the_adapter():
    text = "{{ dbt.dateadd('day', 3, 'x') }} {{ dbt.date_trunc('day', 'x') }} {{ dbt.type_string() }}"
    assert renderer().render(text).text == "x + INTERVAL 3 DAY date_trunc('day', x) varchar"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ var('absent') }}", "the variable 'absent' has no value"),
        ("{{ env_var('HOME') }}", "has no default"),
        ("{{ unknown('x') }}", "'unknown' is undefined"),
        ("{{ dbt_utils.star('x') }}", "the package 'dbt_utils' is not in dbt_packages (`dbt deps`)"),
        ("{{ dbt.unknown('x') }}", "a package has no attribute 'unknown'"),
        ("{{ ''.__class__.__mro__ }}", "access to attribute '__class__'"),
        ("{% if %}", "cannot be rendered"),
    ],
)
def test_what_cannot_be_rendered_says_why(text, message):
    with pytest.raises(NotRenderableError, match=re.escape(message)):
        renderer().render(text)


THIS = "sparkassets_this"
ROWS = "sparkassets_relation_0"


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        (f"at > (select max(at) from {THIS})", ("at", "", False)),
        (f"r.at >= (select coalesce(max(t.at), '1900-01-01') from {THIS} t)", ("at", "", True)),
        (f"at > (select max(at) - interval '3 days' from {THIS})", ("at", "3d", False)),
        (f"at > (select min(at) from {THIS})", None),
        (f"at >= (select max(day) from {THIS})", None),
        (f"at >= (select max(cast(at as date)) from {THIS})", None),
        (f"at not in (select at from {THIS})", None),
        ("at > '2025-01-01'", None),
    ],
)
def test_filters_by_the_highest_value_are_understood(condition, found):
    everything = f"with r as (select * from {ROWS}) select * from r where id > 0"
    result = find_filter(everything, f"{everything} and {condition}", "duckdb")
    assert found == (result and (result.column, result.overlap, result.is_inclusive))


INCREMENTAL = (
    "{{{{ config(materialized='incremental', unique_key={keys}) }}}} select * from {{{{ ref('{upstream}') }}}} "
    "{{% if is_incremental() %}} where {column} >= (select max({column}) from {{{{ this }}}}) {{% endif %}}"
)


@pytest.mark.parametrize(
    ("upstream", "column", "keys", "expected", "note"),
    [
        (
            "stg_orders",
            "updated_at",
            "'order_id'",
            {"inlets": {"stg_orders": {"read": {"after": "updated_at", "overlap": "1s"}}}},
            "",
        ),
        ("stg_orders", "order_id", "'order_id'", {"strategy": "every_instance"}, "as it is BIGINT, each run reads"),
        (
            "elsewhere",
            "at",
            "'id'",
            {"inlets": {"elsewhere": {"read": {"after": "at", "overlap": "1s"}}}},
            "for which at must be a date or a timestamp",
        ),
        (
            "stg_orders",
            "updated_at",
            "none",
            {"inlets": {"stg_orders": {"read": {"after": "updated_at"}}}, "write": "append"},
            "rows may be missing: only those above the highest updated_at are read; dbt appends others",
        ),
    ],
)
def test_an_upsert_reads_the_highest_value_again_where_dbt_does(imported, upstream, column, keys, expected, note):
    files = {
        "models/elsewhere.py": "",
        "models/again.sql": INCREMENTAL.format(upstream=upstream, column=column, keys=keys),
    }
    folder = imported(files)
    load_project(folder, {})
    written = document(folder, "again")
    assert {name: written.get(name) for name in expected} == expected
    assert ("inlets" in written) == ("inlets" in expected)
    report = (folder / "IMPORTED.md").read_text()
    assert note in report
    assert ("is_incremental() of again" in report) == bool(note)


def test_an_append_of_late_rows_reads_them_once_and_says_so(imported):
    query = INCREMENTAL.format(upstream="stg_orders", column="updated_at", keys="none")
    folder = imported({"models/again.sql": query.replace("max(updated_at)", "max(updated_at) - interval '3 days'")})
    load_project(folder, {})
    assert document(folder, "again")["inlets"] == {"stg_orders": {"read": {"after": "updated_at"}}}
    assert "rows may be missing" in (folder / "IMPORTED.md").read_text()


def test_keys_stand_for_a_unique_test_and_one_of_a_part_of_the_table_is_reported(imported):
    properties = (
        "models:\n  - name: latest_orders\n    columns:\n      - {name: order_id, tests: [unique, not_null]}\n"
        "      - {name: status, tests: [unique]}\n"
        "  - {name: order_log, columns: [{name: order_id, tests: [unique]}]}\n"
    )
    folder = imported({"models/marts/more.yml": properties})
    assert document(folder, "latest_orders")["validations"] == [{"not_null": ["order_id"]}, {"unique": ["status"]}]
    assert document(folder, "order_log")["validations"] == [{"unique": ["order_id"]}]
    report = (folder / "IMPORTED.md").read_text()
    assert "| test unique of latest_orders.order_id | it is left out: the keys of the upsert hold it" in report
    assert "| test unique of latest_orders.status | it judges the rows of each run, and not those written bef" in report
    assert "| test unique of order_log.order_id | it judges the rows of each run, and not those written bef" in report


def test_the_summary_counts_the_tests_that_are_carried_over(imported, capsys):
    folder = imported()
    summary = "7 models, 1 snapshot, 2 seeds; 6 tests carried over, 2 not"
    assert f": {summary}; the report is" in " ".join(capsys.readouterr().out.split())
    assert (folder / "IMPORTED.md").read_text().startswith(f"# shop, imported from dbt\n\n{summary}.\n")


def test_a_filter_beside_other_changes_is_not_understood():
    partial = f"select id from {ROWS} where at > (select max(at) from {THIS})"
    assert find_filter(f"select * from {ROWS}", partial, "duckdb") is None
