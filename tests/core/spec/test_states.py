"""Where a project's state may be: a folder, a URI, a schema of a catalog, or a path that a session commits to."""

from __future__ import annotations

import pytest

from sparkassets.core.spec.storage_overlaps import StorageUse, find_overlaps, storage_uses
from sparkassets.core.variables import PROFILE
from sparkassets.errors import InputError
from sparkassets.features.branches.branch_project import branch_state_location
from tests.core.spec.in_memory import compiled, errors

SOURCE = {"a.yml": "asset: a\nsource: true\n"}


def state_place(state):
    """Where the state is, and whether a session keeps it."""
    spec = compiled({"project.yml": f"project: p\nstate: {state}\n", **SOURCE})
    return spec.state, spec.state_by_spark


def refused(state, **files):
    return errors({"project.yml": f"project: p\nstate: {state}\n", **SOURCE, **files}).splitlines()


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("{catalog: main, schema: ops}", ("table://main.ops", True)),
        ("{catalog: my-cat, schema: 'it''s'}", ("table://`my-cat`.`it's`", True)),
        ("{path: s3://lake/state/}", ("s3://lake/state", False)),
        ("{path: abfss://c@a.dfs.net/state, commit: spark}", ("abfss://c@a.dfs.net/state", True)),
        ("s3://lake/state", ("s3://lake/state", False)),
        ("{path: wasbs://c@a.blob.core.windows.net/s, commit: spark}", ("wasbs://c@a.blob.core.windows.net/s", True)),
    ],
)
def test_where_it_is(state, expected):
    assert state_place(state) == expected


def test_a_path_in_a_map_is_that_of_the_text():
    assert state_place("{path: st}") == state_place("st")


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ("{schema: ops}", "the state lacks 'catalog'; expected a folder, a URI or {catalog: <name>, schema: <name>}"),
        ("{}", "the state lacks 'catalog'; expected a folder, a URI or {catalog: <name>, schema: <name>}"),
        ("{catalog: a.b, schema: ops}", "'a.b' is not a valid catalog name"),
        ("{catalog: main, schema: ''}", "'' is not a valid schema name"),
        ("{catalog: main, path: st}", "'catalog' and 'path' exclude each other"),
        ("{catalog: main, scheme: ops}", "unknown key 'scheme' in 'state'"),
        ("[st]", "'state' is a list; expected a folder, a URI or {catalog: <name>, schema: <name>}"),
        (
            "{path: st, commit: spark}",
            "a state on a local disk cannot have 'commit: spark': Spark's local commits are safe in only one JVM",
        ),
        ("gcs://lake/state", "the state cannot be stored at 'gcs://'; expected gs://<bucket>/…"),
        (
            "{path: wasbs://c@a.blob.core.windows.net/state}",
            "the state cannot be stored at 'wasbs://'; expected abfss://<container>@<account>.dfs.core.windows.net/…",
        ),
        ("{path: 's3://k:secretsecret@lake/x'}", "'state' contains a password; events and messages are clear text"),
    ],
)
def test_what_is_no_place(state, message):
    assert any(line.endswith(message) for line in refused(state)), refused(state)


def test_a_profile_has_a_state_of_its_own():
    files = {
        "project.yml": "project: p\nprofiles:\n  prod: {state: {catalog: main, schema: ops}, warehouse: w}\n",
        **SOURCE,
    }
    spec = compiled(files, {PROFILE: "prod"})
    assert (spec.state, spec.state_by_spark) == ("table://main.ops", True)
    assert compiled(files).state == "/shop/state"


def test_two_profiles_share_no_schema():
    shared = "{state: {catalog: main, schema: ops}, warehouse: w}"
    text = f"project: p\nprofiles:\n  a: {shared}\n  b: {shared.replace('w}', 'v}')}\n"
    assert "profile 'b' has the same state as profile 'a': table://main.ops" in errors({"project.yml": text, **SOURCE})


def test_a_state_that_a_session_keeps_has_no_branches():
    spec = compiled({"project.yml": "project: p\nstate: {catalog: main, schema: ops}\n", **SOURCE})
    with pytest.raises(InputError, match="is written by a Spark session and cannot have branches"):
        branch_state_location(spec, "new")


def test_an_asset_is_not_written_to_the_state():
    """However both are written."""
    spec = compiled({"project.yml": "project: p\nstate: {catalog: main, schema: ops}\n", **SOURCE})
    uses = storage_uses(root=spec.root, state=(spec.state, "main.ops"), folders=(), assets={})
    taken = StorageUse("target", "table://3/main/ops/journal", "main.ops.journal", "a")
    (found,) = find_overlaps([*uses, taken])
    assert found.sentence("").startswith("the target 'main.ops.journal' is also the state 'main.ops'")
