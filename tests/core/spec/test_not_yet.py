import json

import pytest

from sparkassets.core.spec import json_schema
from sparkassets.core.spec.not_yet import KEYS, refused_key
from tests.core.spec.in_memory import errors_of

ASSET_KEYS = sorted(path for path in KEYS if not path.startswith("state."))


def nested(path, value):
    """YAML with a value at a dotted path; ``*`` is the inlet `flights`."""
    for key in reversed(path.replace("*", "flights").split(".")):
        value = {key: value}
    return json.dumps({"asset": "a", **value})


@pytest.mark.parametrize("path", ASSET_KEYS)
def test_a_key_is_refused_by_name(path):
    assert errors_of(nested(path, {"x": 1})).partition("\n")[0].endswith(f": {refused_key(path)}")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("state.catalog", "the key 'catalog' of 'state' is not supported yet"),
        ("table", None),
        ("inlets.*.read.overlap", None),
        ("asset", None),
    ],
)
def test_words_for_keys(path, message):
    assert refused_key(path) == message


def test_the_schema_has_none_of_them():
    definitions = json_schema()["$defs"]
    maps = {
        "": "AssetFile",
        "inlets.*": "InletMap",
        "inlets.*.read": "ReadMap",
        "write": "WriteMap",
        "outlets.*": "OutletMap",
        "schedule": "ScheduleMap",
        "partition": "PartitionMap",
        "strategy": "StrategyMap",
    }
    for path in ASSET_KEYS:
        parent, _, key = path.rpartition(".")
        assert key not in definitions[maps[parent]]["properties"]
