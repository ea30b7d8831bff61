"""Macros of a project from its files: in queries, in definitions, and in problems."""

import pytest

from sparkassets import Project

PROJECT = {
    "project.yml": "project: shop\nassets: [assets]\n",
    "macros/money.sql": "{% macro net(amount) %}{{ amount }} / {{ rate }}{% endmacro %}\n{% set rate = 1.19 %}\n",
    "macros/other.sql": "{% macro other(x) %}{{ x }}{% endmacro %}\n",
    "macros/readme.txt": "no macro\n",
    "assets/orders.yml": (
        "asset: orders\nsource: csv\npath: landing\ncolumns: {id: bigint, amount: double, note: string}\n"
    ),
    "assets/daily.yml": "asset: daily\n",
    "assets/daily.sql": "SELECT id,\n  {{ net(inlets.orders.amount) }} AS net\nFROM {{ inlets.orders }}\n",
    "assets/plain.yml": "asset: plain\n",
    "assets/plain.sql": "SELECT {{ inlets.orders.columns_except('note') }} FROM {{ inlets.orders }}\n",
}


@pytest.fixture(autouse=True)
def conf(make_conf):
    folder = make_conf(PROJECT)
    (folder / "landing").mkdir()
    (folder / "landing" / "a.csv").write_text("id,amount,note\n1,2,x\n")
    return folder


def definitions(conf):
    return {name: each.definition.id for name, each in Project.load(conf).spec.assets.items() if each.definition}


def test_a_query_is_rendered_with_its_macros(run_json):
    (code,) = run_json("render", "daily")["code"]
    assert code["statements"][-1] == "SELECT id,\n  `amount` / 1.19D AS net\nFROM `orders`"


def test_an_edit_of_a_macro_changes_the_definitions_that_use_it(conf):
    before = definitions(conf)
    (conf / "macros" / "other.sql").write_text("{% macro other(x) %}{{ x }} + 1{% endmacro %}\n")
    assert definitions(conf) == before
    (conf / "macros" / "money.sql").write_text(PROJECT["macros/money.sql"].replace("1.19", "1.07"))
    after = definitions(conf)
    assert {name for name in before if before[name] != after[name]} == {"daily"}
    (conf / "macros" / "money.sql").write_text(PROJECT["macros/money.sql"].replace(" / ", "  /  "))
    assert definitions(conf) == before


def test_columns_of_a_query_are_traced_through_macros(run_cli):
    code, out, _ = run_cli("lineage", "daily.net")
    assert code == 0
    assert "orders.amount: computed" in out


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        (
            "macros/money.sql",
            "{% macro net(amount) %}\n  {{ amount }} / {{ rates }}{% endmacro %}\n",
            "conf/macros/money.sql:2:21: unknown name 'rates' in the template",
        ),
        (
            "assets/daily.sql",
            "SELECT {{ net(inlets.orders.amount) }} AS net,\n {{ param.x }} AS b FROM {{ inlets.orders }}",
            "conf/assets/daily.sql:2:5: unknown name 'param' in the template",
        ),
        (
            "assets/daily.sql",
            "SELECT {{ net(inlets.orders.amounts) }} AS net FROM {{ inlets.orders }}",
            "conf/assets/daily.sql:1:29: ",
        ),
        (
            "assets/plain.sql",
            "SELECT {{ inlets.orders.columns_except('notes') }} FROM {{ inlets.orders }}",
            "conf/assets/plain.sql:1:41: ",
        ),
        ("macros/money.sql", "{% macro net(amount) %}", "conf/macros/money.sql:1:1: the file of macros is broken"),
    ],
)
def test_problems_stand_where_they_are(run_cli, conf, file, text, problem):
    (conf / file).write_text(text)
    code, _, err = run_cli("validate")
    assert code == 2
    assert problem in err


def test_all_columns_but_some_need_known_ones(run_cli):
    code, out, err = run_cli("render", "plain")
    assert (code != 0, out) == (True, "")
    assert "the columns of inlet orders are only known to a run\n  hint: declare its 'columns'" in err
