"""Macros, constants and `columns_except` in a run."""

import pytest

from sparkassets.core.spec.code_bodies import SqlBody
from sparkassets.errors import FileLocation, RunError
from tests.integration.orders import computed, order, sql, table

pytestmark = pytest.mark.spark

MACROS = "{% macro half(value) %}\n  {{ value }} / {{ two }}\n{% endmacro %}{% set two = 2 %}"


def plain(tmp_path, flights, query):
    return order(table("plain", tmp_path, **sql(query, "flights")), flights)


def body(text):
    return {"body": SqlBody(text, FileLocation("report.sql", 1, 1), MACROS)}


def test_a_macro_is_a_part_of_the_query(engine, flights, tmp_path):
    query = "SELECT max({{ half(inlets.flights.delay) }}) AS half FROM {{ inlets.flights }}"
    asset = table("report", tmp_path, **{**sql(query, "flights"), **body(query)})
    ((half,),) = computed(engine, order(asset, flights))
    ((whole,),) = computed(engine, plain(tmp_path, flights, "SELECT max(delay) AS d FROM {{ inlets.flights }}"))
    assert half == whole / 2


def test_all_columns_but_some(engine, flights, tmp_path):
    query = "SELECT {{ inlets.flights.columns_except('delay') }} FROM {{ inlets.flights }}"
    frame = engine.compute(plain(tmp_path, flights, query), attempt=1).frame
    every = engine.compute(plain(tmp_path, flights, "SELECT * FROM {{ inlets.flights }}"), attempt=1).frame
    assert frame.columns == [name for name in every.columns if name.lower() != "delay"]


def test_an_error_in_a_macro_is_told_at_the_line_that_calls_it(engine, flights, tmp_path):
    query = "SELECT 1 AS a,\n  {{ half(params.none) }} AS b FROM {{ inlets.flights }}"
    asset = table("report", tmp_path, **{**sql(query, "flights"), **body(query)})
    with pytest.raises(RunError, match=r"report.sql:2:18: "):
        engine.compute(order(asset, flights), attempt=1)
