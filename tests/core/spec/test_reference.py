"""The reference of every key, made from the models."""

import re

import pytest
from pydantic import BaseModel

from sparkassets.core.spec import asset_models, inlet_models, project_models, schedule_models
from sparkassets.core.spec.file_schema import render_markdown
from sparkassets.core.spec.value_kinds import written_keys

MODELS = {
    each: None
    for module in (asset_models, inlet_models, project_models, schedule_models)
    for each in vars(module).values()
    if isinstance(each, type) and issubclass(each, BaseModel)
}
KEYS = [(model, name) for model in MODELS for name in written_keys(model)]


@pytest.mark.parametrize(("model", "name"), KEYS, ids=lambda each: getattr(each, "__name__", each))
def test_every_key_is_described_and_in_a_table(model, name):
    assert written_keys(model)[name].description
    assert f"\n| `{name}` | " in render_markdown()


def test_values_are_told_as_messages_tell_them():
    rows = render_markdown().splitlines()
    assert (
        "| `on_update` | `rerun`, `ignore` |  | Whether" in next(row for row in rows if row.startswith("| `on_up"))[:99]
    )
    assert "| `paused` | `true` or `false` | `false` | Stop runs; events are still recorded. |" in rows
    assert "| `at_least` | a whole number of at least 1 | must be given | Least number of partitions. |" in rows
    assert "| `after` | text | must be given | Column whose highest value read so far is the watermark. |" in rows
    assert any(row.startswith("| `window` | a duration such as 7d, or two of them such as [-6d, 0d] |") for row in rows)


def test_no_cell_is_broken_and_no_placeholder_is_a_tag():
    assert {row.replace("\\|", "").count("|") for row in render_markdown().splitlines() if row.startswith("|")} == {5}
    assert re.findall(r"<\w*", re.sub("`[^`]*`", "", render_markdown())) == []
