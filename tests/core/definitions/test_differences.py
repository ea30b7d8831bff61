"""What people see of a change of code."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.definitions.differences import MOST_LINES, describe_difference, layout_query
from sparkassets.core.query_text import normal_form, words
from tests.core.definitions.test_normal import QUERIES


def test_a_query_is_laid_out_by_clauses_and_items():
    assert layout_query(normal_form(QUERIES[1])) == [
        "WITH late AS (",
        "  SELECT",
        "   f.day,",
        "   f.`flight no`,",
        "   f.dep_delay + 1.50 AS delay",
        "  FROM {{ inlets.flights }} AS f",
        "  WHERE f.dep_delay > {{ params.least }}",
        "   AND NOT f.cancelled)",
        "SELECT",
        " l.day,",
        " COUNT(DISTINCT l.`flight no`) AS n,",
        " MAX(l.delay) FILTER (WHERE l.delay < 1e3) AS top",
        "FROM late AS l",
        "LEFT JOIN {{ inlets.weather }} AS w ON l.day = w.day",
        " AND w.kind IN ('rain', 'snow')",
        "GROUP BY l.day",
        "HAVING COUNT(*) > 3",
        "ORDER BY n DESC NULLS LAST",
        "LIMIT 10",
    ]


@given(st.sampled_from(QUERIES))
def test_no_word_is_lost(sql):
    assert words(" ".join(layout_query(normal_form(sql)))) == words(normal_form(sql))


def test_the_lines_of_a_change_are_few():
    old = AssetDefinition.build(text=normal_form(QUERIES[1]))
    new = AssetDefinition.build(text=normal_form(QUERIES[1].replace("1.50", "1.75").replace("> 3", "> 4")))
    assert describe_difference(old, new) == (
        "    f.`flight no`,",
        "-   f.dep_delay + 1.50 AS delay",
        "+   f.dep_delay + 1.75 AS delay",
        "   FROM {{ inlets.flights }} AS f",
        " GROUP BY l.day",
        "-HAVING COUNT(*) > 3",
        "+HAVING COUNT(*) > 4",
        " ORDER BY n DESC NULLS LAST",
    )
    other = AssetDefinition.build(text="SELECT " + ", ".join(f"a{n}" for n in range(50)))
    assert len(describe_difference(old, other)) == MOST_LINES
    assert describe_difference(old, other)[-1].startswith("… and ")


def test_functions_and_params_are_told_by_name():
    old = AssetDefinition.build(code={"jobs:f": "1", "jobs:g": "1"}, params={"low": 1, "high": 2})
    new = AssetDefinition.build(code={"jobs:f": "2", "jobs:h": "1"}, params={"low": 3})
    assert describe_difference(old, new) == (
        "~ jobs:f",
        "- jobs:g",
        "+ jobs:h",
        "- params.high: 2",
        "- params.low: 1",
        "+ params.low: 3",
    )


def test_what_is_forgotten_is_not_told():
    assert (
        describe_difference(AssetDefinition("0123"), AssetDefinition.build(text="SELECT 1 AS a", params={"p": 1})) == ()
    )
