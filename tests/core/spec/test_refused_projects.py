"""What only shows when a whole project is looked at."""

import pytest

from sparkassets.core.spec import asset_file
from sparkassets.errors import MOST_PROBLEMS, FileLocation, SpecError, SpecProblem
from sparkassets.project.project_loader import load_project
from tests.core.spec.in_memory import compiled, errors, errors_of, one


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(
            {
                "a.yml": """\
asset: a
sql: SELECT * FROM {{ inlets.c }}
""",
                "b.yml": """\
asset: b
sql: SELECT * FROM {{ inlets.a }}
""",
                "c.yml": """\
asset: c
schedule: a | b
sql: SELECT 1
""",
            },
            """\
a.yml:1:8: the assets depend on each other in a cycle: a → c → a
    asset: a
           ^
""",
            id="a_cycle",
        ),
        pytest.param(
            {
                "a.yml": """\
asset: a
schedule: x://b
sql: SELECT 1
""",
                "b.yml": """\
asset: b
uri: x://b
schedule: a
sql: SELECT 1
""",
            },
            """\
a.yml:1:8: the assets depend on each other in a cycle: a → b → a
    asset: a
           ^
""",
            id="a_cycle_through_an_identity",
        ),
        pytest.param(
            {
                "a.yml": """\
asset: a
schedule: p
sql: SELECT 1
""",
                "p.yml": """\
asset: p
uri: x-u://u
sql: SELECT 1
""",
                "q.yml": """\
asset: q
uri: x-u://u
sql: SELECT * FROM {{ inlets.a }}
""",
            },
            """\
a.yml:1:8: the assets depend on each other in a cycle: a → q → a
    asset: a
           ^
""",
            id="a_cycle_through_another_asset_of_a_dataset",
        ),
        pytest.param(
            {
                "p.yml": """\
asset: p
uri: x-u://u
sql: SELECT 1
""",
                "q.yml": """\
asset: q
uri: X-u://u
schedule: p
sql: SELECT 1
""",
                "r.yml": """\
asset: r
uri: x-u://u
inlets: [p]
sql: SELECT * FROM {{ inlets.q }}
""",
            },
            """\
q.yml:3:11: asset 'q' cannot wait for 'p': both are the dataset 'x-u://u'
    schedule: p
              ^
r.yml:3:10: asset 'r' cannot have 'p' as an inlet: both are the dataset 'x-u://u'
    inlets: [p]
             ^
  hint: in SQL, {{ outlets.<asset> }} reads the target as it was before the run
r.yml:4:30: asset 'r' cannot have 'q' as an inlet: both are the dataset 'x-u://u'
    sql: SELECT * FROM {{ inlets.q }}
                                 ^
  hint: in SQL, {{ outlets.<asset> }} reads the target as it was before the run
""",
            id="another_asset_of_its_own_dataset",
        ),
        pytest.param(
            {
                "a.yml": """\
asset: a
sql: SELECT 1
path: out/x
""",
                "b.yml": """\
asset: b
sql: SELECT 1
path: ./out//x/
""",
            },
            """\
b.yml:3:7: the target 'out/x' is also the target of asset 'a', 'out/x' (a.yml:3:7); writing one would destroy the \
other
    path: ./out//x/
          ^^^^^^^^^
  hint: give each asset its own path; only assets that all append may share one
""",
            id="one_target_for_two",
        ),
        pytest.param(
            {
                "a.yml": """\
asset: a
source: true
""",
                "b.yml": """\
asset: a
source: true
retries: 1
""",
            },
            """\
b.yml:1:8: the asset 'a' is defined twice; first at a.yml:1:8
    asset: a
           ^
b.yml:3:1: 'retries' is not allowed for a source: others write it, so nothing runs
    retries: 1
    ^^^^^^^
""",
            id="a_name_twice",
        ),
        pytest.param(
            {
                "a.yml": """\
asset: a
source: true
""",
                "b.yml": """\
asset: a
source: true
""",
                "c.yml": """\
asset: c
inlets: [b, d]
sql: SELECT 1 AS x
schedule: a & b
""",
                "d.yml": """\
asset: d
inlets: {e: {on_update: ignore}}
sql: SELECT * FROM {{ inlets.b }}
""",
                "e.yml": """\
asset: e
path: ./e
source: delta
""",
            },
            """\
b.yml:1:8: the asset 'a' is defined twice; first at a.yml:1:8
    asset: a
           ^
""",
            id="a_copy_that_kept_its_name",
        ),
        pytest.param(
            {},
            """\
project.yml:1:10: the project has no assets: no YAML file in assets/ declares one
    project: shop
             ^^^^
""",
            id="no_assets",
        ),
        pytest.param(
            {
                "project.yml": """\
project: p
assets: [x, y]
""",
                "a.yml": """\
# nothing
""",
            },
            """\
project.yml:2:9: the project has no assets: no YAML file in x, y declares one
    assets: [x, y]
            ^^^^^^
""",
            id="no_assets_in_the_folders",
        ),
        pytest.param(
            {
                "flights.yml": """\
asset: flights
source: csv
path: landing/flights/{day}.csv
partition: {by: day, column: day}
end: 2025-01-01
""",
                "a.yml": """\
asset: a
start: 2025-02-01
partition: {by: day, column: day}
""",
                "a.sql": """\
SELECT * FROM {{ inlets.flights }}
""",
            },
            """\
a.yml:3:1: no partition of 'a' between its start and end maps to one of 'flights'
    partition: {by: day, column: day}
    ^^^^^^^^^
  hint: compare start and end of both assets
""",
            id="times_that_never_meet",
        ),
        pytest.param(
            {
                "flights.yml": """\
asset: flights
source: csv
path: landing/flights/{day}.csv
partition: {by: day, column: day}
end: 2025-01-30
""",
                "a.yml": """\
asset: a
start: 2025-02-01
partition: {by: day, column: day}
inlets: {flights: {window: 3d}}
""",
                "a.sql": """\
SELECT * FROM {{ inlets.flights }}
""",
            },
            """\
a.yml:4:10: no partition of 'a' between its start and end maps to one of 'flights'
    inlets: {flights: {window: 3d}}
             ^^^^^^^
  hint: compare start and end of both assets
""",
            id="a_window_that_never_meets",
        ),
        pytest.param(
            {
                "a.yml": """\
asset: a
schedule: @daily
""",
                "b.yml": """\
asset: b
sql: SELECT * FROM {{ inlets.a }}
""",
                "c.yml": """\
asset: c
retries: x
source: csv
path: x
""",
                "d.yml": """\
asset: d
partition: {by: dya, column: d}
sql: SELECT * FROM {{ inlets.c }}
""",
            },
            """\
a.yml:2:11: text that begins with '@' must be quoted
    schedule: @daily
              ^^^^^^
  hint: write "@daily"
c.yml:2:1: 'retries' is not allowed for a source: others write it, so nothing runs
    retries: x
    ^^^^^^^
c.yml:2:10: 'retries' is 'x'; expected a whole number of at least 0
    retries: x
             ^
d.yml:2:17: 'by' in 'partition' is 'dya'; expected hour, day, week, month, quarter, year, auto or a cron
    partition: {by: dya, column: d}
                    ^^^
  hint: did you mean 'day'?
""",
            id="what_follows_from_an_error_is_not_said",
        ),
        pytest.param(
            {
                "b.yml": """\
asset: b
retries: x
type: 1
sql: SELECT {{ y }}
""",
                "a.yml": """\
asset: a
foo: 1
sql: SELECT 1
""",
                "project.yml": """\
project: 1
foo: 2
""",
            },
            """\
a.yml:2:1: unknown key 'foo' in asset 'a'
    foo: 1
    ^^^
b.yml:2:10: 'retries' is 'x'; expected a whole number of at least 0
    retries: x
             ^
b.yml:3:7: 'type' is 1; expected text
    type: 1
          ^
  hint: put it in quotes
b.yml:4:16: unknown name 'y' in the template
    sql: SELECT {{ y }}
                   ^
  hint: known are inlets, outlets, partitions, params, watermark, run_id and the times of the run
project.yml:1:10: 'project' is 1; expected at most 128 letters, digits and '_', not beginning with a digit
    project: 1
             ^
project.yml:2:1: unknown key 'foo' in the project file
    foo: 2
    ^^^
""",
            id="everything_at_once_in_order_of_place",
        ),
        pytest.param(
            {
                "project.yml": """\
project: p
python: [jobs]
""",
                "a.yml": """\
asset: a
sql: SELECT 1
python: jobs.x:f
""",
            },
            """\
a.yml:3:1: 'sql' and 'python' exclude each other
    python: jobs.x:f
    ^^^^^^
""",
            id="sql_and_python",
        ),
        pytest.param(
            {
                "project.yml": """\
project: p
python: [jobs]
""",
                "a.yml": """\
asset: a
python: jobz.x:f
""",
            },
            """\
a.yml:2:9: the package 'jobz' is not allowed: it is not listed under 'python' in the project file
    python: jobz.x:f
            ^^^^^^
  hint: did you mean 'jobs'?
""",
            id="a_package_that_is_not_allowed",
        ),
        pytest.param(
            {
                "project.yml": """\
project: p
python: [jobs]
""",
                "a.yml": """\
asset: a
python: jobs.x:f
""",
            },
            """\
a.yml:2:9: module 'jobs.x' not found: neither jobs/x.py nor jobs/x/__init__.py exists
    python: jobs.x:f
            ^^^^^^
  hint: it must be inside the project's folder or beside it
""",
            id="a_module_that_is_not_there",
        ),
    ],
)
def test_refused(files, expected):
    assert errors(files) + "\n" == expected


def test_reading_stops_at_so_many_problems_that_a_program_has_spoilt_the_files():
    with pytest.raises(SpecError) as error:
        compiled({"a.yml": "---\n".join(f"asset: a{index}\nsqll: x\n" for index in range(3_000))})
    found = error.value.problems
    assert len(found) == MOST_PROBLEMS
    assert found[-1].message == "stopped after 1,000 problems; the rest is not checked"
    assert found[-1].location == FileLocation("a.yml", 3_001, 1)


def test_checking_stops_at_so_many_problems_of_assets_together_and_few_names_are_compared():
    with pytest.raises(SpecError) as error:
        compiled(
            {"a.yml": "---\n".join(f"asset: a{n}\ninlets: [a{n + 1}_]\nsql: SELECT 1 AS a\n" for n in range(3_000))}
        )
    found = error.value.problems
    assert len(found) == MOST_PROBLEMS
    assert found[-1].message == "stopped after 1,000 problems; the rest is not checked"
    assert found[-1].location == FileLocation("a.yml", 4_001, 1)
    assert [each.hint for each in found[98:102]] == ["did you mean 'a99'?", "did you mean 'a100'?", None, None]


SPOILT = {
    "an_unknown_inlet": "asset: a{n}\ninlets: [nowhere{n}]\nsql: SELECT 1 AS a\n",
    "an_unknown_name_in_sql": "asset: a{n}\nschedule: '@daily'\nsql: SELECT {{{{ nowhere }}}} AS a\n",
}


@pytest.mark.parametrize("text", SPOILT.values(), ids=SPOILT)
def test_of_very_many_assets_the_first_are_checked_before_the_others_are_read(tmp_path, monkeypatch, text):
    monkeypatch.setattr(asset_file, "MANY", 4_000)
    drafts, original = [], asset_file._make_draft
    monkeypatch.setattr(asset_file, "_make_draft", lambda *given: drafts.append(1) or original(*given))
    (tmp_path / "project.yml").write_text("project: p\nassets: [assets/]\n")
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "a.yml").write_text("---\n".join(text.format(n=n) for n in range(5_000)))
    with pytest.raises(SpecError) as error:
        load_project(tmp_path, {})
    assert error.value.problems[-1].message == "stopped after 1,000 problems; the rest is not checked"
    assert error.value.problems[-1].location.line == 4_001
    assert len(drafts) == asset_file.MOST_READ_FIRST


OTHER_NAMES = {
    "in_other_files": "asset: b{n}\nschedule: '@daily'\nsql: SELECT 1 AS a\n",
    "quoted_in_a_flow_map": '{{type: table, "asset": "b{n}", schedule: "@daily", sql: SELECT 1 AS a}}\n',
    "outlets": "asset: m{n}\nschedule: '@daily'\noutlets: {{b{n}: {{sql: SELECT 1 AS a}}}}\n",
    "in_a_block": "asset: >-\n  b{n}\nschedule: '@daily'\nsql: SELECT 1 AS a\n",
    "an_escape": "asset: \"\\x62{n}\"\nschedule: '@daily'\nsql: SELECT 1 AS a\n",
    "a_key_of_its_own_line": "? asset\n: b{n}\n? schedule\n: '@daily'\n? sql\n: SELECT 1 AS a\n",
}


@pytest.mark.parametrize("text", OTHER_NAMES.values(), ids=OTHER_NAMES)
def test_names_of_assets_that_are_not_read_yet_are_known(tmp_path, monkeypatch, text):
    monkeypatch.setattr(asset_file, "MANY", 2_000)
    monkeypatch.setattr(asset_file, "MOST_READ_FIRST", 1_100)
    (tmp_path / "project.yml").write_text("project: p\nassets: [.]\n")
    first = (f"asset: a{n}\ninlets: [b{n}]\nschedule: '@daily'\nsql: SELECT 1 AS a\n" for n in range(1_100))
    (tmp_path / "a.yml").write_text("---\n".join(first))
    (tmp_path / "b.yml").write_text("---\n".join(text.format(n=n) for n in range(1_100)))
    assert load_project(tmp_path, {}).assets["a1099"].inlets["b1099"]


def test_problems_beyond_those_that_are_listed_are_counted():
    problems = [SpecProblem(FileLocation("a.yml", line, 1), "wrong") for line in range(1, 1_004)]
    assert [str(each) for each in SpecError(problems).problems[-2:]] == [
        "a.yml:1000:1: wrong",
        "a.yml:1001:1: 3 more problems, the first of them here",
    ]


def test_brackets_inside_each_other_in_a_query_are_bounded():
    deep = f"SELECT {'(' * 1_000}1{')' * 1_000} AS n, '{'(' * 2_000}' AS text"
    assert one(f'asset: a\nsql: "{deep}"\n')
    found = errors_of(f'asset: a\nsql: "{deep.replace("1)", "(1))")}"\n')
    assert found.startswith("a.yml:2:1014: the query nests more than 1,000 brackets")
