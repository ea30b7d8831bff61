"""What the columns of a query are made of, in Spark's SQL; what is not sure is not told."""

import pytest

from sparkassets.core.derivation.query_derivation import derive_query
from sparkassets.core.derivation.row_sources import QueryRelation

RELATIONS = {
    "t": QueryRelation("x"),
    "u": QueryRelation("y", ("id", "n", "day")),
    "v": QueryRelation("z", ("id", "k")),
    "p": QueryRelation("", ("day", "start", "end")),
}


def column_origins(query):
    """By column, what it is made of as text; ``?`` where that is not sure."""
    found = derive_query(query, RELATIONS)
    return None if found is None else {name: shown(uses) for name, uses in found.columns.items()}


def rows(query):
    return shown(derive_query(query, RELATIONS).rows)


def shown(uses):
    if uses is None:
        return "?"
    return " ".join(sorted(f"{each.asset}.{each.column}:{each.how}{'*' if each.masked else ''}" for each in uses))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT id, n + 1 AS m FROM u", {"id": "y.id:IDENTITY", "m": "y.n:TRANSFORMATION"}),
        ("SELECT U.ID, `n` FROM u", {"ID": "y.id:IDENTITY", "n": "y.n:IDENTITY"}),
        ("SELECT * FROM v", {"id": "z.id:IDENTITY", "k": "z.k:IDENTITY"}),
        ("SELECT * EXCEPT (id) FROM v", {"k": "z.k:IDENTITY"}),
        ("SELECT v.* FROM u JOIN v ON u.id = v.id", {"id": "z.id:IDENTITY", "k": "z.k:IDENTITY"}),
        ("SELECT a FROM t", {"a": "x.a:IDENTITY"}),
        (
            "SELECT * FROM v JOIN (SELECT id, day FROM u) AS o USING (id)",
            {"id": "y.id:IDENTITY z.id:IDENTITY", "k": "z.k:IDENTITY", "day": "y.day:IDENTITY"},
        ),
        (
            "SELECT s.*, n FROM v AS s LEFT JOIN u USING (id)",
            {"id": "z.id:IDENTITY", "k": "z.k:IDENTITY", "n": "y.n:IDENTITY"},
        ),
        ("SELECT k, a FROM t JOIN v ON t.i = v.id", {"k": "z.k:IDENTITY", "a": "x.a:IDENTITY"}),
        ("SELECT id FROM u JOIN v USING (id)", {"id": "y.id:IDENTITY z.id:IDENTITY"}),
        ("SELECT count(*) AS c, max(n) AS m FROM u", {"c": "", "m": "y.n:AGGREGATION"}),
        ("SELECT sha2(name, 256) AS h FROM t", {"h": "x.name:TRANSFORMATION*"}),
        ("SELECT CASE WHEN n > 1 THEN id END AS c FROM u", {"c": "y.id:TRANSFORMATION y.n:CONDITIONAL"}),
        (
            "SELECT sum(n) OVER (PARTITION BY id ORDER BY day) AS s FROM u",
            {"s": "y.day:WINDOW y.id:WINDOW y.n:AGGREGATION"},
        ),
        ("SELECT n AS m, m + 1 AS o FROM u", {"m": "y.n:IDENTITY", "o": "y.n:TRANSFORMATION"}),
        (
            "WITH w AS (SELECT id, sum(n) AS n FROM u GROUP BY id) SELECT n * 2 AS d FROM w",
            {"d": "y.n:AGGREGATION"},
        ),
        ("WITH w (a, b) AS (SELECT id, k FROM v) SELECT b FROM w", {"b": "z.k:IDENTITY"}),
        ("SELECT id FROM u UNION ALL SELECT k FROM v", {"id": "y.id:IDENTITY z.k:IDENTITY"}),
        ("SELECT transform(xs, q -> q + n) AS r FROM t", {"r": "x.n:TRANSFORMATION x.xs:TRANSFORMATION"}),
        ("SELECT day, u.id FROM u JOIN p USING (day)", {"day": "y.day:IDENTITY", "id": "y.id:IDENTITY"}),
        ("FROM u SELECT id", {"id": "y.id:IDENTITY"}),
        (
            "SELECT n::int AS i, struct(id, n) AS s FROM u",
            {"i": "y.n:TRANSFORMATION", "s": "y.id:TRANSFORMATION y.n:TRANSFORMATION"},
        ),
    ],
)
def test_each_column_is_made_of(query, expected):
    assert column_origins(query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT a.b.c, id FROM u", {"c": "?", "id": "y.id:IDENTITY"}),
        ("SELECT s.f FROM t", {"f": "?"}),
        ("SELECT x, y FROM t, t AS o", {"x": "?", "y": "?"}),
        ("SELECT a AS b, b + 1 AS c FROM t", {"b": "x.a:IDENTITY", "c": "?"}),
        ("SELECT user, current_date AS d FROM t", {"user": "?", "d": ""}),
        ("SELECT (SELECT max(k) FROM v) AS m, id FROM u", {"m": "?", "id": "y.id:IDENTITY"}),
        ("SELECT max(n) OVER w AS m, id FROM u WINDOW w AS (PARTITION BY id)", {"m": "?", "id": "y.id:IDENTITY"}),
        ("SELECT missing FROM u", {"missing": "?"}),
    ],
)
def test_a_column_that_may_be_several_things_is_not_told(query, expected):
    assert column_origins(query) == expected


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM t",
        "SELECT u.*, t.* FROM u JOIN t ON u.id = t.id",
        "SELECT v.* FROM u JOIN v USING (id)",
        "SELECT * FROM u JOIN v USING (id) JOIN p USING (day)",
        "SELECT id FROM u NATURAL JOIN v",
        "SELECT a, c FROM t LATERAL VIEW explode(b) AS c",
        "SELECT explode(b) AS c FROM t",
        "SELECT posexplode(b) AS (i, c) FROM t",
        "SELECT stack(2, n, id) AS s FROM u",
        "SELECT id FROM u PIVOT (sum(n) FOR day IN (1, 2))",
        "SELECT id FROM elsewhere",
        "SELECT id FROM db.u",
        "SELECT id FROM range(10)",
        "SELECT id, id FROM u",
        "SELECT count(*) FROM u",
        "SELECT TRANSFORM (id) USING 'cat' AS (a) FROM u",
        "WITH RECURSIVE w AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM w) SELECT a FROM w",
        "SELECT id FROM u UNION BY NAME SELECT id FROM v",
        "SELECT id FROM u UNION ALL SELECT id, k FROM v",
        "FROM u |> SELECT id",
        "SELECT id FROM u VERSION AS OF 3",
        "SELEC id FROM u",
        "INSERT INTO u SELECT id FROM v",
        "",
    ],
)
def test_a_query_that_does_not_tell_its_columns_tells_nothing(query):
    assert column_origins(query) is None


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT id FROM u", ""),
        ("SELECT id FROM u WHERE n > 1", "y.n:FILTER"),
        ("SELECT u.id FROM u LEFT ANTI JOIN v ON u.id = v.id", "y.id:JOIN z.id:JOIN"),
        ("SELECT day, sum(n) AS s FROM u GROUP BY ALL HAVING sum(n) > 1", "y.day:GROUP_BY y.n:FILTER"),
        ("SELECT day, sum(n) AS s FROM u GROUP BY 1", "y.day:GROUP_BY"),
        ("SELECT id FROM u ORDER BY n", ""),
        ("SELECT id FROM u ORDER BY n LIMIT 3", "y.n:SORT"),
        ("SELECT upper(day) AS n FROM u ORDER BY n LIMIT 3", "y.day:SORT"),
        ("SELECT DISTINCT id FROM u", "y.id:GROUP_BY"),
        ("SELECT id FROM u UNION SELECT id FROM v", "y.id:GROUP_BY z.id:GROUP_BY"),
        ("SELECT id FROM (SELECT id FROM u WHERE n > 1)", "y.n:FILTER"),
        ("SELECT id FROM u WHERE id IN (SELECT id FROM v)", "?"),
    ],
)
def test_what_decides_which_rows_there_are(query, expected):
    assert rows(query) == expected
