"""Encodes entries as rows of the journal and decodes them; removes credentials from the texts to record.

Fields that people query (asset, uri, run, time, version, extra) are columns of the row; its body has all others.

Names of datasets, files and partitions are recorded as they are, because they are compared. A credential in a name is
refused where the name is declared or announced, and so is one in an extra.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import msgspec

from sparkassets.core.iterations import RetiredEntry
from sparkassets.core.journal.codec.formats import decode_body, encode_body
from sparkassets.core.journal.codec.row_values import (
    bind_spec,
    encode_extra,
    make_partition_body,
    make_partition_columns,
    stored_partitions,
    unbind_spec,
)
from sparkassets.core.journal.digest_marks import DigestEntry
from sparkassets.core.journal.entries import (
    BackfillEntry,
    ClaimEntry,
    Entry,
    EventEntry,
    FailureEntry,
    NumberedEntry,
    ObservedEntry,
    OutletEntry,
    PauseEntry,
    RenewEntry,
    SegmentEntry,
    SkippedEntry,
    SpecEntry,
    SuccessEntry,
    TickPassedEntry,
)
from sparkassets.core.journal.marks import MarkEntry
from sparkassets.core.journal.notified import LateEntry, PersonWaitEntry, SilenceEntry
from sparkassets.core.journal.rows import JournalRow
from sparkassets.core.journal.table_findings import TargetEntry
from sparkassets.core.partitions.json_form import from_plain, to_plain
from sparkassets.core.validations import FailingRow, RuleTally, RuleVerdict
from sparkassets.errors import StateError
from sparkassets.frozen import replace


class _RowLayout(NamedTuple):
    """How entries of one kind are split into columns and body.

    Attributes:
        entry: The class of the entries.
        columns: Fields and properties of the entry that are columns of its row.
        parts: Name of the field with the entry's partitions; empty where it has none.
        holder: Name of the field whose value has some of these, where the entry itself does not.
    """

    entry: type[Entry]
    columns: tuple[str, ...] = ("asset",)
    parts: str = ""
    holder: str = ""


_RECORDED = ("asset", "uri", "run", "table_id", "version", "extra")
_SEEN = ("asset", "uri", "table_id", "version", "extra")
_ROW_LAYOUTS: Mapping[str, _RowLayout] = {
    "spec": _RowLayout(SpecEntry, ("asset", "uri")),
    "event": _RowLayout(EventEntry, ("asset", "uri", "run", "id", "extra"), "parts"),
    "observed": _RowLayout(ObservedEntry, _SEEN, "changed"),
    "target": _RowLayout(TargetEntry, _SEEN, "event_partitions", holder="found"),
    "claim": _RowLayout(ClaimEntry, ("asset", "run"), "partitions", holder="request"),
    "renew": _RowLayout(RenewEntry, ()),
    "success": _RowLayout(SuccessEntry, _RECORDED, "partitions"),
    "outlet": _RowLayout(OutletEntry, _RECORDED, "partitions"),
    "unfenced": _RowLayout(FailureEntry, ("asset", "run"), "partitions"),
    "failure": _RowLayout(FailureEntry, ("asset", "run"), "partitions"),
    "skipped": _RowLayout(SkippedEntry, ("asset", "run"), "partitions"),
    "resume": _RowLayout(PauseEntry),
    "pause": _RowLayout(PauseEntry),
    "mark": _RowLayout(MarkEntry, ("asset", "uri", "extra"), "partitions"),
    "segment": _RowLayout(SegmentEntry),
    "backfill": _RowLayout(BackfillEntry, parts="partitions"),
    "retired": _RowLayout(RetiredEntry),
    "late": _RowLayout(LateEntry, parts="partitions"),
    "wait": _RowLayout(PersonWaitEntry),
    "silence": _RowLayout(SilenceEntry),
    "digest": _RowLayout(DigestEntry, ()),
    "tick": _RowLayout(TickPassedEntry),
}
_KINDS: Mapping[type[Entry], str] = {layout.entry: kind for kind, layout in _ROW_LAYOUTS.items()}


def to_row(numbered: NumberedEntry) -> JournalRow:
    """The row of an entry."""
    entry = numbered.entry
    kind = _kind_of(entry)
    layout = _ROW_LAYOUTS[kind]
    # what is in columns is not repeated in the body; the holder is the object in the body that has those fields
    body = to_plain(replace(entry, spec=unbind_spec(entry.spec)) if isinstance(entry, SpecEntry) else entry)
    holder = body[layout.holder] if layout.holder else body
    columns = {name: getattr(entry, name) for name in layout.columns}
    for name in columns:
        body.pop(name, None)
        holder.pop(name, None)
    if "extra" in columns:
        columns["extra"] = encode_extra(columns["extra"])
    if layout.parts:
        columns |= make_partition_columns(getattr(entry, layout.parts))
    if holder.pop(layout.parts, ...) is not ...:  # fields with their default value are not in the body
        body |= make_partition_body(getattr(entry, layout.parts))
    if "seconds" in body:
        body["seconds"] = round(body["seconds"], 3)
    return JournalRow(numbered.seq, numbered.at, numbered.driver, kind, body=encode_body(body), **columns)


def from_row(row: JournalRow) -> NumberedEntry:
    """The entry of a row.

    Raises:
        StateError: The row is damaged, or was written by a newer version.
    """
    try:
        body = decode_body(row, row.kind, what=f"journal entry {row.seq}")
        return NumberedEntry(_decode_entry(row, body), row.seq, row.at, row.driver)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, msgspec.MsgspecError) as error:
        raise StateError(
            f"journal entry {row.seq} (kind {row.kind!r}) is damaged: {error}",
            hint="restore the journal's folder from a copy, or go back to an earlier version of the Delta table",
        ) from error


def _decode_entry(row: JournalRow, body: dict[str, Any]) -> Entry:
    """The entry of a row's kind, from its columns and its decoded body."""
    layout = _ROW_LAYOUTS.get(row.kind)
    if layout is None:
        raise ValueError(f"unknown kind {row.kind!r}")
    # a column without a value has None; the entry's field then has its default
    columns = {name: value for name in layout.columns if (value := getattr(row, name)) is not None}
    if "extra" in columns:
        columns["extra"] = json.loads(columns["extra"])
    if layout.parts:
        columns |= stored_partitions(row, body, layout.parts)
    if layout.holder:
        body[layout.holder] |= columns
    entry = from_plain(body | columns, cast("type[Any]", layout.entry))
    return replace(entry, spec=bind_spec(entry.spec)) if isinstance(entry, SpecEntry) else cast("Entry", entry)


def _kind_of(entry: Entry) -> str:
    """The kind of an entry; ``resume`` and ``unfenced`` are kinds of their own, so that people can query them."""
    match entry:
        case PauseEntry(paused=False):
            return "resume"
        case FailureEntry(fenced=False):
            return "unfenced"
    return _KINDS[type(entry)]


def redact_entry(entry: Entry, variables: Mapping[str, str]) -> Entry:
    """The entry to record, without credentials and values of the environment in its texts for people.

    Returns the same object where it has no such text. Events have no case: `check_extra` refuses a credential in one
    before it becomes an entry.

    Args:
        entry: The entry as decided.
        variables: Variables of the environment; ``${NAME}`` is recorded instead of their values.
    """
    match entry:
        case FailureEntry():
            return replace(entry, error=_redact_text(entry.error, variables), hint=_redact_text(entry.hint, variables))
        case SuccessEntry() if entry.verdicts:
            return replace(entry, verdicts=tuple(_redact_verdict(each, variables) for each in entry.verdicts))
        case MarkEntry() | SilenceEntry():
            return replace(entry, reason=_redact_text(entry.reason, variables))
        case TargetEntry():
            return replace(entry, found=replace(entry.found, reason=_redact_text(entry.found.reason, variables)))
    return entry


def _redact_text(text: str, variables: Mapping[str, str]) -> str:
    """The text without credentials and values of the environment."""
    if not text:
        return text
    from sparkassets.core.redaction import redact  # most commits hold no text

    return redact(text, variables=variables)


def _redact_verdict(verdict: RuleVerdict, variables: Mapping[str, str]) -> RuleVerdict:
    """The verdict with redacted values of rows."""
    if not (verdict.observed or verdict.samples or verdict.details):
        return verdict
    return replace(
        verdict,
        observed=_redact_text(verdict.observed, variables),
        samples=_redact_samples(verdict.samples, variables),
        details=tuple(_redact_tally(each, variables) for each in verdict.details),
    )


def _redact_tally(tally: RuleTally, variables: Mapping[str, str]) -> RuleTally:
    """The tally with redacted values of rows."""
    observed, samples = _redact_text(tally.observed, variables), _redact_samples(tally.samples, variables)
    return replace(tally, observed=observed, samples=samples)


def _redact_samples(samples: tuple[FailingRow, ...], variables: Mapping[str, str]) -> tuple[FailingRow, ...]:
    """The sample rows with redacted values."""
    if not samples:
        return samples
    from sparkassets.core.redaction import redact_json

    return tuple(redact_json(each, variables=variables) for each in samples)
