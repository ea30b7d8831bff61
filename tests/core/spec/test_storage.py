"""What is written has its place to itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.spec.storage_overlaps import parse_site, sites_overlap
from tests.core.spec.in_memory import compiled, errors

SOURCE = "asset: s\nsource: csv\n"
PROJECT = "project: p\n"
AT = "(a.yml:3:7)"
INSIDE = "writing one would destroy the other"
READ = "the source would read the rows written there"


def refused(*, project=PROJECT, **paths):
    """The first lines of what assets at these paths are refused with; sources by their kind before a '='."""
    files = {"project.yml": project}
    for name, path in paths.items():
        kind, _, where = path.rpartition("=")
        partition = "partition: {by: day, column: day}\n" if "{day}" in where else ""
        head = f"source: {kind}\n{partition}" if kind else "sql: SELECT 1\n"
        files[f"{name}.yml"] = f"asset: {name}\n{head}" + (f"path: '{where}'\n" if where else "")
    told = errors(files).splitlines()
    return [line for line in told if line[0] != " "]


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (
            {"a": "state/journal"},
            f"a.yml:3:7: the target 'state/journal' lies inside the state './state' (project.yml:1:10); {INSIDE}",
        ),
        ({"a": "./state/"}, f"a.yml:3:7: the target 'state' is also the state './state' (project.yml:1:10); {INSIDE}"),
        ({"a": ".."}, f"a.yml:3:7: the target '..' holds the project's own folder '/shop'; {INSIDE}"),
        ({"a": "."}, f"a.yml:3:7: the target '.' is also the project's own folder '/shop'; {INSIDE}"),
        ({"a": "assets/a"}, f"a.yml:3:7: the target 'assets/a' lies inside the folder 'assets'; {INSIDE}"),
        (
            {"a": "data", "b": "data/b"},
            f"b.yml:3:7: the target 'data/b' lies inside the target of asset 'a', 'data' {AT}; {INSIDE}",
        ),
        (
            {"a": "warehouse/b/../b", "b": ""},
            f"b.yml:1:8: the target 'warehouse/b' is also the target of asset 'a', 'warehouse/b' {AT}; {INSIDE}",
        ),
        (
            {"a": "warehouse", "b": ""},
            f"b.yml:1:8: the target 'warehouse/b' lies inside the target of asset 'a', 'warehouse' {AT}; {INSIDE}",
        ),
        (
            {"a": "raw", "s": "delta=raw"},
            f"a.yml:3:7: the target 'raw' is also the source of asset 's', 'raw' (s.yml:3:7); {READ}",
        ),
        (
            {"a": "raw", "s": "delta=raw/deep"},
            f"a.yml:3:7: the target 'raw' holds the source of asset 's', 'raw/deep' (s.yml:3:7); {READ}",
        ),
        (
            {"a": "landing/x.csv", "s": "csv=landing/{day}.csv"},
            (
                "a.yml:3:7: the target 'landing/x.csv' lies inside the source of asset 's', 'landing/{day}.csv' "
                f"(s.yml:4:7); {READ}"
            ),
        ),
        (
            {"a": "landing", "s": "csv=landing/{day}.csv"},
            (
                "a.yml:3:7: the target 'landing' is also the source of asset 's', 'landing/{day}.csv' "
                f"(s.yml:4:7); {READ}"
            ),
        ),
        (
            {"a": "landing/out", "s": "csv=landing/**/*.csv"},
            (
                "a.yml:3:7: the target 'landing/out' lies inside the source of asset 's', 'landing/**/*.csv' "
                f"(s.yml:3:7); {READ}"
            ),
        ),
        (
            {"a": "landing/out", "s": "csv=landing"},
            f"a.yml:3:7: the target 'landing/out' lies inside the source of asset 's', 'landing' (s.yml:3:7); {READ}",
        ),
        (
            {"a": "s3a://Lake/a", "b": "s3://lake/a/b/"},
            f"b.yml:3:7: the target 's3://lake/a/b' lies inside the target of asset 'a', 's3a://Lake/a' {AT}; {INSIDE}",
        ),
        (
            {"s": "json=**/*.json"},
            "project.yml:1:10: the state './state' lies inside the source of asset 's', '**/*.json' (s.yml:3:7); "
            + READ,
        ),
    ],
)
def test_places_that_lie_in_each_other_are_refused_with_both_named(paths, expected):
    assert expected in refused(**paths)


def test_the_line_of_the_state_is_told_where_the_file_has_it():
    told = refused(project="project: p\nstate: out\n", a="out/a")
    assert told == [f"a.yml:3:7: the target 'out/a' lies inside the state 'out' (project.yml:2:8); {INSIDE}"]


@pytest.mark.parametrize(
    ("paths", "hint"),
    [
        ({"a": "raw", "s": "delta=raw"}, "remove the source, and name the asset 'a' as an inlet instead"),
        ({"a": "raw", "b": "raw"}, "give each asset its own path; only assets that all append may share one"),
        ({"a": "state"}, "give one of them a different folder"),
    ],
)
def test_the_hint_says_what_to_do(paths, hint):
    files = {f"{name}.yml": "" for name in paths}
    for name, path in paths.items():
        kind, _, where = path.rpartition("=")
        files[f"{name}.yml"] = f"asset: {name}\n{f'source: {kind}' if kind else 'sql: SELECT 1'}\npath: {where}\n"
    assert f"  hint: {hint}" in errors(files).splitlines()


APPENDING = "write: append\nstrategy: every_instance\nschedule: '@daily'\nsql: SELECT 1\n"


@pytest.mark.parametrize(
    "files",
    [
        {"a.yml": f"asset: a\npath: log\n{APPENDING}", "b.yml": f"asset: b\npath: log/\n{APPENDING}"},
        {"a.yml": "asset: a\nsql: SELECT 1\npath: data\n", "b.yml": "asset: b\nsql: SELECT 1\npath: database\n"},
        {"a.yml": "asset: a\nsql: SELECT 1\npath: landing/out\n", "s.yml": f"{SOURCE}path: landing/x*.csv\n"},
        {"a.yml": "asset: a\nsql: SELECT 1\n", "s.yml": f"{SOURCE}path: '*.csv'\n"},
        {"s.yml": f"{SOURCE}path: landing\n", "t.yml": "asset: t\nsource: csv\npath: landing/deep\n"},
        {"s.yml": f"{SOURCE}path: assets/seeds/*.csv\n"},
        {
            "a.yml": "asset: a\nsql: SELECT 1\npath: abfss://lake@dev.dfs.core.windows.net/a\n",
            "b.yml": "asset: b\nsql: SELECT 1\npath: abfss://lake@prod.dfs.core.windows.net/a\n",
        },
    ],
    ids=[
        "all_append",
        "a_longer_name",
        "out_of_the_pattern",
        "pattern_in_the_root",
        "two_sources",
        "seeds",
        "accounts",
    ],
)
def test_what_does_no_harm_is_allowed(files):
    assert compiled(files).assets


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("s3a://b/x", "s3://b/x/", True),
        ("s3n://B/x/../y", "s3://b//y/z", True),
        ("s3://b/X", "s3://b/x", False),
        ("s3://b", "s3://b/x", True),
        ("gs://b/x", "gcs://b/x", True),
        ("gs://b/x", "s3://b/x", False),
        ("abfss://c@a.dfs.core.windows.net/x", "abfs://c@a.blob.core.windows.net/x/y", True),
        ("abfss://c@a.dfs.core.windows.net/x", "az://c/x", True),
        ("abfss://c@a.dfs.core.windows.net/x", "wasbs://c@a.blob.core.windows.net/x", True),
        ("wasb://c@a.blob.core.windows.net/x", "wasbs://c@b.blob.core.windows.net/x", False),
        ("file:///data/x", "/data/x/y", True),
        ("file://localhost/data", "/data/x", True),
        ("/data/x", "/data/xy", False),
        ("/", "/data", True),
    ],
)
def test_places_are_compared_by_what_they_mean(one, other, expected):
    assert sites_overlap(parse_site(one), parse_site(other)) is expected
    assert sites_overlap(parse_site(other), parse_site(one)) is expected


names = st.lists(st.sampled_from(["a", "b", "ab", "..", ".", ""]), max_size=4)


@given(names, names)
def test_overlap_is_symmetric_and_what_the_names_say(one, other):
    first, second = (parse_site("/r/" + "/".join(path)) for path in (one, other))
    expected = first.names[: len(second.names)] == second.names or second.names[: len(first.names)] == first.names
    assert sites_overlap(first, second) is sites_overlap(second, first) is expected
