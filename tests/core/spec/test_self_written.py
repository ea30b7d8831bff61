"""Assets whose own code writes their target: what their keys mean, and what is refused."""

import pytest

from tests.core.spec.in_memory import compiled, errors, errors_of, one

INSERT = "INSERT INTO {{ outlets.a }} SELECT 1 FROM {{ inlets.flights }}"


def test_statements_that_write_a_table():
    asset = one("asset: a\nwrite: self\npath: lake/a\n", sql=INSERT)
    assert (asset.writes_itself, asset.runs_elsewhere, asset.storage.given) == (True, False, "lake/a")
    assert list(asset.inlets) == ["flights"]


def test_without_a_place_it_is_known_by_its_events():
    asset = one("asset: a\nwrite: self\nuri: snowflake://account/db/schema/t\n", sql="CALL export()")
    assert (asset.is_known_by_events, asset.uri) == (True, "snowflake://account/db/schema/t")
    assert one("asset: a\nwrite: self\n", sql="CALL export()").uri == "a"


def test_without_code_its_job_runs_elsewhere_and_no_schedule_starts_it():
    files = {"a.yml": "asset: a\nwrite: self\npath: lake/a\ninlets: [b]\n", "b.yml": "asset: b\nsource: true\n"}
    asset = compiled(files).assets["a"]
    assert asset.runs_elsewhere
    assert (asset.schedule.condition, list(asset.inlets)) == (None, ["b"])


def test_a_partition_needs_no_column():
    assert one(
        "asset: a\nwrite: self\npartition: {by: day}\nschedule: '@daily'\n", sql="CALL export()"
    ).partitioning.time


@pytest.mark.parametrize(
    ("text", "sql", "expected"),
    [
        (
            "asset: a\nwrite: self\npath: a\n",
            "SELECT 1",
            "a.sql:1:1: the SQL begins with 'SELECT', which does not write anything",
        ),
        (
            "asset: a\nwrite: self\nuri: x-a://b\n",
            INSERT,
            "a.sql:1:24: 'a' has no table: 'path' or 'table' is missing",
        ),
        (
            "asset: a\nwrite: self\npath: a\nschema: evolve\n",
            INSERT,
            "a.yml:4:1: 'schema' is not allowed with 'write: self'",
        ),
        (
            "asset: a\nwrite: self\nunchanged: skip\n",
            "CALL x()",
            "a.yml:3:12: 'unchanged' needs a table to compare",
        ),
        (
            "asset: a\nwrite: self\npath: a\nvalidations: [{not_null: [id], severity: drop}]\n",
            INSERT,
            "a.yml:4:42: 'severity' is 'drop', but with 'write: self' rows are validated after they are written",
        ),
        (
            "asset: a\nwrite: self\nvalidations: [{not_null: [id]}]\n",
            "CALL x()",
            "a.yml:3:1: there is no table to validate",
        ),
    ],
)
def test_refused(text, sql, expected):
    assert errors_of(text, sql=sql).startswith(expected)


def test_no_schedule_runs_what_has_no_code():
    found = errors({"a.yml": "asset: a\nwrite: self\nschedule: '@daily'\n"})
    assert found.startswith("a.yml:3:1: asset 'a' has a 'schedule' but neither 'sql' nor 'python' to run")


def test_what_is_known_by_events_alone_cannot_be_read():
    files = {
        "a.yml": "asset: a\nwrite: self\nuri: x-a://b\n",
        "a.sql": "CALL x()",
        "b.yml": "asset: b\nsql: SELECT * FROM {{ inlets.a }}\n",
    }
    assert "'a' is known only by its events and cannot be read" in errors(files)


def test_an_insert_elsewhere_names_the_key():
    assert "with `write: self` statements write the target" in errors_of("asset: a\n", sql="INSERT INTO t SELECT 1")
