"""A list of params where no segments are written: what tells the runs of each apart, and what is refused."""

import pytest

from sparkassets.core.partitions import Partitioning, SegmentPartition, TimePartition
from tests.core.spec.in_memory import compiled, errors

EVENTS = "asset: events\nsource: delta\npath: events\n"
MODELS = "asset: a\ninlets: [events]\nstrategy: every_instance\n"
TWO = "params: [{model: big, depth: 9}, {model: 7, depth: 9}]\n"


def of(text, sql="SELECT '{{ params.model }}' AS model"):
    return {"a.yml": MODELS + text, "a.sql": sql, "events.yml": EVENTS}


def test_what_is_appended_for_each_interval_is_so_for_each_of_them():
    made = compiled(of(f"write: append\nschedule: '@daily'\n{TWO}")).assets["a"]
    models = SegmentPartition("model", ("7", "big"), in_rows=False)
    assert made.partitioning == Partitioning(TimePartition("day", "UTC"), (models,))
    partition = made.partitioning.parse("2025-01-01,7")
    assert made.params_of(partition) == {"model": 7, "depth": 9}
    assert made.inlets["events"].on_update == "ignore"


def test_what_is_published_is_so_for_each_whenever_an_inlet_is_updated():
    made = compiled(of(f"write: {{publish: {{keep: 2}}}}\n{TWO}")).assets["a"]
    assert made.partitioning == Partitioning(None, (SegmentPartition("model", ("7", "big")),))
    assert made.inlets["events"].on_update == "rerun"
    assert made.schedule.text == "events"


def test_beside_a_partition_of_its_own():
    text = f"write: append\nschedule: '@daily'\npartition: {{by: day, column: day}}\n{TWO}"
    made = compiled(of(text, sql="SELECT DATE '2025-01-01' AS day")).assets["a"]
    assert made.partitioning.names == ("day", "model")
    assert made.partitioning.columns == ("day",)


@pytest.mark.parametrize("params", ["[{x: 1, day: 5}, {x: 1, day: 6}]", "[{x: [1]}, {x: [2]}]", "[{x: 1}, {y: 2}]"])
def test_a_name_has_another_value_in_each(params):
    text = f"write: append\nschedule: '@daily'\nparams: {params}\n"
    assert errors(of(text, sql="SELECT 1 AS n")) == (
        "a.yml:6:9: the params do not identify a run: no key has a different value in each item\n    params: "
        f"{params}\n            {'^' * len(params)}\n  hint: give each item a distinct name, such as {{name: a}}"
    )


def test_what_is_appended_needs_an_interval():
    assert errors(of(f"write: append\n{TWO}")).splitlines()[0] == (
        "a.yml:5:9: each item of 'params' would be appended only once: the asset has no intervals"
    )


def test_a_table_that_is_published_has_the_column():
    text = f"write: {{publish: {{keep: 2}}}}\n{TWO}"
    assert errors(of(text, sql="SELECT 1 AS n")).splitlines()[0] == (
        "a.yml:1:1: the SELECT of asset 'a' yields no column 'model', by which it is partitioned"
    )
    declared = f"{text}columns: {{n: int}}\n"
    assert errors(of(declared)).splitlines()[0] == "a.yml:5:9: 'columns' lacks the partition's column 'model'"
