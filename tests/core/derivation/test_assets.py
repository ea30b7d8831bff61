"""What assets' columns are made of: their templates stand for the queries of all their runs, or nothing is told."""

from dataclasses import replace

import pytest

from sparkassets.core.derivation.asset_columns import AssetDerivations, derive_asset
from sparkassets.core.derivation.column_lineage import trace_column
from sparkassets.core.spec.code_bodies import SqlBody
from sparkassets.core.spec.model import InletSpec, ReadChanges, SegmentParams
from sparkassets.core.writes import HistoryColumns, UpsertWrite
from tests.builders import HERE, asset, project, source

UPSERT = UpsertWrite(("id",), newest_by=("_at",))


def column_origins(text, *, columns=("id", "n", "_at"), **more):
    """By column what it is made of; ``?`` where that is not sure."""
    item = asset("a", "s", body=SqlBody(text, HERE), **more)
    found = derive_asset(item, lambda name: columns if name == "s" else None)
    if found is None:
        return None
    shown = {
        name: uses and " ".join(sorted(f"{u.asset}.{u.column}" for u in uses)) for name, uses in found.columns.items()
    }
    return {name: "?" if uses is None else str(uses or "") for name, uses in shown.items()} | (
        {"rows": "?"} if found.rows is None else {}
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT id, {{ inlets.s.n }} AS m FROM {{ inlets.s }}", {"id": "s.id", "m": "s.n"}),
        ("SELECT id FROM {{ inlets.s }} WHERE day = '{{ ds }}' AND n > {{ params.least }};", {"id": "s.id"}),
        ("SELECT id FROM {{ inlets.s }} WHERE n > {{ watermark.low }} AND day = {{ partition.day }}", {"id": "s.id"}),
        ("SELECT '{{ run_id }}' AS run, id FROM {{ inlets.s }}", {"run": "", "id": "s.id"}),
        ("SELECT id, day FROM {{ inlets.s }} JOIN {{ partitions }} USING (day)", {"id": "s.id", "day": "s.day"}),
        (
            "SELECT {% for each in params.names %}{{ each | identifier }}, {% endfor %}id FROM {{ inlets.s }}",
            {"n": "s.n", "id": "s.id"},
        ),
        ("SELECT {% if params.least > 1 %}n{% else %}id{% endif %} AS x FROM {{ inlets.s }}", {"x": "s.n"}),
        ("SELECT id FROM {{ outlets.a }}", {"id": "a.id"}),
    ],
)
def test_a_template_stands_for_the_queries_of_all_runs(text, expected):
    told = column_origins(text, columns=("id", "n", "day"), params={"least": 3, "names": ["n"]})
    assert told is not None
    told.pop("rows", None)
    assert told == expected


@pytest.mark.parametrize(
    "text",
    [
        "SELECT {% if ds > '2025' %}n{% else %}id{% endif %} AS x FROM {{ inlets.s }}",
        "SELECT {{ 'n' if run_id else 'id' }} AS x FROM {{ inlets.s }}",
        "{% set x = ds %}SELECT {{ 'id' if x else 'n' }} AS id FROM {{ inlets.s }}",
        "SELECT n_{{ ds_nodash }} AS x FROM {{ inlets.s }}",
        "SELECT id AS {{ run_id }} FROM {{ inlets.s }}",
        "SELECT {% for each in triggering_events %}id{% endfor %} FROM {{ inlets.s }}",
        "SELECT * FROM {{ outlets.a }}",
        "SELECT {{ triggering_event.extra.column }} AS x FROM {{ inlets.s }}",
        "SELECT id FROM",
        "SELECT {{",
    ],
)
def test_where_runs_may_have_other_queries_nothing_is_told(text):
    assert column_origins(text, columns=None) is None


def test_params_by_segment_tell_what_all_of_them_tell():
    text = "SELECT {{ params.column | identifier }} AS x FROM {{ inlets.s }}"
    alike = SegmentParams((0,), {("a",): {"column": "n"}, ("b",): {"column": "n"}})
    apart = SegmentParams((0,), {("a",): {"column": "n"}, ("b",): {"column": "id"}})
    assert column_origins(text, segment_params=alike) == {"x": "s.n"}
    assert column_origins(text, segment_params=apart) is None


def test_an_upsert_stores_no_hidden_columns_and_a_history_brings_its_own():
    text = "SELECT id, n, _at FROM {{ inlets.s }}"
    assert column_origins(text, write=UPSERT) == {"id": "s.id", "n": "s.n"}
    told = column_origins(text, write=replace(UPSERT, history=HistoryColumns("_at", "until", "is_current")))
    assert told == {"id": "s.id", "n": "s.n", "_at": "?", "until": "?", "is_current": "?"}


def test_the_columns_of_a_change_feed_are_not_the_inlets():
    changes = InletSpec("s", "x-s", None, read=ReadChanges())
    item = asset("a", changes, body=SqlBody("SELECT id, _change_type AS op FROM {{ inlets.s }}", HERE))
    found = derive_asset(item, lambda _: ("id",))
    assert (found.uses_of_column("op"), len(found.uses_of_column("id"))) == (None, 1)


def test_columns_come_from_declarations_queries_and_tables_in_this_order():
    declared = source("s", columns={"id": "bigint", "n": "int"})
    first = asset("a", "s", body=SqlBody("SELECT *, n * 2 AS m FROM {{ inlets.s }}", HERE))
    last = asset(
        "b", "a", "k", body=SqlBody("SELECT a.*, k.z FROM {{ inlets.a }} a JOIN {{ inlets.k }} k ON a.id = k.id", HERE)
    )
    found = AssetDerivations(
        project(declared, source("k"), first, last), lambda each: ["id", "z"] if each.name == "k" else None
    )
    assert found.columns_of(found.project.assets["b"]) == ("id", "n", "day", "m", "z")
    lineage = trace_column(found, found.project.assets["s"], "n")
    assert [(each.asset, each.column) for each in lineage.used_by] == [("a", "n"), ("a", "m")]
    assert [[(more.asset, more.column) for more in each.next_steps] for each in lineage.used_by] == [
        [("b", "n")],
        [("b", "m")],
    ]


def test_a_column_that_comes_by_two_ways_is_followed_once():
    s = source("s", columns={"id": "int"}, by=None)
    a = asset("a", "s", by=None, body=SqlBody("SELECT id FROM {{ inlets.s }}", HERE))
    b = asset(
        "b", "s", "a", by=None, body=SqlBody("SELECT x.id + y.id AS id FROM {{ inlets.s }} x, {{ inlets.a }} y", HERE)
    )
    c = asset(
        "c", "a", "b", by=None, body=SqlBody("SELECT a.id + b.id AS id FROM {{ inlets.a }} a, {{ inlets.b }} b", HERE)
    )
    found = AssetDerivations(project(s, a, b, c))
    up = trace_column(found, found.project.assets["c"], "ID")
    assert [(each.asset, each.is_repeated) for each in up.made_of] == [("a", False), ("b", False)]
    (through_a, _) = up.made_of[1].next_steps
    assert (through_a.asset, through_a.is_repeated, through_a.next_steps) == ("a", True, ())
