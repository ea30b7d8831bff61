"""Which tables and columns are for Spark alone, as the log and a schema tell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from deltalake import DeltaTable, Schema
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.delta.features import keeps_paths, reason_for_spark, reason_of_columns, required_columns
from tests.delta.spark_tables import recorded, write_log

RECORDED = recorded()
PLAIN = ("string", "long", "decimal(38,18)", "decimal(9, 2)", "timestamp", "timestamp_ntz", "binary")
ODD = ("void", "variant", "interval day to second", "time(6)", "char(3)", "varchar(3)", "string collate UTF8_LCASE")


def field(kind, name="n", *, nullable=True, **metadata):
    return {"name": name, "type": kind, "nullable": nullable, "metadata": metadata}


def struct(*fields):
    return {"type": "struct", "fields": list(fields)}


def array(kind):
    return {"type": "array", "elementType": kind, "containsNull": True}


def keyed(key, value):
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def nested(kinds):
    """Types made of these, in any depth."""
    plain = st.sampled_from(PLAIN)
    return st.recursive(
        kinds,
        lambda inner: st.one_of(
            inner.map(array),
            st.tuples(plain, inner).map(lambda pair: keyed(*pair)),
            st.tuples(inner, plain).map(lambda pair: keyed(*pair)),
            st.tuples(plain, inner).map(lambda pair: struct(field(pair[0], "a"), field(pair[1], "b"))),
        ),
        max_leaves=4,
    )


@given(nested(st.sampled_from(PLAIN)))
def test_columns_of_plain_types_are_a_drivers_however_nested(kind):
    assert reason_of_columns([field(kind)], None) is None


@given(nested(st.sampled_from(ODD)), st.sampled_from(ODD))
def test_columns_of_other_types_are_not_wherever_they_are(kind, name):
    reason = reason_of_columns([field("long", name), field(kind, "odd")], None)
    assert reason is not None
    assert reason.startswith("its column 'odd")
    assert any(reason.endswith(f"is of type {each}") for each in ODD)


def test_a_column_may_be_named_like_a_type():
    assert reason_of_columns([field("long", name.partition(" ")[0]) for name in ODD[:3]], None) is None


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ([field(struct())], "its column 'n' is of type struct<>"),
        ([field({"type": "udt", "class": "c"})], "its column 'n' is of type udt"),
        ([field("string", __COLLATIONS={"n": "spark.UTF8_LCASE"})], "its column 'n' is text with its own collation"),
        ([field("string", __CHAR_VARCHAR_TYPE_STRING="char(3)")], "its column 'n' is of limited length"),
        ([field("long", CURRENT_DEFAULT="7")], "its column 'n' is filled by a default"),
        (
            [field(array(struct(field("long", "x", **{"delta.invariants": "{}"}))))],
            "its column 'n.element.x' is bound by a condition",
        ),
        ([field("long"), field("long", "N")], "Delta refuses the name of its column 'N'"),
        ([field(struct(field("long", "a"), field("long", "A")))], "Delta refuses the name of its column 'n.A'"),
        ([field(keyed("long", struct(field("long", "a=b"))))], "Delta refuses the name of its column 'n.value.a=b'"),
        ([field(keyed(struct(field("long", "a")), struct(field("long", "a"))))], None),
        ([field("long", "a.b"), field(struct(field("long", "b")), "a")], None),
        ([field("long", comment="x, y")], None),
    ],
)
def test_what_else_of_columns_is_for_spark(fields, reason):
    assert reason_of_columns(fields, None) == reason


@pytest.mark.parametrize("character", " ,;{}()\n\t=")
def test_delta_forbids_some_characters_in_names(character):
    name = f"a{character}b"
    assert reason_of_columns([field("long", name)], None) == f"Delta refuses the name of its column '{name}'"


def make_table(folder, *fields, **properties):
    schema = Schema.from_json(json.dumps(struct(*(fields or (field("long"),)))))
    return DeltaTable.create(folder, schema, configuration=properties)


def test_time_without_a_zone_is_a_drivers_where_the_table_has_it_already(tmp_path):
    zoneless, where = [field(array("timestamp_ntz"), "t")], "it does not support timestamps without a time zone yet"
    assert reason_of_columns(zoneless, None) is None
    assert reason_of_columns(zoneless, make_table(tmp_path / "plain")) == where
    assert reason_of_columns(zoneless, make_table(tmp_path / "has", *zoneless)) is None


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({}, None),
        ({"delta.appendOnly": "false", "delta.columnMapping.mode": "none"}, None),
        ({"delta.appendOnly": "TRUE"}, "it is append-only"),
        ({"delta.columnMapping.mode": "name"}, "it has column mapping"),
        ({"delta.constraints.positive": "n > 0"}, "it has CHECK constraints"),
        ({"delta.universalFormat.enabledFormats": "iceberg"}, "Spark keeps it readable as another format"),
        ({"delta.parquet.format.version": "2.12.0"}, "it sets the Parquet version of its files"),
        ({"delta.randomizeFilePrefixes": "true"}, "its files are in folders with random names"),
    ],
)
def test_what_properties_ask_of_writers_is_for_spark(tmp_path, properties, reason):
    make_table(tmp_path)
    assert reason_for_spark(_with(tmp_path, properties)) == reason


def _with(folder, properties):
    """The table as somebody made it who knows properties that deltalake does not."""
    log = Path(folder, "_delta_log", f"{0:020d}.json")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        line.get("metaData", {}).get("configuration", {}).update(properties)
    log.write_text("\n".join(map(json.dumps, lines)))
    return DeltaTable(folder)


def test_columns_of_a_table_are_asked_like_those_of_a_run(tmp_path):
    assert reason_for_spark(make_table(tmp_path, field("long", CURRENT_DEFAULT="7"))) == (
        "its column 'n' is filled by a default"
    )


def test_columns_that_must_not_be_null_are_found_at_any_depth():
    inner = struct(field("long", "x", nullable=False), field("long", "y"))
    fields = [field("long", "a", nullable=False), field(inner, "b"), field(array(inner), "c")]
    assert required_columns({"fields": fields}) == ["a", "b.x", "c.element.x"]


def test_paths_that_deltalake_would_write_otherwise_are_told():
    assert keeps_paths(iter(["day=2013-01-01/part-0.parquet", "a%20b/%25.parquet"]))
    assert not keeps_paths(iter(["day=2013-01-01/part-0.parquet", "a%2bb/part.parquet"]))


REASONS = {
    "plain": None,
    "deletion vectors": "it has deletion vectors",
    "change feed": None,
    "change feed that ended": None,
    "append-only": "it is append-only",
    "column mapping": "it has column mapping",
    "row tracking": "it has domainMetadata, row tracking",
    "commit timestamps": "it has timestamps in its commits",
    "checkpoints": "it has checkpoints of version 2",
    "type widening": "it has type widening",
    "compaction": "Spark compacts it after each write",
    "clustering": "it has liquid clustering, domainMetadata",
    "constraint": "it has CHECK constraints",
    "generated": "its column 'm' is generated",
    "identity": "its column 'i' is an identity column",
    "limited": "its column 's' is of limited length",
    "default": "its column 'n' is filled by a default",
    "variant": "its column 'v' is of type variant",
    "no time zone": None,
    "nested": None,
    "not null": None,
}


@pytest.mark.parametrize("name", RECORDED)
def test_tables_that_spark_made_tell_why_they_are_its_own(tmp_path, name):
    write_log(tmp_path, RECORDED[name])
    table = DeltaTable(tmp_path)
    assert reason_for_spark(table) == REASONS[name]
    required = required_columns(json.loads(table.schema().to_json()))
    assert required == (["n", "s.a"] if name == "not null" else [])


@pytest.mark.parametrize("configuration", [{"delta.enableChangeDataFeed": "true"}, {"delta.appendOnly": "false"}])
def test_versions_of_the_protocol_that_ask_for_nothing_more_are_a_drivers(tmp_path, configuration):
    table = make_table(tmp_path, **configuration)
    assert reason_for_spark(table) is None
