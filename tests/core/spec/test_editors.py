import json
from functools import cache

import pytest

from sparkassets.core.spec.asset_models import AssetFile
from sparkassets.core.spec.file_schema import json_schema
from sparkassets.core.spec.file_schema import json_schema as schema_of
from sparkassets.core.spec.project_models import ProjectFile
from sparkassets.core.spec.value_kinds import written_keys


def test_it_names_its_dialect_and_tells_the_files_apart():
    schema = json_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["if"] == {"required": ["project"]}
    assert schema["then"] == {"$ref": "#/$defs/ProjectFile"}
    assert schema["else"] == {
        "if": {"required": ["test"]},
        "then": {"$ref": "#/$defs/CaseFile"},
        "else": {"$ref": "#/$defs/AssetFile"},
    }


def test_it_is_made_from_the_models():
    definitions = json_schema()["$defs"]
    assert list(definitions["AssetFile"]["properties"]) == list(written_keys(AssetFile))
    assert list(definitions["ProjectFile"]["properties"]) == list(ProjectFile.model_fields)


def test_every_reference_leads_somewhere():
    for schema in (json_schema(), schema_of("asset"), schema_of("project")):
        text = json.dumps(schema)
        names = {part.partition('"')[0] for part in text.split("#/$defs/")[1:]}
        assert names == set(schema["$defs"])
        assert "x-definition" not in text


def test_nothing_of_pydantic_shows():
    assert '"title": "Asset' not in json.dumps(json_schema())
    assert '"default": null' not in json.dumps(json_schema())


def test_the_same_at_every_call():
    assert json.dumps(json_schema()) == json.dumps(json_schema())


@cache
def validator():
    validators = pytest.importorskip("jsonschema", reason="a validator of JSON Schema is not installed")
    validators.Draft202012Validator.check_schema(json_schema())
    return validators.Draft202012Validator(json_schema())


def errors_in(document):
    return [error.message for error in validator().iter_errors(document)]


@pytest.mark.parametrize(
    "document",
    [
        {"project": "nyc_flights"},
        {"project": "p", "assets": ["."], "spark": {"a": 8}, "defaults": {"retries": 1, "lease": "10m"}},
        {"asset": "daily_delays", "partition": {"by": "day", "column": "day"}},
        {"asset": "a", "partition": {"segments": ["de", "nl"], "column": "region"}, "strategy": "segments"},
        {"asset": "a", "partition": [{"by": "day", "column": "day"}, {"segments": ["de"], "column": "region"}]},
        {"asset": "a", "strategy": {"segments": {"max_partitions_per_run": 10}}},
        {"asset": "a", "source": True},
        {"asset": "a", "source": "csv", "path": "x/{day}.csv", "options": {"header": True}, "settle": "15m"},
        {"asset": "a", "inlets": ["b", "c"], "schedule": "manual"},
        {"asset": "a", "inlets": {"b": None, "c": {"window": ["-6d", "0d"], "require": {"at_least": 20}}}},
        {"asset": "a", "inlets": {"b": {"window": "7d", "require": "any", "read": {"after": "id"}}}, "write": "append"},
        {"asset": "a", "inlets": {"b": {"partitions": "latest"}, "c": {"partitions": {"emea": ["de", "nl"]}}}},
        {"asset": "a", "inlets": {"b": {"partitions": {"from": "event_day"}, "window": "2d"}}},
        {"asset": "a", "inlets": {"b": {"partitions": {"day": "all", "region": {"land": {"emea": ["de"]}}}}}},
        {"asset": "a", "schedule": {"cron": "0 6 * * *", "timezone": "Europe/Berlin", "start": "2025-01-01"}},
        {"asset": "a", "schedule": {"cron": ["0 6 * * *", "@daily"], "interval": "1d", "delay": "2h", "window": "7d"}},
        {"asset": "a", "schedule": {"at": ["2025-01-01", "2025-02-01T06:00"], "catchup": "rollup"}},
        {"asset": "a", "schedule": {"every": "1mo", "end": "2026-01-01"}},
        {"asset": "a", "schedule": {"times": [{"hours": 9, "weekdays": ["MON", 2], "not": [{"days": "L"}]}]}},
        {"asset": "a", "schedule": {"any": ["a & b", ["c", {"all": ["d", {"uri": "x"}]}]]}},
        {"asset": "a", "schedule": ["b", "c"], "strategy": {"date_range": {"lookback": "2d"}}},
        {"asset": "a", "table": "main.raw.a"},
        {"asset": "a", "partition": "@daily", "strategy": "full_refresh", "columns": {"x": "int"}, "paused": False},
    ],
)
def test_editors_take_what_is_right(document):
    assert errors_in(document) == []


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"asset": "a-b"},
        {"asset": "a", "shedule": "manual"},
        {"asset": "a", "strategy": "segment"},
        {"asset": "a", "strategy": {"segments": {"lookback": "1d"}}},
        {"asset": "a", "partition": []},
        {"asset": "a", "partition": {"segments": [], "column": "region"}},
        {"asset": "a", "partition": {"segments": ["de", "de"], "column": "region"}},
        {"asset": "a", "partition": {"segments": [1], "column": "region"}},
        {"asset": "a", "partition": [{"by": "day", "segments": ["de"], "column": "region"}]},
        {"asset": "a", "source": False},
        {"asset": "a", "partition": {"column": "day"}},
        {"asset": "a", "inlets": {"b": {"tolerance": "long"}}},
        {"asset": "a", "inlets": {"b": {"partitions": "newest"}}},
        {"asset": "a", "inlets": {"b": {"partitions": {"emea": 1}}}},
        {"asset": "a", "inlets": {"b": {"partitions": {"region": {"emea": "de"}}}}},
        {"asset": "a", "schedule": {"at": "0 6 * * *", "cron": "0 6 * * *"}},
        {"asset": "a", "schedule": {"delay": "2h"}},
        {"asset": "a", "schedule": {"every": "often"}},
        {"asset": "a", "schedule": {"times": {"hours": [24]}}},
        {"asset": "a", "schedule": {"times": [{"weekday": "MON"}]}},
        {"asset": "a", "schedule": {"any": ["a"], "all": ["b"]}},
        {"asset": "a", "timeout": 90},
        {"project": "p", "state": {"catalog": "main"}},
    ],
)
def test_editors_mark_what_is_wrong(document):
    assert errors_in(document)
