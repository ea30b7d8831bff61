"""Tests of rows, computed in Spark; and the fixtures for pytest on a project's real runs."""

from datetime import date
from pathlib import Path

import pytest
from chispa import assert_df_equality

from sparkassets.core.cases.reading import read_cases
from sparkassets.core.spec.yaml_document import SourceFile
from sparkassets.errors import InputError
from sparkassets.project import load_project
from sparkassets.testing.case_runner import run_cases
from sparkassets.testing.project import ProjectUnderTest

pytestmark = pytest.mark.spark

ASSETS = """
asset: orders
source: csv
path: landing/{day:%Y%m%d}/*.csv
partition: {by: day, column: day}
columns: {id: bigint, amount: "decimal(10,2)"}
---
asset: prices
source: true
path: prices
---
asset: daily
partition: {by: day, column: day}
params: {least: 0}
sql: |
  SELECT day, sum(amount) AS total, count(*) AS n FROM {{ inlets.orders }}
  WHERE amount >= {{ params.least }} GROUP BY day
---
asset: checked
partition: {by: day, column: day}
validations: [{unique: [id]}, {range: {amount: {min: 0}}, severity: drop}]
sql: SELECT day, id, amount FROM {{ inlets.orders }}
---
asset: changed
write: {upsert: {keys: [id], newest_by: day}}
inlets: {orders: {read: {after: day}}}
strategy: latest_only
sql: SELECT * FROM {{ inlets.orders }}
---
asset: newest
write: {upsert: {keys: [id], newest_by: day, delete_when: amount IS NULL}}
inlets: {orders: {read: {after: day}}}
strategy: latest_only
validations: [{unique: [id]}, {range: {amount: {min: 0}}}, {not_null: [amount]}]
sql: SELECT * FROM {{ inlets.orders }}
---
asset: priced
sql: SELECT p.id, p.price, current_date() > DATE'2000-01-01' AS late FROM {{ inlets.prices }} p
---
asset: split
outlets: {low: {}, high: {}}
python: shop_functions:split
inlets: [orders]
"""
FUNCTIONS = """
def split(orders):
    return {"low": orders.filter("amount < 2"), "high": orders.filter("amount >= 2")}
"""
ROWS = """
given:
  orders:
    - {day: 2025-01-01, id: 1, amount: 5}
    - {day: 2025-01-02, id: 2, amount: 1.25}
    - {day: 2025-01-02, id: 3, amount: 2.5}
"""
CASES = f"""
test: of a file
asset: daily
partition: 2025-01-02
given: {{orders: {{file: orders.csv}}}}
expect: [{{day: 2025-01-02, total: 7, n: 1}}]
---
test: of none
asset: daily
partition: 2025-01-02
given: {{orders: []}}
expect: []
---
test: of its partition alone
asset: daily
partition: 2025-01-02
{ROWS}
expect: {{rows: [{{day: 2025-01-02, total: 3.75, n: 2}}], only: true}}
---
test: with other params
asset: daily
partition: 2025-01-01..2025-01-02
params: {{least: 2}}
{ROWS}
expect: [{{day: 2025-01-02, n: 1}}, {{day: 2025-01-01, n: 1}}]
---
test: other rows
asset: daily
partition: 2025-01-01..2025-01-02
{ROWS}
expect: [{{day: 2025-01-02, total: 3.75}}, {{day: 2025-01-03, total: null}}]
---
test: no such column
asset: daily
partition: 2025-01-02
{ROWS}
expect: [{{totl: 3}}]
---
test: of an upsert
asset: changed
given:
  orders: [{{day: 2025-01-01, id: 1, amount: 5}}, {{day: 2025-01-02, id: 1, amount: 6}}]
expect: [{{id: 1, amount: 5}}, {{id: 1, amount: 6}}]
---
test: the newest rows alone are judged
asset: newest
given:
  orders:
    - {{day: 2025-01-01, id: 1, amount: -5}}
    - {{day: 2025-01-02, id: 1, amount: 6}}
    - {{day: 2025-01-02, id: 2, amount: null}}
expect: [{{id: 1, amount: -5}}, {{id: 1, amount: 6}}, {{id: 2, amount: null}}]
---
test: times with an offset
asset: priced
given:
  prices: {{columns: {{id: bigint, price: timestamp}}, rows: [{{id: 1, price: "2026-10-25T02:30:00+02:00"}}]}}
expect: [{{id: 1, price: 2026-10-25T00:30}}]
---
test: above the watermark
asset: changed
given: {{orders: {{rows: [{{day: 2025-01-01, id: 1}}, {{day: 2025-01-02, id: 2}}], after: 2025-01-01}}}}
expect: [{{id: 2}}]
---
test: types by their values
asset: priced
given: {{prices: [{{id: 1, price: 2.5}}]}}
expect: [{{id: 1, price: 2.5, late: true}}]
---
test: columns that are not there
asset: priced
given: {{prices: [{{id: 1}}]}}
expect: {{error: price}}
---
test: no error
asset: priced
given: {{prices: [{{id: 1, price: 2.5}}]}}
expect: {{error: price}}
---
test: outlets
asset: split
{ROWS}
expect: {{outlets: {{low: [{{id: 2}}], high: [{{id: 1}}, {{id: 3}}]}}}}
---
test: what is withheld
asset: checked
partition: 2025-01-01..2025-01-02
given:
  orders:
    - {{day: 2025-01-01, id: 1, amount: 5}}
    - {{day: 2025-01-01, id: 2, amount: -5}}
    - {{day: 2025-01-02, id: 3, amount: 1}}
    - {{day: 2025-01-02, id: 3, amount: 2}}
expect: {{withheld: 2025-01-02, rows: [{{day: 2025-01-01, id: 1}}]}}
---
test: withheld and not expected
asset: checked
partition: 2025-01-01..2025-01-02
given: {{orders: [{{day: 2025-01-01, id: 1, amount: 1}}, {{day: 2025-01-02, id: 3}}, {{day: 2025-01-02, id: 3}}]}}
expect: {{rows: [{{id: 1}}]}}
---
test: not withheld
asset: checked
partition: 2025-01-01
given: {{orders: [{{day: 2025-01-01, id: 1}}]}}
expect: {{withheld: true}}
---
test: of no type
asset: daily
partition: 2025-01-02
given: {{orders: [{{day: soon}}]}}
expect: []
---
test: of an unknown type
asset: priced
given: {{prices: [{{id: 1, price: [2]}}]}}
expect: []
"""


@pytest.fixture
def folder(tmp_path):
    conf = tmp_path / "conf"
    (conf / "assets").mkdir(parents=True)
    (conf / "project.yml").write_text("project: shop\npython: [shop_functions]\n")
    (conf / "assets/all.yml").write_text(ASSETS)
    (conf / "shop_functions.py").write_text(FUNCTIONS)
    (conf / "tests").mkdir()
    (conf / "tests/orders.csv").write_text("amount,day,id\n7,2025-01-02,1\n9,2025-01-03,2\n")
    return conf


def test_rows(spark, folder):
    project = load_project(folder, {})
    cases = read_cases([SourceFile("t.yml", "tests/t.yml", CASES)], project=project, environment={})
    results = {each.name: (each.outcome, each.message) for each in run_cases(project, cases, spark=spark)}
    passing = ["of its partition alone", "with other params", "above the watermark", "types by their values"]
    passing += [
        "of an upsert",
        "the newest rows alone are judged",
        "times with an offset",
        "columns that are not there",
        "outlets",
        "what is withheld",
        "of a file",
        "of none",
    ]
    assert {name: results.pop(name) for name in passing} == dict.fromkeys(passing, ("passed", ""))
    outcome, message = results.pop("other rows")
    assert (outcome, message.splitlines()) == (
        "failed",
        [
            "daily: 1 row missing, 1 unexpected, 1 as expected",
            "   day         total",
            "-  2025-01-03  NULL",
            "+  2025-01-01  5.00",
        ],
    )
    assert results.pop("no such column") == ("failed", "daily has no column 'totl'; did you mean 'total'?")
    assert results.pop("no error") == ("failed", "expected it to fail with 'price', but it succeeded")
    told = "checked: 2025-01-02 is unexpectedly withheld: unique(id): 2 of 2 rows"
    assert results.pop("withheld and not expected") == ("failed", told)
    assert results.pop("not withheld") == ("failed", "checked: 2025-01-01 is not withheld")
    outcome, message = results.pop("of no type")
    told = 'the rows of \'orders\': {"day": "soon"} does not fit id bigint, amount decimal(10,2), day date'
    assert (outcome, told in message) == ("error", True), message
    outcome, message = results.pop("of an unknown type")
    hint = "declare the columns of 'prices', or give 'columns'"
    assert (outcome, message.count(hint)) == ("error", 1), message
    assert message.endswith(f"'price' is not known\n  hint: {hint}")
    assert not results
    assert not (folder / "warehouse").exists()
    assert not (folder / "state").exists()


def test_a_project_under_test(spark, folder, tmp_path):
    with ProjectUnderTest(folder, place=tmp_path / "place", spark=spark, env={}) as project:
        project.give("orders", [{"day": "2025-01-01", "id": 1, "amount": 5}])
        project.run(at="2025-01-03", select=["daily"])
        expected = spark.createDataFrame([(date(2025, 1, 1), 1)], "day date, n bigint")
        assert_df_equality(project.table("daily").select("day", "n"), expected, ignore_nullable=True)
        project.give("orders", [{"day": "2025-01-02", "id": 2, "amount": 5}], mode="append")
        assert [run.asset for run in project.run(at="2025-01-03", select=["daily"]).runs] == ["daily"]
        assert project.table("daily").count() == 2
        with pytest.raises(InputError, match="'daily' is computed by its runs, so a test cannot give it rows"):
            project.give("daily", [])
        with pytest.raises(InputError, match="'split' has no table yet"):
            project.table("split")
    assert not Path(folder, "state").exists()
