"""Whether a document has the right keys and kinds of values; pydantic's findings in the project's own words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from sparkassets.core.foreign_names import IN_YAML, called_here
from sparkassets.core.partitions import FIXED
from sparkassets.core.phrases import listing, shown
from sparkassets.core.spec import case_files, files, rule_maps
from sparkassets.core.spec.document import At, Document, Path
from sparkassets.core.spec.kinds import EXPECTED
from sparkassets.core.suggestions import did_you_mean, meant_by, nearest
from sparkassets.frozen import frozen

M = TypeVar("M", bound=BaseModel)

_Described = type[BaseModel] | Callable[[object], type[BaseModel]]
_RULES: Final[Mapping[str, _Described]] = {
    "": rule_maps.rule_map,
    ".row_count": rule_maps.RowCountMap,
    ".range.*": rule_maps.RangeMap,
    ".foreign_key": rule_maps.ForeignKeyMap,
}
"""What describes a rule, and the maps in it."""
_MAPS: Final[Mapping[type[BaseModel], Mapping[str, _Described]]] = {
    files.AssetFile: {
        "": files.AssetFile,
        "budget": files.BudgetMap,
        "expect": files.DeadlineMap,
        "notify": files.NotifyMap,
        "inlets.*": files.InletMap,
        "inlets.*.require": files.RequireMap,
        "inlets.*.read": files.ReadMap,
        "outlets.*": files.OutletMap,
        "schedule": files.ScheduleMap,
        "partition": files.partition_map,
        "strategy": files.strategy_map,
        "strategy.date_range": files.DateRangeMap,
        "strategy.segments": files.SegmentOptionsMap,
        "write": files.WriteMap,
        "write.upsert": files.UpsertMap,
        "write.upsert.history": files.HistoryMap,
        "write.publish": files.PublishMap,
        "columns.*": files.ColumnMap,
        "outlets.*.columns.*": files.ColumnMap,
        **{
            f"{owner}validations{key}": described
            for owner in ("", "inlets.*.", "outlets.*.")
            for key, described in _RULES.items()
        },
    },
    case_files.CaseFile: {
        "": case_files.CaseFile,
        "given.*": case_files.GivenMap,
        "expect": case_files.ExpectMap,
        "steps": case_files.StepMap,
        "steps.events": case_files.EventMap,
    },
    files.ProjectFile: {
        "": files.ProjectFile,
        "defaults": files.DefaultsMap,
        "state": files.StateMap,
        "budget": files.BudgetMap,
        "notify": files.NotifyMap,
        "profiles.*": files.ProfileMap,
        "profiles.*.secrets.*": files.SecretMap,
        "secrets.*": files.SecretMap,
        "storage.*": files.StoreMap,
        "profiles.*.storage.*": files.StoreMap,
        "profiles.*.state": files.StateMap,
    },
}
"""Which model describes the map at a path, or which function tells by its keys."""

_WORDS: Final = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "dict_type": "a map",
    "model_type": "a map",
    "list_type": "a list",
}
_TAG: Final = re.compile("<[a-z]+>")
"""The branch of a union, which pydantic puts among the keys."""
_WRITES: Final = {
    "upsert": "{upsert: {keys: [<column>]}}",
    "merge": "{upsert: {keys: [<column>]}}",
    "publish": "{publish: {keep: 10}}",
    "overwrite": "replace",
}
"""What is meant by a write that is none."""
_BY_TIME: Final = (
    "date_range, which computes what is missing or stale, is what a partition by time has without `strategy`"
)
_LANDING: Final = "how rows land is said by `write`, such as {upsert: {keys: [<column>]}}"
_STRATEGIES: Final = {
    "incremental": _BY_TIME + "; latest_only takes what is new of an inlet with `read: changes` or `read: {after: …}`",
    **dict.fromkeys(("incremental_by_time_range", "microbatch", "insert_overwrite"), _BY_TIME),
    **dict.fromkeys(("merge", "upsert", "append", "replace", "incremental_by_unique_key", "delete+insert"), _LANDING),
    **dict.fromkeys(("full", "table", "overwrite"), "write full_refresh, which computes all of it"),
}
"""What is meant by a strategy of another tool's."""
_CHOICES: Final = {"partition.by": FIXED, "partition.segments": ("runtime",)}
"""Words of values that may be something else, too."""
_WITH_MAPS: Final = {
    "inlets.*.read": "changes or {after: column}",
    "write": "replace, append, self or a map such as {upsert: {keys: [id]}}",
    "partition": "none, auto, a preset such as @daily, or a map such as {by: day, column: day}",
}
"""What may stand where a word is none of those that may."""
_NOT_BOOLEAN: Final = frozenset({"yes", "no", "on", "off", "y", "n"})


def shape(model: type[M], document: Document, *, stand_in: Mapping[str, object]) -> M:
    """The document as a model, without what is wrong in it, which becomes problems.

    Args:
        model: Of the kind of file.
        document: Read.
        stand_in: Values for the keys that no document may lack.
    """
    unread = frozenset(document.failed)
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        findings = list(_findings(error, model, document.data))
    for finding in findings:
        if not (finding.lacks and finding.unreliable in unread):  # what was refused is what it lacks
            finding.report(document)
    return _salvage(model, document.data, findings, stand_in)


def _salvage(model: type[M], whole: dict[str, Any], findings: list[_Finding], stand_in: Mapping[str, object]) -> M:
    """The model of what is left when every finding is cut out; what then misses a key is cut out too."""
    data = deepcopy(whole)
    for finding in findings:
        _remove(data, finding.path)
    data = {**stand_in, **data}
    try:
        return model.model_validate(data)
    except ValidationError as error:
        return _salvage(model, data, list(_findings(error, model, data)), stand_in)


@frozen
class _Finding:
    """One thing that is wrong, at a path of the data.

    Attributes:
        at_key: Whether the key is at fault, else its value.
        unreliable: Another top-level key, missing or probably meant, that cannot be relied on.
        lacks: A key is missing.
    """

    path: Path
    message: str
    hint: str | None = None
    at_key: bool = False
    unreliable: str | None = None
    lacks: bool = False

    def report(self, document: Document) -> None:
        at = At(document, self.path)
        (at.key_problem if self.at_key else at.problem)(self.message, hint=self.hint)
        if self.unreliable:
            document.failed.add(self.unreliable)


def _findings(error: ValidationError, model: type[BaseModel], data: dict[str, Any]) -> Iterator[_Finding]:
    done: set[Path] = set()
    for each in error.errors(include_url=False):
        path = tuple(step for step in each["loc"] if not (isinstance(step, str) and _TAG.fullmatch(step)))
        path = path or each["loc"]  # a key that looks like a tag
        if path in done:
            continue
        done.add(path)
        match each["type"]:
            case "extra_forbidden":
                yield _unknown_key(path, model, data)
            case "missing":
                yield from _missing(path, model, data)
            case kind:
                yield _bad_value(path, kind, each["msg"], each.get("ctx", {}), data)


def _unknown_key(path: Path, model: type[BaseModel], data: dict[str, Any]) -> _Finding:
    key = str(path[-1])
    inner = _described(path[:-1], model, data)
    if inner is files.SegmentsMap and key in files.keys_of(files.PartitionMap):
        product = "a product is a list: [{by: day, column: day}, {segments: […], column: <column>}]"
        return _Finding(path, f"{key!r} belongs to a partition by time, not beside 'segments'", product, at_key=True)
    known = files.keys_of(inner)
    if owner := _outdented(path, model, data):
        message = f"unknown key {key!r} in {_owner(path, model, data)}"
        return _Finding(path, message, f"indent it: it belongs to {owner!r}", at_key=True, unreliable=owner)
    hint = "replace and append have no options: write `write: <name>`" if _is_plain_write(path) else None
    hint = hint or (called_here(key, IN_YAML) if inner is files.AssetFile else None) or did_you_mean(key, known)
    meant = nearest(key, known) if len(path) == 1 else None
    return _Finding(path, f"unknown key {key!r} in {_owner(path, model, data)}", hint, at_key=True, unreliable=meant)


def _outdented(path: Path, model: type[BaseModel], data: dict[str, Any]) -> str | None:
    """The empty key above an unknown one, to whose map it belongs: it lacks its indentation."""
    if len(path) != 1 or path[0] not in data:
        return None
    above = list(data)[: list(data).index(path[0])]
    empty = [key for key in reversed(above) if data[key] is None and key in _MAPS[model]]
    return next((key for key in empty if path[0] in _keys_below(key, model, data)), None)


def _keys_below(key: str, model: type[BaseModel], data: dict[str, Any]) -> set[str]:
    """The keys of the maps that may stand at a key of the document."""
    if key == "partition":
        return {*files.keys_of(files.PartitionMap), *files.keys_of(files.SegmentsMap)}
    return set(files.keys_of(_described((key,), model, data)))


def _is_plain_write(path: Path) -> bool:
    return path in {("write", "replace"), ("write", "append")}


def _described(path: Path, model: type[BaseModel], data: dict[str, Any]) -> type[BaseModel]:
    """What describes the map at a path."""
    described = _MAPS[model][_general(path)]
    return described if isinstance(described, type) else described(_value(data, path))


def _missing(path: Path, model: type[BaseModel], data: dict[str, Any]) -> Iterator[_Finding]:
    """Nothing where a key that is mistyped explains it."""
    beside = _value(data, path[:-1])
    for key in beside if isinstance(beside, dict) else ():
        mistyped = key not in files.keys_of(_described(path[:-1], model, data)) and nearest(key, [str(path[-1])])
        if mistyped:
            return
    message = f"the key {path[-1]!r} is missing in {_owner(path, model, data)}"
    yield _Finding(path[:-1], message, unreliable=str(path[0]), lacks=True)


def _bad_value(path: Path, kind: str, words: str, context: Mapping[str, Any], data: dict[str, Any]) -> _Finding:
    value = _value(data, path)
    general = _general(path)
    hint = None
    if kind == "literal_error":
        choices = [choice or "true" for choice in re.findall(r"'([^']*)'|True", context["expected"])]
        words = listing(choices)
        hint = meant_by(value, choices) if isinstance(value, str) else None
        words = _WITH_MAPS.get(general, words)
    elif kind != EXPECTED:
        words = _WORDS.get(kind, words)
    hint = _hint(path, kind, words, value) or hint
    return _Finding(path, f"{_subject(path)} is {shown(value)}; expected {words}", hint)


def _hint(path: Path, kind: str, words: str, value: object) -> str | None:
    """What helps with a value of the wrong kind."""
    if kind == "bool_type" and isinstance(value, str) and value.lower() in _NOT_BOOLEAN:
        return "in YAML 1.2 only true and false are booleans"
    if words.startswith(("text", "a Spark")) and isinstance(value, int | float):
        return "put it in quotes"
    if value is None and _general(path[:-1]) == "partition.segments":
        return "NULL is in no segment"
    if path == ("partition",) and isinstance(value, str) and value in FIXED:
        return f"write partition: {{by: {value}, column: <column>}}"
    if path == ("strategy",) and isinstance(value, dict):
        named = next((key for key in value if key in files.WITHOUT_OPTIONS), None)
        return f"{named} has no options: write strategy: {named}" if named else None
    if path == ("write",) and isinstance(value, str) and value in _WRITES:
        return f"write {_WRITES[value]}"
    if path == ("strategy",) and isinstance(value, str):
        return _STRATEGIES.get(value.casefold())
    choices = _CHOICES.get(_general(path))
    return meant_by(value, choices) if choices is not None and isinstance(value, str) else None


def _general(path: Path) -> str:
    """The path as the tables write it: an item of a product is a partition as one that stands alone, and so on.

    >>> _general(("inlets", "flights", "read", "after")), _general(("partition", 1, "by"))
    ('inlets.*.read.after', 'partition.by')
    >>> _general(("outlets", "a", "validations", 3, "range", "amount", "min"))
    'outlets.*.validations.range.*.min'
    """
    owner: tuple[str, ...] = ()
    match path:
        case (("inlets" | "outlets" | "given" | "profiles") as owners, _, *rest):
            owner, path = (owners, "*"), tuple(rest)
    match path:
        case (("partition" | "validations" | "notify") as several, int(), *rest):
            path = (several, *rest)
        case ("steps", int(), "events", int(), *rest):
            path = ("steps", "events", *rest)
        case ("steps", int(), *rest):
            path = ("steps", *rest)
    match path:
        case ("validations", "range", _, *rest):
            path = ("validations", "range", "*", *rest)
        case (("columns" | "secrets" | "storage") as named, _, *rest):
            path = (named, "*", *rest)
    return ".".join(map(str, (*owner, *path)))


def _subject(path: Path) -> str:
    *before, last = path
    if isinstance(last, int):
        return f"item {last + 1} of {_subject(tuple(before))}"
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
            return f"{last!r} in {_subject(tuple(before))}"
    return f"{last!r} in {before[-1]!r}"


def _owner(path: Path, model: type[BaseModel], data: dict[str, Any]) -> str:
    match path[:-1]:
        case ():
            name = data.get("asset")
            if model is files.ProjectFile:
                return "the project file"
            if model is case_files.CaseFile:
                return f"test {data['test']!r}" if isinstance(data.get("test"), str) else "this test"
            return f"asset {name!r}" if isinstance(name, str) else "this asset"
        case ("inlets", inlet):
            return f"inlet {inlet!r}"
        case ("outlets", outlet):
            return f"outlet {outlet!r}"
        case (*_, int()) as item:
            return _subject(item)
        case (*_, parent):
            return repr(parent)
    raise AssertionError(path)


def _value(data: object, path: Path) -> object:
    for step in path:
        if isinstance(data, dict):
            data = data.get(step)
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            data = data[step]
    return data


def _remove(data: dict[str, Any], path: Path) -> None:
    """Removes the innermost key of the path that is there."""
    while path:
        parent = _value(data, path[:-1])
        if isinstance(parent, dict) and path[-1] in parent:
            del parent[path[-1]]
            return
        path = path[:-1]
