"""`GROUP BY ALL` written out."""

import pytest

from sparkassets.core.group_by_all import expand_group_by_all


@pytest.mark.parametrize(
    ("query", "clause"),
    [
        ("SELECT a, b, count(*) FROM t GROUP BY ALL", "GROUP BY 1, 2"),
        ("SELECT sum(a) / count(b) AS mean, c + 1 FROM t GROUP BY ALL HAVING c > 1", "GROUP BY 2 HAVING c > 1"),
        ("SELECT a, std(b), max_by(c, d) FROM t GROUP BY ALL", "GROUP BY 1"),
        ("SELECT a, (SELECT max(b) FROM u) AS top FROM t GROUP BY ALL", "GROUP BY 1, 2"),
        ("SELECT a, rank() OVER (ORDER BY sum(b)), sum(sum(b)) OVER () FROM t GROUP BY ALL", "GROUP BY 1, 2"),
        ("SELECT a FROM \x000\x00 GROUP BY ALL", "GROUP BY 1"),
        ("SELECT a, 'GROUP BY ALL' FROM t -- GROUP BY ALL", ""),
    ],
)
def test_columns_without_an_aggregate_are_named_by_their_numbers(query, clause):
    expected = query.partition(" GROUP BY ALL")[0] + " " + clause if clause else query
    assert expand_group_by_all(query) == expected


def test_each_query_has_a_clause_of_its_own_and_lines_stay():
    query = "WITH x AS (SELECT k, count(*) AS n FROM t\nGROUP BY\n  ALL)\nSELECT count(*), n FROM x GROUP BY ALL"
    assert expand_group_by_all(query) == (
        "WITH x AS (SELECT k, count(*) AS n FROM t\nGROUP BY 1\n)\nSELECT count(*), n FROM x GROUP BY 2"
    )


def test_only_aggregates_need_no_clause():
    assert expand_group_by_all("SELECT count(*) FROM t GROUP BY ALL") == "SELECT count(*) FROM t "


def test_what_cannot_be_parsed_stays():
    assert expand_group_by_all("SELECT ((a FROM t GROUP BY ALL") == "SELECT ((a FROM t GROUP BY ALL"
