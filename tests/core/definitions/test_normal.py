"""What another way to write the same query does not change, and what every other edit does."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.definitions.definition import MOST_TEXT
from sparkassets.core.query_text import executable_form, normal_form
from tests.core.spec.in_memory import one

QUERIES = (
    "SELECT day, origin, avg(dep_delay) AS mean_delay FROM {{ inlets.flights }} GROUP BY ALL",
    """WITH late AS (
      SELECT f.day, f.`flight no`, f.dep_delay + 1.50 AS delay -- minutes
      FROM {{ inlets.flights }} AS f /* all of them */
      WHERE f.dep_delay > {{ params.least }} AND NOT f.cancelled
    )
    SELECT l.day, count(DISTINCT l.`flight no`) AS n, max(l.delay) FILTER (WHERE l.delay < 1e3) AS top
    FROM late AS l LEFT JOIN {{ inlets.weather }} AS w ON l.day = w.day AND w.kind IN ('rain', "snow")
    GROUP BY l.day HAVING count(*) > 3 ORDER BY n DESC NULLS LAST LIMIT 10""",
    r"""SELECT cast(a AS DATE) AS a, CASE WHEN b RLIKE r'\d+' THEN 'it''s' ELSE "x\"y" END AS b,
      sum(c) OVER (PARTITION BY d ORDER BY e ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS s,
      date_format(t, 'yyyy-MM') AS m, x'1F' AS h, t + INTERVAL 2 DAYS AS later, z.j:k[0].l::int AS l
    FROM {{ inlets.a }} AS z WHERE day BETWEEN '{{ ds }}' AND date '2025-01-01' UNION ALL SELECT * FROM {{inlets.b}}""",
    """SELECT {% for c in ['a', 'b  c'] %} sum({{ inlets.x[c] }}) AS s{{ loop.index }}, {% endfor %} 1 AS one
    FROM {{ inlets.x }} -- {% if params.some %}
    WHERE a = 1 -- {% endif %}""",
)
_WORDS = re.compile(
    r"(\{\{.*?\}\}|\{#.*?#\}|\{%.*?%\}|--[^\n]*|/\*.*?\*/|[rx]?'(?:[^'\\]|\\.)*'|[rx]?\"(?:[^\"\\]|\\.)*\"|`[^`]*`|\w+|\s+|.)",
    re.DOTALL,
)
KEYWORDS = {
    "select",
    "from",
    "where",
    "as",
    "and",
    "or",
    "not",
    "group",
    "by",
    "left",
    "join",
    "on",
    "in",
    "case",
    "when",
}
KEYWORDS |= {"then", "else", "end", "union", "all", "between", "order", "limit", "desc", "distinct", "over", "rows"}


def words(sql: str) -> list[str]:
    return _WORDS.findall(sql)


def rewritten(sql: str, random: Random) -> str:
    """The same query as somebody else would write it."""
    told = []
    for word in words(sql):
        if word.startswith("--") and "{" in word:
            told.append(word + "\n")
        elif word.isspace() or word.startswith(("--", "/*")):
            told.append(random.choice([" ", "\n\t", " -- why; 'not'\n", " /* so \n `it` is */ ", " {# a remark #}\n"]))
        elif word.lower() in KEYWORDS and (not told or told[-1] != "."):
            told.append(random.choice([str.upper, str.lower, str.title])(word))
        elif word.startswith("{{"):
            told.append(random.choice([word, "{{" + word[2:-2].strip() + "}}", "{{  " + word[2:-2].strip() + "\n}}"]))
        elif word in ("(", ")", ",", "+", "<", ">"):
            told.append(random.choice([word, f" {word}\n"]) if not _glued(told) else word)
        elif word.startswith(("'", '"')) and not re.search(r"['\"\\]", word[1:-1]):
            told.append(random.choice([f"'{word[1:-1]}'", f'"{word[1:-1]}"']))
        else:
            told.append(word)
    return "".join([*told, random.choice(["", ";", "\n", " ;\n"])])


def _glued(told: list[str]) -> bool:
    """Whether something before it must not be torn off: ``count (`` is a call all the same, ``r '`` is not."""
    return bool(told) and told[-1] in ("r", "x")


def edited(sql: str, random: Random) -> str:
    """Another query: one word of it is another, or is gone."""
    found = words(sql)
    places = [i for i, each in enumerate(found) if not each.isspace() and not each.startswith(("--", "/*", "{#"))]
    place = random.choice(places)
    found[place] = _another(found[place], random)
    return "".join(found)


def _another(word: str, random: Random) -> str:
    if word.startswith(("{{", "{%")):
        return word[:2] + " nothing" + word[2:]
    if word[-1] in "'\"":
        return word[:-1] + random.choice(["z", " ", "%"]) + word[-1]
    if word.isdigit():
        return str(int(word) + 1)
    if re.fullmatch(r"\w+", word):
        return random.choice([word + "_2", ""])
    return random.choice([word + " + ", "%"]) if word != "%" else "*"


class TestAnotherWayToWriteIt:
    @given(st.sampled_from(QUERIES), st.randoms(use_true_random=False))
    def test_is_the_same(self, sql, random):
        assert normal_form(rewritten(sql, random)) == normal_form(sql)

    @given(st.sampled_from(QUERIES), st.randoms(use_true_random=False))
    def test_but_any_edit_is_not(self, sql, random):
        other = edited(rewritten(sql, random), random)
        assert normal_form(other) != normal_form(sql), other

    @given(st.sampled_from(QUERIES), st.randoms(use_true_random=False))
    def test_the_normal_form_is_its_own(self, sql, random):
        once = normal_form(rewritten(sql, random))
        assert normal_form(once) == once

    @given(st.text("ab'\"`-/*{}%#\\ \n1.;(", max_size=30))
    def test_of_any_text_there_is_one(self, text):
        assert normal_form(normal_form(text)) == normal_form(text) or "{" in text or "-" in text or "/" in text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT date_format(a, 'yyyy')", "SELECT date_format(a, 'YYYY')"),
        ("SELECT cast(a AS varchar(3))", "SELECT cast(a AS varchar(4))"),
        ("SELECT size(a)", "SELECT array_size(a)"),
        ("SELECT cast(a AS int)", "SELECT try_cast(a AS int)"),
        ("SELECT to_json(struct(day))", "SELECT to_json(struct(Day))"),
        ("SELECT `null` FROM x", "SELECT null FROM x"),
        ("SELECT `current_date`", "SELECT current_date"),
        ("SELECT '{{ x }}'", "SELECT '{{- x }}'"),
        ("SELECT {{-x}}", "SELECT {{ -x }}"),
        ("SELECT 'a b'", "SELECT 'a  b'"),
        ("SELECT {{ f('a b') }}", "SELECT {{ f('a  b') }}"),
        ("SELECT 1 -- {% if a %}", "SELECT 1"),
        ("SELECT a b", "SELECT ab"),
        ("SELECT r '1'", "SELECT r'1'"),
        ("SELECT 1 AS s{{ n }}", "SELECT 1 AS s {{ n }}"),
        ("SELECT a{# no blank #}b", "SELECT a b"),
    ],
)
def test_what_sounds_alike_is_not(one, other):
    assert normal_form(one) != normal_form(other)


class TestDefinition:
    def test_no_value_of_the_environment_is_in_it(self):
        made = [
            one("asset: a\nsql: SELECT '${KEY}' AS k\nparams: {k: '${KEY}'}\n", env={"KEY": secret}).definition
            for secret in ("hunter2-abc", "another-secret")
        ]
        assert made[0] == made[1]
        assert made[0].text == "SELECT '${KEY}' AS k"
        assert made[0].parts["params.k"] == '"${KEY}"'

    def test_no_credential_is_kept(self):
        read = one("asset: a\n", sql="SELECT 'jdbc:postgresql://u:hunter2@h/db' AS k").definition
        assert read.text == "SELECT 'jdbc:postgresql://u:***@h/db' AS k"

    def test_of_a_long_one_is_kept_what_tells_it_from_others(self):
        long = [
            AssetDefinition.build(text=f"SELECT '{'x' * MOST_TEXT}{n}' AS a", params={"p": "y" * 999 + str(n)})
            for n in "12"
        ]
        assert [len(each.text) for each in long] == [0, 0]
        assert all(len(each.parts["params.p"]) < 250 for each in long)
        assert long[0].id != long[1].id
        assert long[0].parts != long[1].parts


@pytest.mark.parametrize("query", [*QUERIES, "SELECT a <=> b, c <> -1, d || e, f(g, x -> x >= 1) FROM t WHERE h != 1"])
def test_the_executable_form_has_the_same_normal_form(query):
    form = normal_form(query)
    assert normal_form(executable_form(form)) == form
