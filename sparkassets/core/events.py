"""Events as templates and functions see them, and the extra facts that they carry."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sparkassets.core.phrases import escape_unwritable, kind_of
from sparkassets.core.suggestions import IN_EVENTS, IN_RUNS, IN_SOURCE_RUNS, called_here, did_you_mean
from sparkassets.errors import InputError

EVENT: Final = ("seq", "asset", "dataset", "uri", "partitions", "at", "extra", "run", "source_run")
SOURCE_RUN: Final = ("run_id", "data_interval", "data_interval_start", "data_interval_end", "logical_date")
DATA_INTERVAL: Final = ("start", "end")
"""The members of an event, of the run that it comes from, and of that run's interval."""

MEMBERS: Final[Mapping[str, tuple[str, ...]]] = {"": EVENT, "source_run": SOURCE_RUN, "data_interval": DATA_INTERVAL}
"""The members by the member that has them."""


CONTEXT: Final = frozenset(
    {
        *("asset", "run_id", "params", "extra", "watermark", "partitions", "outlets"),
        *("schedule_date", "data_interval_start", "data_interval_end", "logical_date"),
        *("prev_data_interval_start_success", "prev_data_interval_end_success"),
        *("ds", "ds_nodash", "ts", "ts_nodash", "ts_nodash_with_tz"),
        *("triggering_event", "triggering_events", "triggering_dataset_events"),
        *("emit", "add_partition", "skip", "added_segments", "announced_events", "names"),
    }
)
"""The attributes of the ``context`` of a function."""

_BY_NAME: Final = frozenset({"triggering_events", "triggering_dataset_events"})
_FOREIGN: Final = {"": IN_EVENTS, "source_run": IN_SOURCE_RUNS}
_OF_MAPPINGS: Final = frozenset({"get", "items", "keys", "values"})


def wrong_member(path: Sequence[str | None]) -> tuple[int, str, str | None] | None:
    """Which step of a path from a run's events no event has, with a message and a hint.

    Args:
        path: The name of the run's, and the members from there; None for an element by its number, or one not known.

    >>> wrong_member(["triggering_events", "flights", None, "source_run", "run_is"])
    (4, "the source run of an event has no 'run_is'", "did you mean 'run_id'?")
    """
    # an event by itself, or the elements of a list of events: only from there on are members those of an event
    begin = 1 if path[0] == "triggering_event" else 3 if path[0] in _BY_NAME and None in path[2:3] else len(path)
    owner = ""
    for at, member in enumerate(path[begin:], begin):
        if member is None or member in _OF_MAPPINGS or owner not in MEMBERS:
            return None
        if member not in MEMBERS[owner]:
            what = {"": "an event", "source_run": "the source run of an event"}.get(owner, "a data interval")
            hint = called_here(member, _FOREIGN.get(owner, {})) or did_you_mean(member, MEMBERS[owner])
            return at, f"{what} has no {member!r}", hint
        owner = member
    return None


def wrong_in_context(path: Sequence[str | None]) -> tuple[int, str, str | None] | None:
    """As `wrong_member`, for a path that begins with ``context``.

    >>> wrong_in_context(["context", "execution_date"])
    (1, "the context of a run has no 'execution_date'", "here it is 'logical_date'")
    """
    name, *rest = path[1:] or [None]
    if name is None:
        return None
    if name not in CONTEXT and not name.startswith("__"):
        hint = called_here(name, IN_RUNS) or did_you_mean(name, CONTEXT)
        return 1, f"the context of a run has no {name!r}", hint
    wrong = wrong_member([name, *rest])
    return (wrong[0] + 1, *wrong[1:]) if wrong else None


class AttributeRecord(dict[str, Any]):
    """Named values, each an attribute and an item: ``event.extra.rows`` is ``event["extra"]["rows"]``.

    For a name that is also a method of dicts, such as ``items``, the attribute is the item.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever an event tells
        if name in self:
            return self[name]
        raise AttributeError(self.why_missing(name))

    def __missing__(self, name: str) -> Any:  # noqa: ANN401
        raise KeyError(self.why_missing(name))

    def why_missing(self, name: str) -> str:
        """Why there is no such member."""
        if not self:
            return f"{name!r} is undefined; it is empty"
        other_names = {**IN_EVENTS, **IN_SOURCE_RUNS} if self.keys() & {"source_run", "data_interval"} else {}
        hint = called_here(name, other_names) or did_you_mean(name, self)
        return f"{name!r} is undefined; {hint}" if hint else f"{name!r} is undefined"


def to_record(value: Any) -> Any:  # noqa: ANN401
    """The value with each map in it as a `AttributeRecord`.

    >>> to_record({"a": [{"b": 1}]}).a[0].b
    1
    """
    if isinstance(value, Mapping):
        return AttributeRecord({name: to_record(each) for name, each in value.items()})
    return [to_record(each) for each in value] if isinstance(value, list | tuple) else value


class Event(AttributeRecord):
    """One update of a dataset.

    Its members are those of `EVENT`: ``dataset`` is the asset's name, else the URI; ``source_run`` is None for an event
    that no run made, and else has the members of `SOURCE_RUN`.
    """

    __slots__ = ()


def build_event(found: Mapping[str, Any]) -> Event:
    """The event of a record."""
    record = {**to_record(found), "dataset": found.get("asset") or found.get("uri")}
    if source := record.get("source_run"):
        start, end = source.get("data_interval_start"), source.get("data_interval_end")
        interval = None if start is None else AttributeRecord(start=start, end=end)
        record["source_run"] = AttributeRecord({**source, "data_interval": interval, "logical_date": start})
    return Event(record)


EXTRA_BYTES: Final = 64 * 1024
"""An extra's greatest size, as JSON in UTF-8."""
EXTRA_DEPTH: Final = 100
"""How deep its objects and lists may be nested."""


def check_extra(extra: object) -> dict[str, Any]:
    """A copy of the extra, as JSON has it.

    Raises:
        InputError: It is not a JSON object, is larger than `EXTRA_BYTES` or deeper than `EXTRA_DEPTH`, or holds a
            credential.
    """
    if not isinstance(extra, Mapping):
        raise InputError(f"the extra is {kind_of(extra)}; expected an object of keys and values")
    for key in extra:
        if not isinstance(key, str):
            raise InputError(f"the extra's key {key!r} is {kind_of(key)}; expected text")
    found: dict[str, Any] = json.loads(encode_extra(extra))
    from sparkassets.core.credentials import secrets_in  # what only shows events loads none of it

    for path, what in secrets_in(found):
        where = f" {'.'.join(map(str, path))}" if path else ""
        raise InputError(f"the extra{where} contains {what}; events are clear text")
    return found


def encode_extra(extra: Mapping[str, Any]) -> str:
    """The extra as JSON.

    Raises:
        InputError: JSON or UTF-8 cannot say it, or it is larger than `EXTRA_BYTES` or deeper than `EXTRA_DEPTH`.
    """
    try:
        text = json.dumps(dict(extra), ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise InputError(
            f"the extra contains {error.object[error.start]!r}, half of a surrogate pair, which is not valid Unicode",
            hint="the text was decoded from invalid bytes; replace the characters that could not be read",
        ) from None
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the extra cannot be written as JSON: {_json_problem(error)}",
            hint="use text, numbers, and lists and dicts of these",
        ) from None
    except RecursionError:
        raise nesting_error() from None
    if size > EXTRA_BYTES:
        raise InputError(
            f"the extra is {size:,} bytes of JSON; expected at most {EXTRA_BYTES:,}",
            hint="store large values in a file or a table, and their location in the extra",
        )
    if _depth(extra) > EXTRA_DEPTH:
        raise nesting_error()
    return text


def _json_problem(error: TypeError | ValueError) -> str:
    """The problem as JSON words it, without the value, which only newer Pythons add."""
    return str(error).partition(": ")[0]


def _depth(value: object) -> int:
    """How deep objects and lists are nested."""
    level, depth = [value], 0
    while level := [each for each in level if isinstance(each, Mapping | list | tuple)]:
        depth += 1
        level = [inner for each in level for inner in (each.values() if isinstance(each, Mapping) else each)]
    return depth


def nesting_error() -> InputError:
    """The error for objects and lists that are nested deeper than `EXTRA_DEPTH`, or than can be read."""
    return InputError(f"the extra nests more than {EXTRA_DEPTH} objects and lists")


def check_clear_text(noun: str, text: str, *, most: int, stored: str) -> str:
    """The text, which the journal stores as it is: an id or a reason, as ``noun`` says.

    Args:
        noun: What it is.
        text: As given.
        most: How many characters it may have.
        stored: Why it must hold no credential.

    Raises:
        InputError: It is empty, too long, not writable or holds a credential.
    """
    if not 0 < len(text) <= most:
        raise InputError(f"the {noun} has {len(text):,} characters; expected 1 to {most:,}")
    if text != escape_unwritable(text):
        raise InputError(f"the {noun} {text!r} is not valid Unicode: it contains half of a surrogate pair")
    from sparkassets.core.credentials import secret_in_text  # slow to load, and few commands are given such texts

    if secret := secret_in_text(text):
        raise InputError(f"the {noun} contains {secret}; {stored}")
    return text
