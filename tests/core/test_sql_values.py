"""Values in SQL: never pasted, whatever they hold and wherever they stand."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pendulum
import pytest
from jinja2 import TemplateError

from sparkassets.core.sandbox import render_sql
from sparkassets.core.templating import read_outline

ODD = "a'b\\c"
AS_BYTES = "CAST(X'6127625C63' AS STRING)"
NAMES = {
    "ds": "2025-01-01",
    "partition": {"region": ODD, "day": date(2025, 1, 1)},
    "params": {"n": -7, "cols": ["a", "b`c"], "list": ["x", 1], "none": None, "where": "a > 1", "t": "sales"},
    "triggering_event": {"extra": {"x": "' OR reflect('a') --", "fn": "reflect", "format": "text"}},
    "at": datetime(2025, 1, 1, 12, tzinfo=UTC),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'{{ ds }}' DATE '{{ ds }}' {{ ds }}", "'2025-01-01' DATE '2025-01-01' '2025-01-01'"),
        ("'{{ partition.region }}'", AS_BYTES),
        ("'${{ '{env:HOME}' }}'", "concat('$', CAST(X'7B656E763A484F4D457D' AS STRING))"),
        ("r'{{ partition.region }}' R\"{{ ds }}\"", f'{AS_BYTES} R"2025-01-01"'),
        ("'in {{ partition.region }}: {{ ds }}'", f"concat('in ', {AS_BYTES}, ': ', '2025-01-01')"),
        ("'it''s {{ partition.region }}'", f"concat('it''s ', {AS_BYTES})"),
        ("r'\\d{{ partition.region }}'", f"concat(r'\\d', {AS_BYTES})"),
        ("'C:\\\\{{ ds }}'", "concat('C:\\\\', '2025-01-01')"),
        ("{{ partition.region }} {{ partition.day }}", f"{AS_BYTES} DATE'2025-01-01'"),
        ("{{ at }} '{{ at }}'", "TIMESTAMP'2025-01-01T12:00:00Z' '2025-01-01 12:00:00+00:00'"),
        ("x -{{ params.n }} + {{ params.n }}", "x - -7 + -7"),
        ("{{ params.none }} IN ({{ params.list }})", "NULL IN ('x', 1)"),
        ("{{ params.cols | identifier }} `{{ params.cols[1] }}`", "`a`, `b``c` `b``c`"),
        ("{{ params.where | raw }} '{{ params.where | raw }}'", "a > 1 'a > 1'"),
        ("{{ ('t_' ~ params.t) | identifier }}.x", "`t_sales`.x"),
        (
            "-- {{ ds }}\\\n'{{ ds }}'\n/* /* */ {{ ds }} */ /*+ REPARTITION({{ params.n }}) */",
            "-- \\\n''\n/* /* */  */ /*+ REPARTITION(-7) */",
        ),
        ("{% macro m(a) %}f('{{ a }}', {{ a }}){% endmacro %}{{ m(ds) }}", "f('2025-01-01', '2025-01-01')"),
        ("{% macro m(a) %}<{{ a }}>{% endmacro %}{{ m(1) ~ m(2) }} {{ [m(1), 2] | join(', ') }}", "<1><2> <1>, 2"),
        ("{% macro m() %}<{{ caller('x') }}>{% endmacro %}{% call(y) m() %}{{ y }}{% endcall %}", "<'x'>"),
        ("{% set b %}x = {{ ds }}{% endset %}{{ b }} OR {{ b }}", "x = '2025-01-01' OR x = '2025-01-01'"),
        ("{% block b %}{{ ds }}{% endblock %} {{ self.b() }}", "'2025-01-01' '2025-01-01'"),
        ("{% for a in [1, 2] %}{{ a }},{% endfor %}", "1,2,"),
        ("{% for a in [1, 2] %}x AS day_{{ a }},{% endfor %}", "x AS day_1,x AS day_2,"),
        ("'{% for a in ['b', ds] %}{{ a }},{% endfor %}'", "'b,2025-01-01,'"),
        ("{% set c = params.cols %}{% for a in c %}{{ a | raw }}{% endfor %}", "ab`c"),
    ],
)
def test_a_value_is_a_literal_or_a_part_of_the_one_that_it_stands_in(text, expected):
    assert render_sql(text, NAMES) == expected


def test_what_double_quotes_mean_is_asked_of_the_session():
    text = '"{{ params.cols[1] }}{{ params.quote }}"'
    names = {"params": {"cols": ["a", "b`c"], "quote": '"'}}
    assert render_sql(text, names, double_quoted_names=lambda: True) == '"b`c"""'
    assert render_sql(text, names) == "concat(CAST(X'626063' AS STRING), CAST(X'22' AS STRING))"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, "true"),
        (3_000_000_000, "3000000000L"),
        (10**20, "100000000000000000000BD"),
        (1.5, "1.5D"),
        (float("inf"), "double('inf')"),
        (Decimal("1.50"), "1.50BD"),
        (b"\x01", "X'01'"),
        (datetime(2025, 1, 1), "TIMESTAMP_NTZ'2025-01-01T00:00:00'"),  # noqa: DTZ001
        (pendulum.datetime(2025, 1, 1, tz="Europe/Berlin"), "TIMESTAMP'2024-12-31T23:00:00Z'"),
        (pendulum.date(2025, 1, 1), "DATE'2025-01-01'"),
        (timedelta(days=-1, hours=-2), "INTERVAL '-1 02:00:00.000000' DAY TO SECOND"),
        (pendulum.duration(days=1, hours=2), "INTERVAL '1 02:00:00.000000' DAY TO SECOND"),
        (pendulum.duration(months=14), "INTERVAL '1-2' YEAR TO MONTH"),
        (pendulum.datetime(2025, 3, 1) - pendulum.datetime(2025, 1, 1), "INTERVAL '59 00:00:00.000000' DAY TO SECOND"),
    ],
)
def test_literals_have_the_type_of_their_value(value, expected):
    assert render_sql("{{ x }}", {"x": value}) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t_{{ params.t }}", "the value 'sales' is a literal and must be separated from its neighbours"),
        ("{{ ds }}{{ ds }}", "the value '2025-01-01' is a literal and must be separated from its neighbours"),
        ("r{{ partition.region }}", f"the value {ODD!r} is a literal and must be separated from its neighbours"),
        ("{{ params.t }}.x", "expected a name, but the value 'sales' is a literal"),
        ("a JOIN {{ params.t }}", "expected a name, but the value 'sales' is a literal"),
        ("'\\{{ ds }}'", "a backslash before a value would escape its first character; write two backslashes"),
        (
            "`${{ '{env:HOME}' }}`",
            "'`${env:HOME}`' is not allowed as a name in SQL: Spark would substitute a variable in it",
        ),
        ("{{ params }}", "a mapping cannot be written in SQL"),
        ("IN ({{ [] }})", "the list is empty, which SQL does not allow"),
        ("{{ [ds] | map('raw') | list }}", "'raw' is for SQL, and can only be written as {{ … | raw }}"),
        (
            "{{ triggering_event.extra.fn | identifier }} ('a')",
            "the function 'reflect' cannot come from a value; write it in the query",
        ),
        (
            "FROM {{ triggering_event.extra.format | identifier }}.`/etc/passwd`",
            "the name 'text' would read files directly; write it in the query",
        ),
        ("{{ \"reflect('a')\" | raw }}", "raw text may not contain 'reflect'; write it in the query"),
        ("{{ 'text.`/etc/passwd`' | raw }}", "raw text may not contain 'text.`/etc/'; write it in the query"),
        ("{% call 'a{x}'.format(x=ds) %}{% endcall %}", "{% call %} can call only macros"),
        (
            "{% macro m() %}a{% endmacro %}{{ m() | upper }}",
            "SQL from a macro or a block cannot be changed by the filter 'upper'",
        ),
        (
            "{% macro m() %}a{% endmacro %}{{ [m(), m()] | join(' AND ') }}",
            "the separator between pieces of SQL must be SQL, too",
        ),
        (
            "{% filter upper %}{{ ds }}{% endfilter %}",
            "a block of SQL cannot be filtered: it contains bound values",
        ),
    ],
)
def test_what_has_no_place_in_sql_is_refused(text, message):
    with pytest.raises(TemplateError) as error:
        render_sql(text, NAMES)
    assert error.value.message == message


@pytest.mark.parametrize(
    "text",
    [
        "{{ partition.region | raw }}",
        "{{ triggering_event.extra.x | raw }}",
        "{{ ('a' ~ triggering_events.s[0].extra.x) | upper | raw }}",
        "{% set x = partition.region %}{% set y = x %}{{ y | raw }}",
        "{% set x %}{{ watermark.low }}{% endset %}{{ x | raw }}",
        "{% for each in triggering_event.extra %}{{ each | raw }}{% endfor %}",
        "{% for each in triggering_event.extra %}{{ loop.previtem | raw }}{% endfor %}",
        "{% with x = partition.region %}{{ x | raw }}{% endwith %}",
        "{% macro m(a) %}{{ a | raw }}{% endmacro %}{{ m(partition.region) }}",
        "{% macro m(a) %}{{ kwargs.b | raw }}{% endmacro %}{{ m(1, b=partition.region) }}",
        "{% macro m(a=partition.region) %}{{ a | raw }}{% endmacro %}{{ m() }}",
        "{% macro m() %}{{ caller() | raw }}{% endmacro %}{% call m() %}{{ partition.region }}{% endcall %}",
        "{{ params[partition.region] | raw }}",
    ],
)
def test_raw_text_of_events_and_keys_is_refused_when_it_is_validated_and_when_it_is_rendered(text):
    with pytest.raises(TemplateError, match="cannot be printed raw: it comes from data or events"):
        render_sql(text, NAMES)
    assert any("cannot be printed raw" in fault.message for fault in read_outline(f"SELECT {text}").faults)


def test_quotes_in_join_are_told_when_the_template_is_validated():
    text = "SELECT * FROM {{ inlets.s }} WHERE a IN ('{{ params.list | join(\"', '\") }}')"
    (fault,) = read_outline(text).faults
    assert (fault.line, fault.message[:21], fault.hint) == (
        1,
        "lists are separated a",
        "write IN ({{ … }}), without quotes and 'join'",
    )
