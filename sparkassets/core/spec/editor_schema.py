"""The JSON Schema of the files, for editors; generated from the models that check them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, TypeAdapter

from sparkassets.core.spec.case_files import CaseFile
from sparkassets.core.spec.file_models import AssetFile, ProjectFile
from sparkassets.core.spec.value_kinds import with_references

FileKind = Literal["project", "asset", "test"]

_MODELS: dict[FileKind, type[BaseModel]] = {"project": ProjectFile, "asset": AssetFile, "test": CaseFile}
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_CONDITIONS = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/Condition"}}
_TIME_FIELDS: dict[str, tuple[int, int, str | None]] = {
    "hours": (0, 23, None),
    "minutes": (0, 59, None),
    "weekdays": (0, 7, "^(SUN|MON|TUE|WED|THU|FRI|SAT)$"),
    "days": (1, 31, "^L$"),
    "months": (1, 12, "^(JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)$"),
}
_TIMES = {"$ref": "#/$defs/Times"}


def _time_field(low: int, high: int, words: str | None) -> dict[str, Any]:
    """One value of a key of ``times``, or a list of them."""
    number = {"type": "integer", "minimum": low, "maximum": high}
    value = {"anyOf": [number, {"type": "string", "pattern": words}]} if words else number
    return {"anyOf": [value, {"type": "array", "minItems": 1, "items": value}]}


_HAND_WRITTEN = {
    "Times": {
        "description": "A list is any, a map is all; no minutes means minute 0, no hours every hour.",
        "anyOf": [
            {"type": "array", "minItems": 1, "items": _TIMES},
            {
                "type": "object",
                "minProperties": 1,
                "properties": {**{key: _time_field(*each) for key, each in _TIME_FIELDS.items()}, "not": _TIMES},
                "additionalProperties": False,
            },
        ],
    },
    "Condition": {
        "description": "Updates of assets: text such as a & (b | c), a list (all of it), or a map.",
        "oneOf": [{"type": "string"}, _CONDITIONS, {"$ref": "#/$defs/ConditionMap"}],
    },
    "ConditionMap": {
        "oneOf": [
            {"type": "object", "properties": {key: value}, "required": [key], "additionalProperties": False}
            for key, value in {"any": _CONDITIONS, "all": _CONDITIONS, "uri": {"type": "string"}}.items()
        ]
        + [
            {
                "type": "object",
                "properties": {"without": {"type": "string"}, "for": {"type": "string"}},
                "required": ["without", "for"],
                "additionalProperties": False,
            }
        ]
    },
}


def json_schema(kind: FileKind | None = None) -> dict[str, Any]:
    """The schema of one kind of file; without a kind, of all, distinguished by the keys ``project`` and ``test``.

    >>> json_schema("project")["$ref"]
    '#/$defs/ProjectFile'
    """
    _, generated = TypeAdapter.json_schemas(
        [(kind, "validation", TypeAdapter(model)) for kind, model in _MODELS.items()]
    )
    definitions = {**_tidy(with_references(generated["$defs"])), **_HAND_WRITTEN}
    project, asset, test = ({"$ref": f"#/$defs/{model.__name__}"} for model in _MODELS.values())
    rules: dict[FileKind | None, dict[str, Any]] = {
        "project": {"title": "sparkassets: the project file", **project},
        "asset": {"title": "sparkassets: an asset", **asset},
        "test": {"title": "sparkassets: a test", **test},
        None: {
            "title": "sparkassets: project.yml, asset files and tests",
            "if": {"required": ["project"]},
            "then": project,
            "else": {"if": {"required": ["test"]}, "then": test, "else": asset},
        },
    }
    used = sorted(_collect_definitions(rules[kind], definitions))
    return {"$schema": _DIALECT, **rules[kind], "$defs": {name: definitions[name] for name in used}}


def _tidy(schema: Any) -> Any:  # noqa: ANN401 - JSON
    """Without pydantic's titles and without nulls that stand for "not given"."""
    if isinstance(schema, list):
        return [_tidy(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _tidy(each) for name, each in value.items()} if key == "properties" else _tidy(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str)) and not (key == "default" and value is None)
    }


def _collect_definitions(rule: Any, definitions: dict[str, Any]) -> set[str]:  # noqa: ANN401 - JSON
    """The definitions that a rule refers to, directly or not."""
    found: set[str] = set()
    ahead = [rule]
    for each in ahead:
        match each:
            case {"$ref": str(reference)} if (name := reference.rpartition("/")[2]) not in found:
                found.add(name)
                ahead.append(definitions[name])
        ahead += each.values() if isinstance(each, dict) else each if isinstance(each, list) else []
    return found
