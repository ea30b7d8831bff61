"""Which rows of its inlets a query can use, by the literals in its WHERE."""

import pytest

from sparkassets.core.derivation.column_uses import RowFilter
from sparkassets.core.derivation.row_filters import find_row_filters
from sparkassets.core.derivation.row_sources import QueryRelation

RELATIONS = {"people": QueryRelation("p"), "orders": QueryRelation("o", ("id", "person", "amount"))}


def text(term):
    if isinstance(term, RowFilter):
        return "(" + f" {term.operator} ".join(map(text, term.terms)) + ")"
    return f"{term.column} {term.sign} {term.value}"


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        (
            "SELECT * FROM people WHERE first_name = 'John' AND last_name = 'Smith'",
            {"p": "(first_name = John AND last_name = Smith)"},
        ),
        ("SELECT * FROM people WHERE 5 < age", {"p": "(age > 5)"}),
        ("SELECT * FROM people WHERE age BETWEEN -1 AND 2.5", {"p": "((age >= -1 AND age <= 2.5))"}),
        ("SELECT * FROM people WHERE c IN ('DE', 'NL') AND f(x)", {"p": "((c = DE OR c = NL))"}),
        ("SELECT * FROM people WHERE c <> 'DE'", {"p": "((c < DE OR c > DE))"}),
        ("SELECT * FROM people WHERE (a = 1 OR (b = 2 AND c = true))", {"p": "((a = 1 OR (b = 2 AND c = true)))"}),
        ("SELECT * FROM people WHERE a = 1 OR f(b)", {}),
        ("SELECT * FROM people WHERE a = 1 OR b = c", {}),
        ("SELECT * FROM people WHERE a IS NULL AND day >= DATE '2026-01-01'", {"p": "(day >= 2026-01-01)"}),
        ("SELECT * FROM people WHERE NOT a = 1", {}),
        ("SELECT * FROM people WHERE a = '@run' AND b = 1", {"p": "(b = 1)"}),
        ("SELECT * FROM people WHERE lower(a) = 'x'", {}),
        (
            "SELECT * FROM people p JOIN orders o ON p.id = o.person WHERE p.a = 1 AND o.amount > 2 AND amount < 9",
            {"p": "(a = 1)", "o": "(amount > 2)"},
        ),
        (
            "SELECT * FROM people p LEFT JOIN orders o ON p.id = o.person WHERE p.a = 1 AND o.amount > 2",
            {"p": "(a = 1)"},
        ),
        ("SELECT * FROM people p FULL JOIN orders o ON p.id = o.person WHERE p.a = 1 AND o.amount > 2", {}),
        ("SELECT * FROM people p RIGHT JOIN orders o ON p.id = o.person WHERE p.a = 1", {}),
        ("SELECT * FROM people p JOIN orders o ON p.id = o.person AND o.amount > 2", {}),
        ("WITH x AS (SELECT id FROM people WHERE a = 1) SELECT * FROM x JOIN x y USING (id)", {"p": "(a = 1)"}),
        ("SELECT * FROM (SELECT id, sum(n) AS n FROM people WHERE a = 1 GROUP BY id) WHERE n > 5", {"p": "(a = 1)"}),
        ("SELECT * FROM people WHERE a = 1 UNION ALL SELECT * FROM people WHERE a = 2", {}),
        ("SELECT * FROM people a, people b WHERE a.x = 1 AND b.x = 2", {}),
        ("SELECT * FROM orders WHERE amount > 1 AND nothing = 2", {"o": "(amount > 1)"}),
        (
            "SELECT * FROM orders o WHERE EXISTS (SELECT 1 FROM people p WHERE p.a = 1 AND b = 2)",
            {"p": "(a = 1)"},
        ),
        ("SELECT id, count(*) FROM people WHERE a = 1 GROUP BY id HAVING id = 2", {"p": "(a = 1)"}),
        ("SELECT * FROM people TABLESAMPLE (10 PERCENT) WHERE a = 1", {}),
        ("INSERT INTO t SELECT * FROM people WHERE a = 1", {"p": "(a = 1)"}),
        ("SELECT (", {}),
    ],
)
def test_told(sql, told):
    assert {name: text(each) for name, each in find_row_filters(sql, RELATIONS, unknown=("@run",)).items()} == told
