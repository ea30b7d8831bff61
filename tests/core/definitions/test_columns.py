"""Which columns a change touches and which a query reads: what is not sure is all of them."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.definitions.differences import ColumnEffect, find_column_effect, find_columns_read
from sparkassets.core.query_text import normal_form

BASE = "SELECT day, origin, avg(delay) AS mean FROM {{ inlets.f }} WHERE delay > 0 GROUP BY day, origin"
PLAIN = "SELECT day, upper(origin) AS origin_code, delay FROM {{ inlets.f }} WHERE delay > 0"


def column_effect(old: str, new: str, **params: object) -> ColumnEffect:
    before, after = (
        AssetDefinition.build(text=normal_form(old)),
        AssetDefinition.build(text=normal_form(new), params=params),
    )
    return find_column_effect(before, after)


class TestEffect:
    @pytest.mark.parametrize(
        ("old", "new", "found"),
        [
            (BASE, BASE.replace("AS mean", "AS mean, max(delay) AS top"), ColumnEffect(added=("top",))),
            (BASE, BASE.replace("avg(delay)", "median(delay)"), ColumnEffect(changed=("mean",))),
            (PLAIN, PLAIN.replace(", delay FROM", " FROM"), ColumnEffect()),
            (PLAIN, PLAIN.replace("upper", "lower"), ColumnEffect(changed=("origin_code",))),
            (PLAIN, PLAIN.replace("upper(origin) AS origin_code, ", ""), ColumnEffect(removed=("origin_code",))),
            (PLAIN, PLAIN.replace("delay FROM", "delay, {{ inlets.f.tail }} FROM"), ColumnEffect(added=("tail",))),
            (BASE.replace("day, origin\n", "ALL"), BASE + " -- why", ColumnEffect()),
        ],
    )
    def test_of_a_list_alone(self, old, new, found):
        if found == ColumnEffect():
            assert column_effect(old, new).affects_everything or column_effect(old, new).affected_columns == frozenset()
        else:
            assert column_effect(old, new) == found

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (BASE, BASE.replace("> 0", "> 1")),
            (BASE, BASE.replace("GROUP BY day, origin", "GROUP BY day")),
            (BASE, BASE + " LIMIT 3"),
            (BASE, "WITH g AS (SELECT 1) " + BASE.replace("{{ inlets.f }}", "{{ inlets.f }} JOIN g")),
            (BASE, f"{BASE} UNION ALL {BASE}"),
            (BASE, BASE.replace("SELECT", "SELECT DISTINCT")),
            (
                BASE.replace("day, origin, ", ""),
                BASE.replace("day, origin, ", "").replace("avg(delay)", "max(delay)") + ", mean",
            ),
            (PLAIN, PLAIN.replace("delay FROM", "delay, * FROM")),
            (PLAIN, PLAIN.replace("delay FROM", "delay, explode(tails) AS tail FROM")),
            (PLAIN, PLAIN.replace("delay FROM", "delay, my_function(tails) AS tail FROM")),
            (PLAIN, PLAIN.replace("delay FROM", "delay, count(*) AS n FROM")),
            (PLAIN, PLAIN.replace("delay FROM", "delay, (SELECT 1) AS n FROM")),
            (PLAIN, PLAIN.replace("delay FROM", "delay, {{ params.more }} AS n FROM")),
            (PLAIN, PLAIN.replace("day, upper(origin) AS origin_code", "upper(origin) AS origin_code, day")),
            (PLAIN + " ORDER BY 2 LIMIT 3", PLAIN.replace("upper", "lower") + " ORDER BY 2 LIMIT 3"),
            (
                PLAIN + " ORDER BY origin_code LIMIT 3",
                PLAIN.replace("upper", "lower") + " ORDER BY origin_code LIMIT 3",
            ),
            ("SELECT a, b + 1 AS c, c * 2 AS d FROM x", "SELECT a, b + 2 AS c, c * 2 AS d FROM x"),
            ("SELECT day, max(a) AS a FROM x GROUP BY ALL", "SELECT day, kind, max(a) AS a FROM x GROUP BY ALL"),
            ("SELECT a FROM x", "SELECT {% if 1 %} a {% endif %} FROM x"),
            ("SELECT 1 AS a FROM x WHERE b IN (SELECT b FROM y GROUP BY b)",) * 1
            + ("SELECT 1 AS a, count(*) AS n FROM x WHERE b IN (SELECT b FROM y GROUP BY b)",),
        ],
    )
    def test_of_more_than_the_list_it_is_all(self, old, new):
        assert column_effect(old, new).affects_everything

    def test_under_group_by_all_what_is_summed_groups_nothing(self):
        old = "SELECT day, max(a) AS a FROM x GROUP BY ALL"
        assert column_effect(old, "SELECT day, max(a) AS a, sum(b) AS b FROM x GROUP BY ALL") == ColumnEffect(
            added=("b",)
        )

    def test_params_may_change_everything(self):
        assert column_effect(PLAIN, PLAIN, low=1).affects_everything

    @given(st.sampled_from([BASE, PLAIN]), st.randoms(use_true_random=False))
    def test_of_words_that_go_outside_the_list_it_is_all(self, sql, random: Random):
        words = sql.split(" ")
        place = random.randrange(words.index("FROM"), len(words))
        assert column_effect(sql, " ".join([*words[:place], *words[place + 1 :]])).affects_everything


class TestReads:
    @pytest.mark.parametrize(
        "sql",
        [
            "SELECT * FROM {{ inlets.f }}",
            "SELECT DISTINCT * FROM {{ inlets.f }}",
            "SELECT f.* EXCEPT (a) FROM {{ inlets.f }} AS f",
            "SELECT count(DISTINCT *) FROM {{ inlets.f }}",
            "SELECT a FROM (SELECT * FROM {{ inlets.f }})",
            "SELECT struct(*) AS s FROM {{ inlets.f }}",
            "SELECT a FROM {{ inlets.f }} NATURAL JOIN {{ inlets.g }}",
            "SELECT a FROM {{ inlets.f }} PIVOT (sum(b) FOR c IN (1))",
            "SELECT {% for c in d %} {{ c }}, {% endfor %} 1 FROM {{ inlets.f }}",
            "SELECT {{ inlets.f[params.c] }} FROM {{ inlets.f }}",
            "SELECT a IN ({{ inlets.f }}) FROM {{ inlets.g }}",
            "FROM {{ inlets.f }} |> SELECT a",
        ],
    )
    def test_all_where_it_is_not_sure(self, sql):
        assert find_columns_read(sql, "f") is None

    @pytest.mark.parametrize(
        ("sql", "some", "others"),
        [
            ("SELECT a, b * 2 AS c FROM {{ inlets.f }}", {"a", "b"}, {"d"}),
            ("SELECT f.`A b`, {{ inlets.f.tail }} FROM {{ inlets.f }} f", {"a b", "tail"}, {"d"}),
            ("SELECT {{ inlets.f['odd name'] }}, count(*) AS n FROM {{ inlets.f }}", {"odd name"}, {"d"}),
            (
                "SELECT x.a FROM {{ inlets.f }} JOIN {{ inlets.g }} AS x USING (day) WHERE Kind = 'd'",
                {"day", "kind"},
                {"d"},
            ),
        ],
    )
    def test_every_name_that_stands_there(self, sql, some, others):
        found = find_columns_read(sql, "f")
        assert found is not None
        assert some <= found
        assert not others & found
