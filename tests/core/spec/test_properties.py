"""Properties of Delta's and folders that assets give their tables."""

import pytest

from tests.core.spec.in_memory import compiled, errors_of, one

HEAD = "asset: a\n"


def test_they_are_text():
    text = (
        "properties: {delta.logRetentionDuration: interval 7 days, delta.appendOnly: true, delta.checkpointInterval: 9}"
    )
    assert one(HEAD + text).properties == {
        "delta.logRetentionDuration": "interval 7 days",
        "delta.appendOnly": "true",
        "delta.checkpointInterval": "9",
    }


@pytest.mark.parametrize(
    ("text", "error", "hint"),
    [
        (
            HEAD + "properties: {owner: me}\n",
            "a.yml:2:14: 'owner' is not a Delta table property: their names begin with 'delta.'",
            "put your own metadata under 'extra'",
        ),
        (
            HEAD + "properties: {delta.appendOnly: [1]}\n",
            "a.yml:2:32: 'delta.appendOnly' in 'properties' is a list; expected text, a number, true or false",
            "",
        ),
        (
            HEAD + "source: delta\npath: x\nproperties: {delta.appendOnly: true}\n",
            "a.yml:4:1: 'properties' is not allowed for a source: others write it, so nothing runs",
            "",
        ),
        (
            HEAD + "properties: {delta.appendOnly: true}\noutlets: {b: {}, c: {}}\n",
            "a.yml:2:1: 'properties' is not allowed beside 'outlets': each outlet has its own",
            "move it below an outlet",
        ),
    ],
)
def test_what_is_wrong_with_them_is_said(text, error, hint):
    told = errors_of(text)
    assert told.startswith(error)
    assert hint in told


def test_an_outlet_has_its_own():
    text = "asset: s\noutlets: {b: {properties: {delta.appendOnly: true}}, c: {}}\n"
    project = compiled({"s.yml": text, "b.sql": "SELECT 1 AS n", "c.sql": "SELECT 2 AS n"})
    assert [project.assets[name].properties for name in "sbc"] == [{}, {"delta.appendOnly": "true"}, {}]


@pytest.mark.parametrize(
    ("text", "names"),
    [("", None), ("partitioned_by: []\n", ()), ("partitioned_by: [day, Region]\n", ("day", "Region"))],
)
def test_folders_are_named_by_columns_or_left_to_the_run(text, names):
    assert one(HEAD + text).partitioned_by == names


@pytest.mark.parametrize(
    ("text", "error", "hint"),
    [
        ("partitioned_by: day\n", "a.yml:2:17: 'partitioned_by' is 'day'; expected a list of columns", ""),
        ("partitioned_by: [day, Day]\n", "a.yml:2:23: 'Day' is listed twice in 'partitioned_by'", ""),
        (
            "columns: {n: int, day: date}\npartitioned_by: [dya]\n",
            "a.yml:3:18: 'dya' in 'partitioned_by' is not a column of 'a'",
            "did you mean 'day'?",
        ),
        (
            "columns: {n: int}\npartitioned_by: [n]\n",
            "a.yml:3:17: 'partitioned_by' names every column, but the files need at least one",
            "leave one out",
        ),
        (
            "source: delta\npath: x\npartitioned_by: [day]\n",
            "a.yml:4:1: 'partitioned_by' is not allowed for a source: others write it, so nothing runs",
            "",
        ),
        (
            "write: self\npath: x\npython: jobs.a:b\npartitioned_by: [day]\n",
            "a.yml:5:1: 'partitioned_by' is not allowed with 'write: self': the asset's own code writes its target",
            "",
        ),
        (
            "partitioned_by: [day]\noutlets: {b: {}, c: {}}\n",
            "a.yml:2:1: 'partitioned_by' is not allowed beside 'outlets': each outlet has its own",
            "move it below an outlet",
        ),
    ],
)
def test_what_is_wrong_with_folders_is_said(text, error, hint):
    told = errors_of(HEAD + text)
    assert error in told
    assert hint in told


def test_an_outlet_has_its_own_folders():
    text = "asset: s\noutlets: {b: {partitioned_by: [n]}, c: {}}\n"
    project = compiled({"s.yml": text, "b.sql": "SELECT 1 AS n, 2 AS m", "c.sql": "SELECT 2 AS n"})
    assert [project.assets[name].partitioned_by for name in "sbc"] == [None, ("n",), None]
