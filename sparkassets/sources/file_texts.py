"""The values in CSV and JSON files as texts, and what Spark makes of a text in a column of some type."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, BinaryIO
from zoneinfo import ZoneInfo

from sparkassets.errors import SourceError

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyarrow.csv import InvalidRow

_CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_UNKNOWN = (".lz4", ".snappy", ".deflate", ".lzo", ".xz")
"""Hadoop's own framing of these is read by nobody else."""
_BLOCK = 1 << 25
"""Bytes of CSV at once: more than a row has."""
_DATE = re.compile(r"([+-]?\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_TIME = re.compile(
    r"([+-]?\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})"
    r"(?:[ T](?:(\d{1,2})(?::(\d{1,2}))?(?::(\d{1,2})(?:\.(\d*))?)?)?\s*(\S.*)?)?)?)?"
)
_ZONE = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{1,2}))?(?::?(\d{1,2}))?")
_NO_OFFSET = ("Z", "UTC", "GMT", "UT")
_SEEN = 1 << 16
"""So many rows of a JSON file are compared with each other, so that the same values are told once."""


def uncompressed(stream: BinaryIO, path: str) -> BinaryIO:
    """What a file holds, by the ending of its name, as Spark goes by that.

    Raises:
        SourceError: It is compressed in a way that Spark alone reads.
    """
    import pyarrow as pa

    if path.endswith(_UNKNOWN):
        raise SourceError("only Spark reads files that are compressed so", hint="take gzip, bzip2 or Zstandard")
    codec = next((codec for ending, codec in _CODECS.items() if path.endswith(ending)), None)
    return stream if codec is None else io.BufferedReader(pa.CompressedInputStream(stream, codec))


# --------------------------------------------------------------------------- CSV


def csv_header(stream: BinaryIO, declared: Sequence[str], options: Mapping[str, str]) -> list[str]:
    """The columns of a file: its first row, or what is declared where it has no header; none of one without rows."""
    told = _lower(options)
    if told.get("header", "true").lower() != "true":
        return list(declared)
    with io.TextIOWrapper(stream, encoding=_encoding(told), newline="") as text:
        return next((row for row in csv.reader(text, **_dialect(told)) if any(map(str.strip, row))), [])


def csv_texts(
    stream: BinaryIO, names: Sequence[str], wanted: Sequence[str], options: Mapping[str, str]
) -> Iterator[tuple[str | None, ...]]:
    """The values of the wanted columns; the same values come seldom twice.

    Args:
        stream: From the file's beginning.
        names: Of all columns.
        wanted: Those that are asked for.
        options: Of Spark's reader.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow

    told = _lower(options)
    ragged: list[tuple[str | None, ...]] = []
    index = [names.index(name) for name in wanted]

    def short_or_long(row: InvalidRow) -> str:
        cells = next(csv.reader([row.text], **_dialect(told)), [])
        ragged.append(tuple(cells[i] if i < len(cells) and cells[i] else None for i in index))
        return "skip"

    header = told.get("header", "true").lower() == "true"
    dialect = _dialect(told)
    reader = arrow.open_csv(
        stream,
        arrow.ReadOptions(
            use_threads=False,
            block_size=_BLOCK,
            encoding=_encoding(told).replace("utf-8-sig", "utf8"),
            column_names=None if header else list(names),
        ),
        arrow.ParseOptions(
            delimiter=dialect["delimiter"],
            quote_char=dialect["quotechar"] or False,
            escape_char=dialect["escapechar"] or False,
            newlines_in_values=told.get("multiline", "false").lower() == "true",
            invalid_row_handler=short_or_long,
        ),
        arrow.ConvertOptions(
            include_columns=list(wanted),
            column_types=dict.fromkeys(wanted, pa.string()),
            null_values=["", *([told["nullvalue"]] if "nullvalue" in told else [])],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            check_utf8=False,
        ),
    )
    with reader:
        for batch in reader:
            yield from _distinct(batch, wanted)
    yield from ragged


def _distinct(batch: RecordBatch, names: Sequence[str]) -> Iterator[tuple[str | None, ...]]:
    import pyarrow as pa

    groups = pa.Table.from_batches([batch]).group_by(list(names)).aggregate([])
    return zip(*(groups.column(name).to_pylist() for name in names), strict=True)


def _dialect(told: Mapping[str, str]) -> dict[str, Any]:
    return {
        "delimiter": told.get("sep", told.get("delimiter", ",")).replace("\\t", "\t"),
        "quotechar": told.get("quote", '"') or None,
        "escapechar": told.get("escape", "\\") or None,
    }


def _encoding(told: Mapping[str, str]) -> str:
    """A mark of the byte order is no part of the first value."""
    named = told.get("encoding", told.get("charset", "utf-8")).lower()
    return "utf-8-sig" if named in ("utf-8", "utf8") else named


def _lower(options: Mapping[str, str]) -> dict[str, str]:
    return {key.lower(): value for key, value in options.items()}


# --------------------------------------------------------------------------- JSON


def json_texts(stream: BinaryIO, wanted: Sequence[str], options: Mapping[str, str]) -> Iterator[tuple[str | None, ...]]:
    """The values of the wanted keys; a record that is none has none, and the same values come seldom twice."""
    told = _lower(options)
    seen: set[tuple[str | None, ...]] = set()
    with io.TextIOWrapper(stream, encoding=_encoding(told)) as text:
        for document in [text.read()] if told.get("multiline", "false").lower() == "true" else text:
            for record in _records(document):
                row = tuple(_plain(record.get(name)) for name in wanted)
                if row not in seen:
                    if len(seen) < _SEEN:
                        seen.add(row)
                    yield row


def _records(document: str) -> list[dict[str, Any]]:
    if not document.strip():
        return []
    try:
        found = json.loads(document, parse_int=str, parse_float=str)
    except ValueError:
        return [{}]
    return [each if isinstance(each, dict) else {} for each in (found if isinstance(found, list) else [found])]


def _plain(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)


# --------------------------------------------------------------------------- values


def value_of(text: str, kind: str) -> str | int | bool | date | Decimal | None:
    """What Spark reads of a text in a column of that type; None where it is no such value.

    >>> value_of("2025-1-5", "date"), value_of("2025-01-05T10:00:00+02:00", "timestamp").isoformat()
    (datetime.date(2025, 1, 5), '2025-01-05T08:00:00+00:00')
    >>> value_of("007", "integer"), value_of("x", "integer"), value_of("TRUE", "boolean"), value_of(" a", "string")
    (7, None, True, ' a')
    >>> value_of("2025-01-05T10", "timestamp_ntz"), value_of("1,000.005", "decimal(9,2)")
    (datetime.datetime(2025, 1, 5, 10, 0), Decimal('1000.01'))
    """
    if kind == "string":
        return text
    text = text.strip()
    if kind == "date":
        return _date(text)
    if kind in ("timestamp", "timestamp_ntz"):
        return _instant(text, local=kind == "timestamp_ntz")
    if kind == "boolean":
        return {"true": True, "false": False}.get(text.lower())
    try:
        return _decimal(text, kind) if kind.startswith("decimal") else int(text)
    except (ValueError, InvalidOperation):
        return None


def _decimal(text: str, kind: str) -> Decimal:
    """With as many digits behind the point as the type has."""
    scale = int(kind.rstrip(")").rpartition(",")[2]) if "," in kind else 0
    return Decimal(text.replace(",", "")).quantize(Decimal(1).scaleb(-scale), rounding=ROUND_HALF_UP)


def _date(text: str) -> date | None:
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    try:
        return date(int(found[1]), int(found[2] or 1), int(found[3] or 1))
    except ValueError:
        return None


def _instant(text: str, *, local: bool) -> datetime | None:
    found = _TIME.fullmatch(text)
    if found is None or (local and found[8]):
        return None
    year, month, day, hour, minute, second = (
        int(each or least) for each, least in zip(found.groups(), "111000", strict=False)
    )
    try:
        zone = _zone(found[8])
        when = datetime(year, month, day, hour, minute, second, tzinfo=zone)
        return when.replace(tzinfo=None) if local else when.astimezone(UTC)
    except (ValueError, KeyError, OverflowError):
        return None


def _zone(text: str | None) -> timezone | ZoneInfo:
    """UTC where nothing is said, as sessions are in UTC."""
    if text is None or text in _NO_OFFSET:
        return UTC
    found = _ZONE.fullmatch(text)
    if found is None:
        return ZoneInfo(text)
    offset = timedelta(hours=int(found[2]), minutes=int(found[3] or 0), seconds=int(found[4] or 0))
    return timezone(offset if found[1] == "+" else -offset)
