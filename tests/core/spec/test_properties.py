"""Properties of Delta's that assets give their tables."""

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
            "a.yml:2:14: 'owner' is no property of Delta's: their names begin with 'delta.'",
            "facts of your own belong to 'extra'",
        ),
        (
            HEAD + "properties: {delta.appendOnly: [1]}\n",
            "a.yml:2:32: 'delta.appendOnly' in 'properties' is a list; expected text, a number, true or false",
            "",
        ),
        (
            HEAD + "source: delta\npath: x\nproperties: {delta.appendOnly: true}\n",
            "a.yml:4:1: 'properties' has no meaning for a source: others write it, so nothing runs",
            "",
        ),
        (
            HEAD + "properties: {delta.appendOnly: true}\noutlets: {b: {}, c: {}}\n",
            "a.yml:2:1: 'properties' has no meaning beside 'outlets': each outlet has its own",
            "write it below the outlet that is meant",
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
