"""The keys of a project's files for others: a JSON schema for editors, and their reference in Markdown."""

from __future__ import annotations

import re
from inspect import isclass
from types import NoneType
from typing import Any, Final, Literal, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, Discriminator, TypeAdapter
from pydantic.fields import FieldInfo

from sparkassets.core.spec import (
    asset_models,
    case_files,
    inlet_models,
    project_models,
    rule_maps,
    schedule_models,
    value_kinds,
    write_models,
)
from sparkassets.core.spec.asset_models import AssetFile
from sparkassets.core.spec.case_files import CaseFile
from sparkassets.core.spec.project_models import ProjectFile
from sparkassets.core.spec.value_kinds import KindCheck, ValueDescription, with_references

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
    definitions = {**_drop_pydantic_extras(with_references(generated["$defs"])), **_HAND_WRITTEN}
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


def _drop_pydantic_extras(schema: Any) -> Any:  # noqa: ANN401 - JSON
    """Without pydantic's titles and without nulls that stand for "not given"."""
    if isinstance(schema, list):
        return [_drop_pydantic_extras(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _drop_pydantic_extras(each) for name, each in value.items()}
        if key == "properties"
        else _drop_pydantic_extras(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str)) and not (key == "default" and value is None)
    }


def _collect_definitions(rule: Any, definitions: dict[str, Any]) -> set[str]:  # noqa: ANN401 - JSON
    """The definitions that a rule refers to, directly or not."""
    names: set[str] = set()
    queue = [rule]
    for each in queue:
        match each:
            case {"$ref": str(reference)} if (name := reference.rpartition("/")[2]) not in names:
                names.add(name)
                queue.append(definitions[name])
        queue += each.values() if isinstance(each, dict) else each if isinstance(each, list) else []
    return names


_SECTIONS: Final[dict[str, type[BaseModel]]] = {
    "project.yml": project_models.ProjectFile,
    "`defaults` of the project": project_models.DefaultsMap,
    "A folder of `defaults`: `defaults: {folders: {name: {…}}}`": project_models.FolderDefaultsMap,
    "`profiles` of the project: `profiles: {name: {…}}`": project_models.ProfileMap,
    "`secrets` of the project and of a profile: `secrets: {NAME: {…}}`": project_models.SecretMap,
    "`storage` of the project and of a profile: `storage: {s3://bucket: {…}}`": project_models.StoreMap,
    "`state` as a map": project_models.StateMap,
    "An asset": asset_models.AssetFile,
    "`budget` of the project and of an asset": project_models.BudgetMap,
    "`ci` of the project": project_models.CiMap,
    "`openlineage` of the project": project_models.OpenLineageMap,
    "`expect` of an asset": schedule_models.DeadlineMap,
    "`notify` of the project and of an asset": project_models.NotifyMap,
    "One of the `sinks` of the project and of a profile": project_models.SinkMap,
    "An inlet: `inlets: {name: {…}}`": inlet_models.InletMap,
    "`require` of an inlet": inlet_models.RequireMap,
    "`read` of an inlet": inlet_models.ReadMap,
    "`schedule` as a map": schedule_models.ScheduleMap,
    "`schedule` by a timetable of an installed package": schedule_models.RegisteredMap,
    "`partition` by time": schedule_models.PartitionMap,
    "`partition` by segments": schedule_models.SegmentsMap,
    "`strategy` as a map": schedule_models.StrategyMap,
    "`date_range` of a strategy": schedule_models.DateRangeMap,
    "`strategy` of segments alone as a map": schedule_models.SegmentStrategyMap,
    "`segments` of a strategy": schedule_models.SegmentOptionsMap,
    "`write` as a map": write_models.WriteMap,
    "`write` by a mode of an installed package": write_models.RegisteredWriteMap,
    "`upsert` of a write": write_models.UpsertMap,
    "`publish` of a write": write_models.PublishMap,
    "`history` of an upsert": write_models.HistoryMap,
    "A column: `columns: {name: {…}}`": asset_models.ColumnMap,
    "One of the `checks` of a column": rule_maps.ColumnRuleMap,
    "One of the `validations` of an asset, an inlet or an outlet": rule_maps.RuleMap,
    "`row_count` of a validation": rule_maps.RowCountMap,
    "`range` of a validation": rule_maps.RangeMap,
    "`foreign_key` of a validation": rule_maps.ForeignKeyMap,
    "A validation by a check of an installed package": rule_maps.RegisteredRuleMap,
    "A test": case_files.CaseFile,
    "`given` of a test: `given: {inlet: {…}}`": case_files.GivenMap,
    "`expect` of a test as a map": case_files.ExpectMap,
    "`steps` of a test": case_files.StepMap,
    "`events` of a step": case_files.EventMap,
}
_HEAD: Final = """\
# Every key

Generated by `sparkassets schema --markdown` from the models that check the files; `sparkassets schema` prints the same
as a JSON Schema for editors. A key that is not here is refused, with the place and what was probably meant.

Durations are a number with a unit: `s m h` are elapsed time, `d w mo y` calendar time. `${NAME}` is a variable of the
environment, `${NAME:-default}` one that may be missing, `$${` a plain `${`. Only `true` and `false` are booleans.
"""
_SPECIAL: Final = re.compile(r"(?P<code>`[^`|]*`)|[|<]")
"""Code in a cell, and what outside of code would end the cell or begin a tag."""
_ESCAPES: Final = {"|": "\\|", "<": "&lt;"}

_TYPES: Final = {bool: "`true` or `false`", str: "text", int: "a whole number"}


def render_markdown() -> str:
    """The reference, a table of keys for each kind of map."""
    parts = [_HEAD, *(_render_section(title, model) for title, model in _SECTIONS.items())]
    return "\n".join(parts)


def _render_section(title: str, model: type[BaseModel]) -> str:
    rows = [_render_row(name, key) for name, key in value_kinds.written_keys(model).items()]
    return "\n".join([f"## {title}", "", "| key | value | default | is |", "|---|---|---|---|", *rows, ""])


def _render_row(name: str, key: FieldInfo) -> str:
    value = _find_description(key.metadata) or _describe_type(key.annotation)
    cells = [f"`{name}`", value, _describe_default(key), key.description or ""]
    escaped = (_SPECIAL.sub(lambda found: found["code"] or _ESCAPES[found[0]], cell) for cell in cells)
    return f"| {' | '.join(escaped)} |"


def _describe_default(key: FieldInfo) -> str:
    """A default as Markdown; empty for one that says nothing, such as none or an empty list."""
    if key.is_required():
        return "must be given"
    match key.default:
        case None | "" | [] | {} | BaseModel():
            return ""
        case bool():
            return f"`{str(key.default).lower()}`"
        case list():
            return f"`[{', '.join(key.default)}]`"
    return f"`{key.default}`"


def _find_description(metadata: Any) -> str | None:  # noqa: ANN401  whatever stands in an Annotated
    """The expected value as error messages word it, if they do."""
    for each in reversed(metadata):
        match each:
            case ValueDescription(words=words) | Discriminator(custom_error_message=str(words)):
                return words
            case BeforeValidator(func=KindCheck(words=words)):
                return words
            case FieldInfo() if description := _find_description(each.metadata):
                return description
    return None


def _describe_type(annotation: Any) -> str:  # noqa: ANN401  any type
    """A type in words for the editor: the field's own description, its choices, or such as ``a map of text``."""
    if metadata := getattr(annotation, "__metadata__", None):
        return _find_description(metadata) or _describe_type(annotation.__origin__)
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return ", ".join(f"`{str(each).lower() if isinstance(each, bool) else each}`" for each in inner)
    if origin is None:
        return _TYPES.get(annotation, "a map" if isclass(annotation) and issubclass(annotation, BaseModel) else "text")
    members = [each for each in inner if each is not NoneType]
    if origin is dict:
        value = _describe_type(inner[1])
        return "a map" if inner[1] is Any else f"a map of {value}"
    return _describe_type(members[0])
