"""What the text of a query tells: bare tables, and the columns that it yields."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.query_text import find_columns_and_tables, yielded_columns


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("SELECT * FROM good", ["good"]),
        ("select * from `good` g left join other o on g.a = o.a", ["good", "other"]),
        ("FROM good SELECT a", ["good"]),
        ("SELECT * FROM (SELECT a FROM good) x", ["good"]),
        ("SELECT a FROM {{ inlets.x }} WHERE a IN (SELECT a FROM good)", ["good"]),
        ("SELECT 1 UNION ALL (SELECT a FROM good)", ["good"]),
        ("WITH good AS (SELECT 1) SELECT * FROM good", []),
        ("WITH a AS (SELECT 1), Good (x, y) AS (SELECT 1, 2) SELECT * FROM a JOIN good", []),
        ("SELECT * FROM db.good JOIN cat.db.good", []),
        ("SELECT * FROM range(3) JOIN LATERAL explode(a)", []),
        ("SELECT extract(year FROM good), trim(BOTH FROM good), substring(good FROM 2) FROM {{ inlets.x }}", []),
        ("SELECT a IS NOT DISTINCT FROM good FROM {{ inlets.x }}", []),
        ("SELECT 'x FROM good', \"FROM good\" -- FROM good\n/* FROM good */ {# FROM good #} FROM {{ inlets.x }}", []),
        ("SELECT * FROM good{{ params.suffix }} JOIN {{ params.schema }}.good", []),
        ("SELECT r'\\' FROM größen", ["größen"]),
        ("VALUES (1)", []),
        ("FROM", []),
    ],
)
def test_tables_that_are_named_bare(sql, tables):
    _, found = find_columns_and_tables(sql)
    assert [name for name, _ in found] == tables
    assert all(sql[position:].strip("`").startswith(name) for name, position in found)


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT a, t.b, `c d`, s.t.u.e FROM t", ("a", "b", "c d", "e")),
        ("SELECT DISTINCT a, 1 + 2 AS b FROM t", ("a", "b")),
        ("SELECT count(*) n, sum(x) AS `total` GROUP BY ALL", ("n", "total")),
        ("SELECT a AS limit, t.order, a IS DISTINCT FROM b AS c FROM t", ("limit", "order", "c")),
        ("SELECT CASE WHEN a THEN 'x, y' ELSE b END AS c, cast(d AS decimal(12, 2)) AS d;", ("c", "d")),
        ("SELECT {{ inlets.f.day }}, f.{{ inlets.f.origin }}, {{ inlets.f.x }} AS y FROM t", ("day", "origin", "y")),
        ("WITH x AS (SELECT 1 AS no) SELECT a FROM x UNION SELECT b FROM y", ("a",)),
        ("FROM t SELECT a WHERE b", ("a",)),
        ("SELECT a[0] AS first, (SELECT max(x) FROM y) AS top FROM t", ("first", "top")),
        ("SELECT * FROM t", None),
        ("SELECT a, t.* FROM t", None),
        ("SELECT * EXCEPT (a) FROM t", None),
        ("SELECT a + b FROM t", None),
        ("SELECT a IS NULL FROM t", None),
        ("SELECT d + interval 1 day FROM t", None),
        ("SELECT CASE WHEN a THEN b END FROM t", None),
        ("SELECT explode(m) AS (k, v) FROM t", None),
        ("SELECT x::map<a, b> AS m, {{ params.column }} FROM t", None),
        ("SELECT a {% if true %}, b {% endif %} FROM t", None),
        ("(SELECT a FROM t)", None),
        ("(SELECT a FROM t) UNION SELECT b FROM t", None),
        ("FROM t |> SELECT a |> EXTEND b AS c", None),
        ("VALUES (1)", None),
        ("SELECT", None),
        ("", None),
    ],
)
def test_columns_that_a_query_yields(sql, columns):
    assert yielded_columns(sql) == columns


@given(st.text(alphabet="aA ,.()[]'`;{}%FROM SELECT JOIN AS WITH *", max_size=60))
def test_any_text_has_an_answer(sql):
    find_columns_and_tables(sql)
