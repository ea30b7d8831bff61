"""SQL that cannot run is refused before it does, at its place; what only Spark knows is left to it."""

import pytest

from sparkassets.core.derivation.query_checks import check_queries, find_syntax_error, regex_error
from tests.core.spec.in_memory import compiled

COLUMNS = "columns: {id: bigint, amount: double, item: 'struct<sku: string>'}\n"
ORDERS = f"asset: orders\nsource: delta\npath: lake/orders\n{COLUMNS}"


def problems(sql, *, more=""):
    text = ORDERS + "---\nasset: total\nsql: |\n" + "".join(f"  {line}\n" for line in sql.split("\n")) + more
    return [
        f"{each.location.line}:{each.location.column}: {each.message}" + (f" ({each.hint})" if each.hint else "")
        for each in check_queries(compiled({"a.yml": text}), lambda asset: None)
    ]


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT sum(amount FROM {{ inlets.orders }}", "8:21: the SQL cannot run: expected ) before 'FROM'"),
        ("SELECT id\nFROM {{ inlets.orders }}\nWHERE", "10:3: the SQL cannot run: incomplete expression near 'WHERE'"),
        ("SELECT id b c\nFROM {{ inlets.orders }}", "8:15: the SQL cannot run: unexpected 'c'"),
        ("SELECT 'abc FROM {{ inlets.orders }}", "8:3: the SQL cannot run: a quote or a comment is not closed"),
        (
            "SELECT CASE WHEN id > 1 THEN 2 AS x FROM {{ inlets.orders }}",
            "8:32: the SQL cannot run: expected END after CASE near '2'",
        ),
        (
            "SELECT id,\n  amout\nFROM {{ inlets.orders }}",
            "9:5: the SQL cannot run: none of the query's inputs has a column 'amout' (did you mean 'amount'?)",
        ),
        (
            "SELECT o.amout FROM {{ inlets.orders }} AS o",
            "8:12: the SQL cannot run: 'o' has no column 'amout' (did you mean 'amount'?)",
        ),
        (
            "SELECT q.id FROM {{ inlets.orders }} AS o",
            "8:10: the SQL cannot run: unknown table or alias 'q' (known is o)",
        ),
        ("SELECT id,\n  , amount\nFROM {{ inlets.orders }}", "9:5: the SQL cannot run: unexpected ','"),
        ("SELECT concat(id, ) AS c FROM {{ inlets.orders }}", "8:19: the SQL cannot run: unexpected ','"),
    ],
)
def test_what_surely_cannot_run(sql, found):
    assert problems(sql) == [found]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT ID, AMOUNT FROM {{ inlets.orders }}",
        "SELECT item.sku, o.item.sku AS s FROM {{ inlets.orders }} o",
        "SELECT sum(amount) AS total, total / 2 AS half FROM {{ inlets.orders }} GROUP BY ALL",
        "WITH w AS (SELECT id AS key FROM {{ inlets.orders }}) SELECT w.key, count(*) AS n FROM w GROUP BY w.key",
        "SELECT transform(array(id), x -> x + 1) AS xs FROM {{ inlets.orders }}",
        "SELECT aggregate(array(id), 0, (acc, x) -> acc + x) AS s FROM {{ inlets.orders }}",
        "SELECT datediff(DAY, current_date, now()) AS d, timestampadd(HOUR, 1, now()) AS t FROM {{ inlets.orders }}",
        "SELECT s.a FROM (SELECT named_struct('a', id) AS s FROM {{ inlets.orders }})",
        "SELECT t.k, t.v FROM {{ inlets.orders }} AS t(k, v, w)",
        "SELECT col FROM (SELECT explode(array(id)) FROM {{ inlets.orders }})",
        "SELECT id, n FROM {{ inlets.orders }} LATERAL VIEW explode(array(1)) e AS n",
        "FROM {{ inlets.orders }} |> WHERE nothere > 1 |> SELECT id",
        "SELECT * EXCEPT (id) FROM {{ inlets.orders }}",
        "SELECT max(id) FILTER (WHERE TRUE) OVER (ORDER BY id ROWS 2 PRECEDING) FROM {{ inlets.orders }}",
        "SELECT id FROM {{ inlets.orders }} WHERE amount > :limit",
        "SELECT {{ inlets.orders.id }} FROM {{ inlets.orders }} WHERE id > {{ 3 }} AND '{{ ds }}' < DATE'2025-01-01'",
        "SELECT struct(o.*) AS row FROM {{ inlets.orders }} o",
        "SELECT CAST(id AS STRING) || 'x' AS a, id::int, id DIV 2, id <=> 3 FROM {{ inlets.orders }}",
        "SELECT id, count_if(amount > 1) c FROM {{ inlets.orders }} GROUP BY id WITH ROLLUP HAVING c > 1 SORT BY c",
        "SELECT a.id FROM {{ inlets.orders }} a LEFT ANTI JOIN {{ inlets.orders }} b USING (id)",
        "SELECT a.id FROM {{ inlets.orders }} a, LATERAL (SELECT a.id + 1 AS b) l WHERE l.b > 1",
        "SELECT from_json('{}', 'a INT').a AS a, item['sku'], array(1)[0] FROM {{ inlets.orders }}",
        "SELECT extract(YEAR FROM now()) y, interval 1 day i, trim(BOTH ' ' FROM 'a') t FROM {{ inlets.orders }}",
        "SELECT id, amount FROM VALUES (1, 2.0) AS v(id, amount)",
        "SELECT session.depth, r.id, ',,' AS c FROM {{ inlets.orders }} JOIN range(3) AS r",
        "WITH w AS (SELECT item AS one FROM {{ inlets.orders }}) SELECT one.sku, w.one.sku AS s FROM w",
        "SELECT (SELECT max(b.id) FROM {{ inlets.orders }} b WHERE b.id < a.id) AS m FROM {{ inlets.orders }} a",
        "SELECT transform(array(item), x -> x.sku) AS skus FROM {{ inlets.orders }}",
    ],
)
def test_what_spark_can_run_is_left_to_it(sql):
    assert problems(sql) == []


PARTITIONS = "{by: day, column: day}, {segments: runtime, column: item}"


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        ("SELECT o.*, p.day\nFROM {{ inlets.orders }} o JOIN {{ partitions }} AS p ON o.item = p.item", "9:69"),
        ("SELECT *\nFROM {{ inlets.orders }} JOIN {{ partitions }}\n  USING (day, item)", "10:17"),
        ("SELECT *\nFROM {{ partitions }} P, {{ inlets.orders }} o\nWHERE o.item = `p`.`item`", "10:18"),
    ],
)
def test_a_query_that_asks_for_segments_which_only_rows_make_known(sql, place):
    keys = f"partition: [{PARTITIONS}]\ninlets: {{orders: {{on_update: rerun}}}}\n"
    (found,) = problems(sql, more=keys)
    assert found.startswith(f"{place}: the SQL cannot run: ")
    assert "has no 'item': no inlet lists its segments" in found
    assert "(use only day, and a run keeps all rows" in found


def test_a_time_without_a_column_has_its_grain_as_its_name_in_partitions():
    keys = "strategy: every_instance\nwrite: append\npartition: {by: day}\nschedule: '@daily'\n"
    assert problems("SELECT p.day, o.id FROM {{ inlets.orders }} o CROSS JOIN {{ partitions }} p", more=keys) == []


def test_columns_of_an_inlet_that_is_not_known_whole_are_left_to_spark():
    text = (
        "asset: orders\nsource: delta\npath: lake/orders\n---\nasset: a\nsql: SELECT nothere FROM {{ inlets.orders }}\n"
    )
    project = compiled({"a.yml": text})
    assert check_queries(project, lambda asset: None) == []
    (found,) = check_queries(project, lambda asset: ["id"] if asset.name == "orders" else None)
    assert "has a column 'nothere'" in found.message


def test_rules_that_cannot_be_judged():
    rules = (
        'validations: [{sql: "amount > "}, {pattern: {id: "a(b"}}, {not_null: [id], where: "id >> > 1"}, '
        '{sql: "a > 1"}]\n'
    )
    found = problems("SELECT id, amount, 1 AS a FROM {{ inlets.orders }}", more=rules)
    assert [each.partition(": ")[2] for each in found] == [
        "'sql' of sql(amount >) is not a valid SQL condition: incomplete expression near ')'",
        "the regular expression of pattern(id) does not compile: missing ), unterminated subpattern at position 1",
        "'where' of not_null(id) is not a valid SQL condition: incomplete expression near '>'",
    ]


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ("sql: 'amout > 0'", "'sql' of sql(amout > 0) reads a column 'amout', which the rows do not have"),
        (
            "range: {id: {min: 0}}\n    where: itm = 'a'",
            "'where' of range(id) reads a column 'itm', which the rows do not have",
        ),
    ],
)
def test_a_rule_that_reads_a_column_which_the_rows_do_not_have(rule, found):
    sql = "SELECT id, amount, id AS item FROM {{ inlets.orders }}"
    assert found in problems(sql, more=f"validations:\n  - {rule}\n")[0]


@pytest.mark.parametrize(
    "rule",
    [
        "sql: 'AMOUNT > 0 AND size(transform(array(id), x -> x + 1)) = 1'",
        "sql: 'item.sku = 1 AND _hidden = 2 AND current_date > DATE 2025'",
        "sql: 'id IN (SELECT other FROM elsewhere)'",
        "sql: 'count(*) OVER (PARTITION BY id) = 1'",
    ],
)
def test_a_rule_that_only_spark_can_judge(rule):
    sql = "SELECT id, amount FROM {{ inlets.orders }}"
    assert problems(sql, more=f"validations:\n  - {rule}\n") == []


def test_rules_of_rows_that_are_not_known_are_left_to_spark():
    assert (
        problems("SELECT * FROM {{ inlets.orders }} LATERAL VIEW explode(a) AS b", more="validations: [sql: 'b > 1']\n")
        == []
    )


DELETING = "inlets: {orders: {read: changes}}\nwrite: {upsert: {keys: [id], delete_when: …}}\n"


def test_a_column_of_delete_when_that_the_query_does_not_yield_is_refused_at_its_place():
    sql = "SELECT id, amount, item AS _op FROM {{ inlets.orders }}"
    (found,) = problems(sql, more=DELETING.replace("…", "_op = d"))
    assert found == (
        "10:43: the SELECT of asset 'total' yields no column 'd', which 'delete_when' reads "
        "(write text in quotes: 'd'; did you mean 'id'?)"
    )


@pytest.mark.parametrize(
    ("select", "condition"),
    [
        ("id, item AS _op", "_op = 'd'"),
        ("id, item AS _op", "_OP.sku = 'd' AND id IN (SELECT x FROM y)"),
        ("id, item AS _op", "_change_type = 'delete' OR current_date() > DATE '2025-01-01'"),
        ("*", "_op = d"),
    ],
)
def test_a_condition_of_known_columns_or_of_a_query_whose_columns_are_not_known(select, condition):
    sql = "SELECT … FROM {{ inlets.orders }}".replace("…", select)
    assert problems(sql, more=DELETING.replace("…", f'"{condition}"')) == []


@pytest.mark.parametrize("regex", ["(?P<year>[0-9]{4})", "(a)(?(1)b|c)", "{", "a{,3}"])
def test_regular_expressions_that_java_lacks(regex):
    assert regex_error(regex) is not None


@pytest.mark.parametrize(
    "regex",
    [
        *(r"\p{L}+", "(?<year>[0-9]{4})", "[a-z&&[^x]]", r"\h+(", "[a-z]{2,}+", "(?i)abc"),
        *("(?<=a{1,3})b", r"[\w-z]", "a{1,2}{3}", "[{]", r"\{a", "(?<=a|bc)d"),
    ],
)
def test_regular_expressions_that_only_java_knows(regex):
    assert regex_error(regex) is None


def test_a_query_that_ends_too_early():
    assert find_syntax_error("SELECT a FROM (SELECT b FROM t").message


def test_a_template_that_no_run_can_render():
    assert problems("SELECT {{ 1 // 0 }} AS a FROM {{ inlets.orders }}") == [
        "8:3: this template always fails: integer division or modulo by zero"
    ]
    assert problems("SELECT {{ 1 // (ds | length - 10) }} AS a FROM {{ inlets.orders }}") == []
