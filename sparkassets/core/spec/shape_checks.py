"""Whether a document has the right keys and kinds of values; pydantic's findings in the project's own words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from sparkassets.core.partitions import NAMED_GRAINS
from sparkassets.core.phrases import listing, show_value
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
from sparkassets.core.spec.value_kinds import EXPECTED
from sparkassets.core.spec.yaml_document import DocumentPlace, KeyPath, YamlDocument
from sparkassets.core.suggestions import IN_UPSERTS, IN_YAML, called_here, did_you_mean, find_nearest, suggest_close
from sparkassets.frozen import frozen

M = TypeVar("M", bound=BaseModel)

_Described = type[BaseModel] | Callable[[object], type[BaseModel]]
_RULE_MODELS: Final[Mapping[str, _Described]] = {
    "": rule_maps.rule_map,
    ".row_count": rule_maps.RowCountMap,
    ".range.*": rule_maps.RangeMap,
    ".foreign_key": rule_maps.ForeignKeyMap,
}
"""The models of a rule and of the maps in it."""
_COLUMN_MODELS: Final[Mapping[str, _Described]] = {
    "": asset_models.ColumnMap,
    ".checks": rule_maps.ColumnRuleMap,
    ".checks.range": rule_maps.RangeMap,
}
"""The models of a column and of the maps in it."""
_MODELS_BY_PATH: Final[Mapping[type[BaseModel], Mapping[str, _Described]]] = {
    asset_models.AssetFile: {
        "": asset_models.AssetFile,
        "budget": project_models.BudgetMap,
        "expect": schedule_models.DeadlineMap,
        "notify": project_models.NotifyMap,
        "inlets.*": inlet_models.InletMap,
        "inlets.*.require": inlet_models.RequireMap,
        "inlets.*.read": inlet_models.ReadMap,
        "outlets.*": asset_models.OutletMap,
        "schedule": schedule_models.ScheduleMap,
        "partition": schedule_models.partition_map,
        "strategy": schedule_models.strategy_map,
        "strategy.date_range": schedule_models.DateRangeMap,
        "strategy.segments": schedule_models.SegmentOptionsMap,
        "write": write_models.write_map,
        "write.upsert": write_models.UpsertMap,
        "write.upsert.history": write_models.HistoryMap,
        "write.publish": write_models.PublishMap,
        **{
            f"{owner}columns.*{key}": described
            for owner in ("", "outlets.*.")
            for key, described in _COLUMN_MODELS.items()
        },
        **{
            f"{owner}validations{key}": described
            for owner in ("", "inlets.*.", "outlets.*.")
            for key, described in _RULE_MODELS.items()
        },
    },
    case_files.CaseFile: {
        "": case_files.CaseFile,
        "given.*": case_files.GivenMap,
        "expect": case_files.ExpectMap,
        "steps": case_files.StepMap,
        "steps.events": case_files.EventMap,
    },
    project_models.ProjectFile: {
        "": project_models.ProjectFile,
        "defaults": project_models.DefaultsMap,
        "defaults.folders.*": project_models.FolderDefaultsMap,
        "ci": project_models.CiMap,
        "state": project_models.StateMap,
        "budget": project_models.BudgetMap,
        "notify": project_models.NotifyMap,
        "sinks": project_models.SinkMap,
        "profiles.*": project_models.ProfileMap,
        "profiles.*.sinks": project_models.SinkMap,
        "profiles.*.secrets.*": project_models.SecretMap,
        "secrets.*": project_models.SecretMap,
        "storage.*": project_models.StoreMap,
        "profiles.*.storage.*": project_models.StoreMap,
        "profiles.*.state": project_models.StateMap,
    },
}
"""The model of the map at each path, or the function that chooses it by the map's keys."""

_EXPECTED_WORDS: Final = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "dict_type": "a map",
    "model_type": "a map",
    "list_type": "a list",
}
_UNION_BRANCH: Final = re.compile("<[a-z]+>")
"""The branch of a union, which pydantic puts among the keys."""
_WRITE_SPELLINGS: Final = {
    "upsert": "{upsert: {keys: [<column>]}}",
    "merge": "{upsert: {keys: [<column>]}}",
    "publish": "{publish: {keep: 10}}",
    "overwrite": "replace",
}
"""The intended spelling of words that are no write mode."""
_BY_TIME_HINT: Final = (
    "leave `strategy` out: a time partition defaults to date_range, which computes missing and stale partitions"
)
_LANDING_HINT: Final = "use `write` to say how rows are written, such as {upsert: {keys: [<column>]}}"
_STRATEGY_HINTS: Final = {
    "incremental": _BY_TIME_HINT
    + "; latest_only takes the new rows of an inlet with `read: changes` or `read: {after: …}`",
    **dict.fromkeys(("incremental_by_time_range", "microbatch", "insert_overwrite"), _BY_TIME_HINT),
    **dict.fromkeys(
        ("merge", "upsert", "append", "replace", "incremental_by_unique_key", "delete+insert"), _LANDING_HINT
    ),
    **dict.fromkeys(("full", "table", "overwrite"), "write full_refresh to recompute everything"),
}
"""What to write instead of strategies of other tools."""
_CHOICES: Final = {"partition.by": NAMED_GRAINS, "partition.segments": ("runtime",)}
"""Words of values that may be something else, too."""
_EXPECTED_VALUES: Final = {
    "inlets.*.read": "changes or {after: column}",
    "write": "replace, append, self or a map such as {upsert: {keys: [id]}}",
    "partition": "none, auto, a preset such as @daily, or a map such as {by: day, column: day}",
}
"""Values to suggest where a word is not one of the allowed ones."""
_NAMES_ELSEWHERE: Final[Mapping[type[BaseModel], Mapping[str, str]]] = {
    asset_models.AssetFile: IN_YAML,
    write_models.UpsertMap: IN_UPSERTS,
}
"""What keys of other frameworks are called here, by the map that has them."""
_NOT_BOOLEAN: Final = frozenset({"yes", "no", "on", "off", "y", "n"})


def check_shape(model: type[M], document: YamlDocument, *, stand_in: Mapping[str, object]) -> M:
    """The document as a model; each mistake becomes a problem, and is left out of the model.

    Args:
        model: The pydantic model of this kind of file.
        document: The document, with its data read.
        stand_in: Values for the required keys, so that there is a model even where these are missing.
    """
    unread = frozenset(document.failed)
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        findings = list(_iterate_findings(error, model, document.data))
    for finding in findings:
        if not (finding.lacks and finding.unreliable in unread):  # what was refused is what it lacks
            finding.report(document)
    return _salvage(model, document.data, findings, stand_in)


def _salvage(
    model: type[M], all_data: dict[str, Any], findings: list[_ShapeFinding], stand_in: Mapping[str, object]
) -> M:
    """The model of the data without the value of every finding; repeats until what is left is valid.

    Removing a value can leave its map without a required key: then that map is removed, too.
    """
    data = deepcopy(all_data)
    for finding in findings:
        _remove(data, finding.path)
    data = {**stand_in, **data}
    try:
        return model.model_validate(data)
    except ValidationError as error:
        return _salvage(model, data, list(_iterate_findings(error, model, data)), stand_in)


@frozen
class _ShapeFinding:
    """One mistake at a path of the data.

    Attributes:
        at_key: Whether the key is wrong; otherwise its value is.
        unreliable: Another top-level key that is missing, or that the wrong one probably means: later checks skip it.
        lacks: Whether a key is missing.
    """

    path: KeyPath
    message: str
    hint: str | None = None
    at_key: bool = False
    unreliable: str | None = None
    lacks: bool = False

    def report(self, document: YamlDocument) -> None:
        """Adds the problem to the document."""
        at = DocumentPlace(document, self.path)
        (at.add_key_problem if self.at_key else at.add_problem)(self.message, hint=self.hint)
        if self.unreliable:
            document.failed.add(self.unreliable)


def _iterate_findings(error: ValidationError, model: type[BaseModel], data: dict[str, Any]) -> Iterator[_ShapeFinding]:
    """One finding for each path that pydantic reports, in its order.

    pydantic puts the chosen branch of a union into the path; such steps are removed, because the file has no such key.
    """
    reported: set[KeyPath] = set()
    for each in error.errors(include_url=False):
        path = tuple(step for step in each["loc"] if not (isinstance(step, str) and _UNION_BRANCH.fullmatch(step)))
        path = path or each["loc"]  # a key that looks like a tag
        if path in reported:
            continue
        reported.add(path)
        match each["type"]:
            case "extra_forbidden":
                yield _find_unknown_key(path, model, data)
            case "missing":
                yield from _find_missing_key(path, model, data)
            case kind:
                yield _find_bad_value(path, kind, each["msg"], each.get("ctx", {}), data)


def _find_unknown_key(path: KeyPath, model: type[BaseModel], data: dict[str, Any]) -> _ShapeFinding:
    """The finding for a key that the map does not have, with the likeliest explanation as its hint.

    In order: a key of the other kind of partition, a key that lost its indentation, a misspelling. For a misspelt
    top-level key, the key that was probably meant counts as unreliable, so that no later check builds on its absence.
    """
    key = str(path[-1])
    model_of_map = _find_describing_model(path[:-1], model, data)
    if model_of_map is schedule_models.SegmentsMap and key in value_kinds.written_keys(schedule_models.PartitionMap):
        product = "write several dimensions as a list: [{by: day, column: day}, {segments: […], column: <column>}]"
        return _ShapeFinding(
            path, f"{key!r} is allowed only in a partition by time, not beside 'segments'", product, at_key=True
        )
    known_keys = value_kinds.written_keys(model_of_map)
    if owner := _find_outdented_owner(path, model, data):
        message = f"unknown key {key!r} in {_describe_owner(path, model, data)}"
        return _ShapeFinding(path, message, f"indent it: it belongs to {owner!r}", at_key=True, unreliable=owner)
    hint = "replace and append have no options: write `write: <name>`" if _is_plain_write(path) else None
    hint = hint or called_here(key, _NAMES_ELSEWHERE.get(model_of_map, {})) or did_you_mean(key, known_keys)
    nearest = find_nearest(key, known_keys) if len(path) == 1 else None
    return _ShapeFinding(
        path, f"unknown key {key!r} in {_describe_owner(path, model, data)}", hint, at_key=True, unreliable=nearest
    )


def _find_outdented_owner(path: KeyPath, model: type[BaseModel], data: dict[str, Any]) -> str | None:
    """The empty key above an unknown one whose map has that key: the unknown one lacks its indentation; else None."""
    if len(path) != 1 or path[0] not in data:
        return None
    keys_above = list(data)[: list(data).index(path[0])]
    empty_keys = [key for key in reversed(keys_above) if data[key] is None and key in _MODELS_BY_PATH[model]]
    return next((key for key in empty_keys if path[0] in _keys_below(key, model, data)), None)


def _keys_below(key: str, model: type[BaseModel], data: dict[str, Any]) -> set[str]:
    """The keys that a map at this top-level key of the document may have."""
    if key == "partition":
        return {
            *value_kinds.written_keys(schedule_models.PartitionMap),
            *value_kinds.written_keys(schedule_models.SegmentsMap),
        }
    return set(value_kinds.written_keys(_find_describing_model((key,), model, data)))


def _is_plain_write(path: KeyPath) -> bool:
    return path in {("write", "replace"), ("write", "append")}


def _find_describing_model(path: KeyPath, model: type[BaseModel], data: dict[str, Any]) -> type[BaseModel]:
    """The model that describes the map at a path, chosen by the map's own keys where there are several."""
    described = _MODELS_BY_PATH[model][_generalize_path(path)]
    return described if isinstance(described, type) else described(_value_at(data, path))


def _find_missing_key(path: KeyPath, model: type[BaseModel], data: dict[str, Any]) -> Iterator[_ShapeFinding]:
    """The finding for a missing key; none if a key beside it that is reported itself stands for it.

    That one is misspelt, or called as elsewhere.
    """
    siblings, model_of_map = _value_at(data, path[:-1]), _find_describing_model(path[:-1], model, data)
    known_keys, names = value_kinds.written_keys(model_of_map), _NAMES_ELSEWHERE.get(model_of_map, {})
    for key in siblings if isinstance(siblings, dict) else ():
        if key not in known_keys and (names.get(key) == path[-1] or find_nearest(key, [str(path[-1])])):
            return
    message = f"missing key {path[-1]!r} in {_describe_owner(path, model, data)}"
    yield _ShapeFinding(path[:-1], message, unreliable=str(path[0]), lacks=True)


def _find_bad_value(
    path: KeyPath, kind: str, words: str, context: Mapping[str, Any], data: dict[str, Any]
) -> _ShapeFinding:
    """The finding for a value of the wrong kind, in the words of this project.

    ``kind`` and ``words`` are pydantic's error type and message; known types have words and hints of their own here.
    """
    value = _value_at(data, path)
    general_path = _generalize_path(path)
    hint = None
    if kind == "literal_error":
        # pydantic lists the choices as Python writes them: texts in quotes, and True
        choices = [choice or "true" for choice in re.findall(r"'([^']*)'|True", context["expected"])]
        words = listing(choices)
        hint = suggest_close(value, choices) if isinstance(value, str) else None
        words = _EXPECTED_VALUES.get(general_path, words)
    elif kind != EXPECTED:
        words = _EXPECTED_WORDS.get(kind, words)
    hint = _find_hint(path, kind, words, value) or hint
    return _ShapeFinding(path, f"{_describe_subject(path)} is {show_value(value)}; expected {words}", hint)


def _find_hint(path: KeyPath, kind: str, words: str, value: object) -> str | None:
    """A hint for a value of the wrong kind; None where there is none."""
    if isinstance(value, str):
        return _find_text_hint(path, kind, value)
    if isinstance(value, int | float) and words.startswith(("text", "a Spark")):
        return "put it in quotes"
    if value is None and _generalize_path(path[:-1]) == "partition.segments":
        return "NULL cannot be a segment"
    if path == ("strategy",) and isinstance(value, dict):
        strategy = next((key for key in value if key in schedule_models.WITHOUT_OPTIONS), None)
        return f"{strategy} has no options: write strategy: {strategy}" if strategy else None
    return None


def _find_text_hint(path: KeyPath, kind: str, value: str) -> str | None:
    """A hint for a text in the place of another value: what the author probably meant; None where there is none."""
    if kind == "bool_type" and value.lower() in _NOT_BOOLEAN:
        return "YAML 1.2 has only the booleans true and false"
    if path == ("partition",) and value in NAMED_GRAINS:
        return f"write partition: {{by: {value}, column: <column>}}"
    if path == ("write",) and value in _WRITE_SPELLINGS:
        return f"write {_WRITE_SPELLINGS[value]}"
    if path == ("strategy",):
        return _STRATEGY_HINTS.get(value.casefold())
    choices = _CHOICES.get(_generalize_path(path))
    return suggest_close(value, choices) if choices is not None else None


def _generalize_path(path: KeyPath) -> str:
    """The path as the tables above write it: names of assets become ``*``, and indices of lists are left out.

    >>> _generalize_path(("inlets", "flights", "read", "after")), _generalize_path(("partition", 1, "by"))
    ('inlets.*.read.after', 'partition.by')
    >>> _generalize_path(("outlets", "a", "validations", 3, "range", "amount", "min"))
    'outlets.*.validations.range.*.min'
    """
    owner: tuple[str, ...] = ()
    match path:
        case (("inlets" | "outlets" | "given" | "profiles") as owners, _, *rest):
            owner, path = (owners, "*"), tuple(rest)
    match path:
        case (("partition" | "validations" | "notify" | "sinks") as several, int(), *rest):
            path = (several, *rest)
        case ("steps", int(), "events", int(), *rest):
            path = ("steps", "events", *rest)
        case ("steps", int(), *rest):
            path = ("steps", *rest)
    match path:
        case ("validations", "range", _, *rest):
            path = ("validations", "range", "*", *rest)
        case ("columns", _, "checks", int(), *rest):
            path = ("columns", "*", "checks", *rest)
        case (("columns" | "secrets" | "storage") as named, _, *rest):
            path = (named, "*", *rest)
    return ".".join(map(str, (*owner, *path)))


def _describe_subject(path: KeyPath) -> str:
    """The value at a path as messages call it, such as ``item 2 of 'columns'`` or ``'read' of inlet 'orders'``."""
    *before, last = path
    if isinstance(last, int):
        return f"item {last + 1} of {_describe_subject(tuple(before))}"
    match before:
        case []:
            return repr(last)
        case ["inlets"]:
            return f"inlet {last!r}"
        case ["inlets", inlet]:
            return f"{last!r} of inlet {inlet!r}"
        case ["outlets"]:
            return f"outlet {last!r}"
        case ["outlets", outlet]:
            return f"{last!r} of outlet {outlet!r}"
        case [*_, int()]:
            return f"{last!r} in {_describe_subject(tuple(before))}"
    return f"{last!r} in {before[-1]!r}"


def _describe_owner(path: KeyPath, model: type[BaseModel], data: dict[str, Any]) -> str:
    """The map that holds the path's last key, as messages call it, such as ``asset 'orders'`` or ``inlet 'a'``."""
    match path[:-1]:
        case ():
            name = data.get("asset")
            if model is project_models.ProjectFile:
                return "the project file"
            if model is case_files.CaseFile:
                return f"test {data['test']!r}" if isinstance(data.get("test"), str) else "this test"
            return f"asset {name!r}" if isinstance(name, str) else "this asset"
        case ("inlets", inlet):
            return f"inlet {inlet!r}"
        case ("outlets", outlet):
            return f"outlet {outlet!r}"
        case (*_, int()) as item:
            return _describe_subject(item)
        case (*_, parent):
            return repr(parent)
    raise AssertionError(path)


def _value_at(data: object, path: KeyPath) -> object:
    """The value at the path, as far as the data goes: a step that is missing in a list is skipped."""
    for step in path:
        if isinstance(data, dict):
            data = data.get(step)
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            data = data[step]
    return data


def _remove(data: dict[str, Any], path: KeyPath) -> None:
    """Removes the last key of the path that exists, so for an item of a list the whole list."""
    while path:
        parent = _value_at(data, path[:-1])
        if isinstance(parent, dict) and path[-1] in parent:
            del parent[path[-1]]
            return
        path = path[:-1]
