import pytest

from sparkassets.core.query_text import StatementFault, find_select_fault, split_statements

WRITES = "write the SELECT only, whose rows land as `write` says; with `write: self` statements write the target"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "select 1;",
        "  (SELECT 1) UNION (SELECT 2)",
        "WITH x AS (SELECT 1) SELECT * FROM x",
        "FROM t SELECT a",
        "VALUES (1)",
        "TABLE t",
        "-- INSERT INTO t\n/* MERGE INTO */ SELECT 'INSERT INTO t; DROP', `DELETE FROM`, \"; x\" FROM t",
        "{% set x = 1 %}SELECT {{ x }}",
        "{{ params.query }}",
        "{# CREATE TABLE #} SELECT 1 -- don't",
        "SELECT replace(a, 'x', 'y'), insert, delete FROM t WHERE a = 'it\\'s'",
    ],
)
def test_one_select(sql):
    assert find_select_fault(sql) is None


@pytest.mark.parametrize(
    ("sql", "refused"),
    [
        ("", StatementFault(0, 1, "the SQL is empty; expected one SELECT")),
        ("-- later\n", StatementFault(0, 1, "the SQL is empty; expected one SELECT")),
        (
            "-- x\nINSERT INTO t SELECT 1",
            StatementFault(5, 6, "the SQL begins with 'INSERT'; expected one SELECT", WRITES),
        ),
        ("merge into t using s", StatementFault(0, 5, "the SQL begins with 'merge'; expected one SELECT", WRITES)),
        (
            "WITH x AS (SELECT 1) INSERT\n INTO t SELECT * FROM x",
            StatementFault(21, 12, "the SQL holds 'INSERT INTO'; expected one SELECT", WRITES),
        ),
        ("SELECT 1; SELECT 2", StatementFault(10, 6, "a second statement follows; expected one SELECT")),
        ("SELECT 1; {{ x }}", StatementFault(10, 1, "a second statement follows; expected one SELECT")),
        ("SELECT 1; CREATE TABLE t", StatementFault(10, 6, "a second statement follows; expected one SELECT")),
    ],
)
def test_what_is_not_one_select(sql, refused):
    assert find_select_fault(sql) == refused


def test_a_raw_literal_ends_at_its_quote():
    sql = r"INSERT INTO t VALUES (r'c:\'); DELETE FROM t WHERE a = R'\' OR b = ';'"
    assert [text for _, text in split_statements(sql)] == [
        r"INSERT INTO t VALUES (r'c:\')",
        r" DELETE FROM t WHERE a = R'\' OR b = ';'",
    ]
