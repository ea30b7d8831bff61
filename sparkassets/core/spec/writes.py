"""How rows land, from the YAML: a word, or a map of one write with its options."""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.core.instants import Duration
from sparkassets.core.query_text import MOST_NESTED, find_excess_nesting
from sparkassets.core.spec.drafts import AssetDraft
from sparkassets.core.spec.file_models import HistoryMap, UpsertMap, WriteMap
from sparkassets.core.spec.yaml_document import DocumentPlace
from sparkassets.core.suggestions import did_you_mean
from sparkassets.core.writes import (
    WRITES,
    HistoryColumns,
    PublishWrite,
    ReplaceWrite,
    UpsertWrite,
    Write,
    is_unstored_column,
)


def compile_write(draft: AssetDraft) -> Write:
    """The write, `ReplaceWrite` where none is given; what is wrong with its options becomes problems of the draft."""
    given, at = draft.keys.write, draft.at / "write"
    if isinstance(given, WriteMap):
        if given.upsert is not None and given.publish is not None:
            at.add_problem("'write' has 'upsert' and 'publish'; expected one of them")
        if given.upsert is not None:
            return _upsert(draft, given.upsert, at / "upsert")
        if given.publish is not None:
            return PublishWrite(given.publish.keep)
        if draft.are_reliable("write"):
            expected = "{upsert: {keys: [<column>]}} or {publish: {keep: 10}}"
            at.add_problem(f"'write' is a map without a write; expected {expected}")
        return ReplaceWrite()
    return WRITES[given or ReplaceWrite.name]


def _upsert(draft: AssetDraft, given: UpsertMap, at: DocumentPlace) -> UpsertWrite:
    newest = given.newest_by
    newest_by = () if newest is None else (newest,) if isinstance(newest, str) else tuple(newest)
    _check_columns(draft, given.keys, at / "keys", stored=True)
    _check_columns(draft, newest_by, at / "newest_by", stored=False)
    condition = given.delete_when
    if condition is not None and not condition.strip():
        (at / "delete_when").add_problem("'delete_when' is empty; expected a condition such as \"op = 'd'\"")
    elif condition is not None and find_excess_nesting(condition) is not None:
        (at / "delete_when").add_problem(f"'delete_when' has more than {MOST_NESTED:,} brackets inside each other")
    kept = _delete_retention(given, at / "keep_deletes")
    for dimension in draft.partitioning.columns:
        if is_unstored_column(dimension):
            message = f"an upsert stores no column whose name begins with '_', such as the partition's {dimension!r}"
            (draft.at / "partition").add_problem(message, hint="give the column another name")
    history = None
    if given.history is not None:
        history = _history(given.history, given, at / "history")
        if draft.partitioning.time is not None:
            message = "a history cannot have a partition by time: the rows of a key would lie in several"
            (at / "history").add_key_problem(message, hint="take the partition out, or give it segments alone")
    return UpsertWrite(tuple(given.keys), newest_by, given.delete_when, kept, history)


def _check_columns(draft: AssetDraft, names: Sequence[str], at: DocumentPlace, *, stored: bool) -> None:
    """Refuses no columns, one that is there twice or not declared, and where they are ``stored`` a hidden one."""
    if not names and at.exists:
        at.add_problem(f"{at.path[-1]!r} is an empty list; expected a column")
    seen: dict[str, str] = {}
    declared = {name.lower() for name in draft.keys.types}
    for number, name in enumerate(names):
        place = at / number if isinstance(_value(at), list) else at
        if name.lower() in seen:
            place.add_problem(f"the column {name!r} is there twice")
        elif stored and is_unstored_column(name):
            place.add_problem(f"the key {name!r} begins with '_', and such columns are not stored", hint="rename it")
        elif declared and not is_unstored_column(name) and name.lower() not in declared:
            place.add_problem(f"'columns' has no {name!r}", hint=did_you_mean(name, draft.keys.types))
        seen[name.lower()] = name


def _value(at: DocumentPlace) -> object:
    value: object = at.document.data
    for step in at.path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _delete_retention(given: UpsertMap, at: DocumentPlace) -> Duration | None:
    if given.keep_deletes is None:
        return None
    found = Duration.parse(given.keep_deletes)
    if min(found.months, found.days, found.seconds) < 0 or found == Duration.parse("0s"):
        at.add_problem(f"'keep_deletes' is {given.keep_deletes!r}; expected a duration of more than 0")
    if given.newest_by is None and given.history is None:
        at.add_key_problem("'keep_deletes' needs 'newest_by': without it no row is late, and nothing is remembered")
    return found


def _history(given: HistoryMap, upsert: UpsertMap, at: DocumentPlace) -> HistoryColumns:
    seen = {name.lower(): "a key" for name in upsert.keys}
    for key, name in (("valid_from", given.valid_from), ("valid_to", given.valid_to), ("current", given.current)):
        if is_unstored_column(name):
            (at / key).add_problem(f"the column {name!r} begins with '_', and such columns are not stored")
        elif name.lower() in seen:
            (at / key).add_problem(f"the column {name!r} is {seen[name.lower()]}, too; expected another name")
        seen.setdefault(name.lower(), f"{key!r}")
    return HistoryColumns(given.valid_from, given.valid_to, given.current)
