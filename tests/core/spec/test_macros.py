"""Macros and constants in `macros/*.sql`: which an asset uses, and what is wrong at its place."""

import pytest

from sparkassets.core.spec.macro_files import read_macros
from sparkassets.core.spec.yaml_document import SourceFile

MONEY = SourceFile(
    "conf/macros/money.sql",
    "macros/money.sql",
    "{# how money is counted #}\n"
    "{%- macro net(amount) -%}\n  round({{ amount }} / (1 + {{ vat }}), 2)\n{%- endmacro %}\n"
    "{% macro total(column) %}sum({{ net(column) }}){% endmacro %}\n"
    "{% set vat = base * 2 %}\n{% set base = 0.1 %}\n"
    "{% set kinds %}'a', 'b'{% endset %}\n",
)


def names(text, *files):
    return [each.name for each in read_macros(files or [MONEY]).find_prefix(text).macros]


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("SELECT 1 -- net of vat", []),
        ("SELECT {{ net(1) }}", ["base", "vat", "net"]),
        ("SELECT {{ total('x' | identifier) }}", ["base", "vat", "net", "total"]),
        ("SELECT {{ base }}", ["base"]),
        ("SELECT 1 WHERE k IN ({{ kinds }})", ["kinds"]),
        ("{% set base = 3 %}SELECT {{ base }}", []),
        ("SELECT {{ inlets.net.base }}", []),
    ],
)
def test_a_template_uses_what_it_names_directly_and_through_others(text, used):
    assert names(text) == used


def test_definitions_print_nothing_and_keep_their_places():
    library = read_macros([MONEY])
    assert not library.problems
    assert {each.name: (each.line, each.column) for each in library.macros.values()} == {
        "net": (2, 1),
        "total": (5, 1),
        "vat": (6, 1),
        "base": (7, 1),
        "kinds": (8, 1),
    }
    prefix = library.find_prefix("{{ total(1) }}")
    assert prefix.text.startswith("{% set base")
    assert prefix.text.endswith("%}{#\n#}")


def test_a_recursive_macro_is_found_once():
    file = SourceFile("m", "m", "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}")
    assert names("{{ a() }}", file) == ["b", "a"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{% set a = 1 %}\nSELECT 1\n", "m.sql:2:1: a file of macros may hold only {% macro … %} and {% set … %}"),
        ("{{ 1 }}", "m.sql:1:1: a file of macros may hold only {% macro … %} and {% set … %}"),
        ("{% if true %}{% endif %}", "m.sql:1:"),
        ("{% set ds = 1 %}", "m.sql:1:1: 'ds' is a name of the run and cannot be set"),
        ("{% set a = 1 %}\n {% set a = 2 %}", "m.sql:2:2: 'a' is defined already, in m.sql:1"),
        ("\n{% macro a() %}", "m.sql:2:1: the file of macros is broken: 'macro' has no end"),
        ("{% set a = %}", "m.sql:1:1: invalid template: Expected an expression"),
        ("{% include 'x' %}", "m.sql:1:"),
    ],
)
def test_what_is_wrong_with_a_file(text, problem):
    (found,) = read_macros([SourceFile("m.sql", "macros/m.sql", text)]).problems[:1]
    assert str(found).startswith(problem)
