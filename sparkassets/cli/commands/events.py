"""``sparkassets events``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkassets.cli.options import (
    AssetNameParam,
    WrappedGroup,
    json_option,
    last_option,
    one_partition_option,
    open_project,
    print_history_start,
    project_option,
)
from sparkassets.cli.output import Row, TableColumn, Terminal, print_json, print_table
from sparkassets.core.documents.records import event_document
from sparkassets.core.events import nesting_error
from sparkassets.core.instants import format_zoned
from sparkassets.core.journal.announcements import event_partitioning, reject_nonfinite_number
from sparkassets.core.journal.fold_specs import build_fold_spec
from sparkassets.core.partitions import PartitionError, PartitionSet
from sparkassets.core.phrases import few, series
from sparkassets.errors import InputError

if TYPE_CHECKING:
    from sparkassets.core.spec.model import AssetSpec, InletSpec
    from sparkassets.core.spec.project_spec import ProjectSpec

Event = Mapping[str, Any]
"""An event as a document, as `HistoryCommands.events` returns it."""


@click.group("events", cls=WrappedGroup, no_args_is_help=False)
def command() -> None:
    """List or add dataset events."""


@command.command("list")
@project_option
@click.option(
    "--asset",
    type=AssetNameParam(),
    metavar="ASSET_OR_URI",
    help="Show only events of this dataset, under any of its names.",
)
@last_option(20)
@json_option
def list_events(folder: Path, asset: str | None, last: int, as_json: bool) -> None:
    """List dataset events, newest last."""
    project = open_project(folder)
    events = project.history.events(asset=asset, last=last)
    if len(events) < last:
        print_history_start(project)
    if as_json:
        print_json([event_document(event, project.spec) for event in events])
        return
    terminal = Terminal.from_stream(sys.stdout)
    if not events:
        terminal.print("no events")
        return
    _print_events(terminal, events, project.spec)


@command.command("add")
@click.argument("target", type=AssetNameParam(), metavar="ASSET_OR_URI", required=False)
@project_option
@one_partition_option("Updated partitions: KEY, a range A..B (inclusive), or KEY,SEGMENT for several dimensions.")
@click.option(
    "--extra",
    "extras",
    multiple=True,
    metavar="KEY=VALUE",
    help="Extra facts about the update: KEY=VALUE, where VALUE may be JSON, or one JSON object. Repeatable.",
)
@click.option(
    "--id", "ident", metavar="TEXT", help="Idempotency key: an event whose id is known is not recorded again."
)
@click.option(
    "--at",
    metavar="TIME",
    help="When it happened (ISO 8601; in the project's time zone unless it has an offset); default: now.",
)
@click.option(
    "--file",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path, allow_dash=True),
    help='Read events from a file of JSON lines {"asset" or "uri", "partition", "extra", "at", "id"}; - is stdin.',
)
@json_option
def add_event(
    folder: Path,
    target: str | None,
    partition: str | None,
    extras: tuple[str, ...],
    ident: str | None,
    at: str | None,
    file: Path | None,
    as_json: bool,
) -> None:
    """Record that ASSET_OR_URI was updated by another writer."""
    if file is not None:
        if target is not None or partition is not None or extras or ident is not None or at is not None:
            raise InputError("--file excludes other arguments: each line of the file names its dataset and facts")
        _add_file(folder, file, as_json=as_json)
        return
    if target is None:
        raise InputError("expected ASSET_OR_URI, or --file FILE")
    extra = _parse_extra(extras)
    project, known_events = open_project(folder), list[Event]()
    event = project.events.add(target, partition=partition, extra=extra, id=ident, at=at, on_known=known_events.append)
    if as_json:
        print_json(event_document(event, project.spec))
    else:
        _print_added([event], known_events, project.spec)
    _warn_of_unread_datasets([event], project.spec)


def _add_file(folder: Path, file: Path, *, as_json: bool) -> None:
    """Announces the events in a file, or in stdin for ``-``, in one commit."""
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{str(file)!r} is not UTF-8: {error.reason} at byte {error.start}") from error
    except OSError as error:
        raise InputError(f"cannot read {str(file)!r}: {error.strerror}") from error
    project, known_events = open_project(folder), list[Event]()
    name = "stdin" if str(file) == "-" else str(file)
    added = project.events.add_many(text.split("\n"), name=name, on_known=known_events.append)
    if as_json:
        print_json([event_document(event, project.spec) for event in added])
    elif added:
        _print_added(added, known_events, project.spec)
    else:
        Terminal.from_stream(sys.stdout).print("no events")
    _warn_of_unread_datasets(added, project.spec)


def _print_added(added: Sequence[Event], known_events: Sequence[Event], project: ProjectSpec) -> None:
    """Prints the events, then which of them had an id that was known already."""
    terminal = Terminal.from_stream(sys.stdout)
    _print_events(terminal, added, project)
    if numbers := list(dict.fromkeys(str(event["seq"]) for event in known_events)):
        noun = "event" if len(numbers) == 1 else "events"
        terminal.print(f"already recorded under the same id: {noun} {few(numbers)}")


def _warn_of_unread_datasets(added: Sequence[Event], project: ProjectSpec) -> None:
    """Prints which of the datasets nothing in this project reads, and which inlets an event does not help.

    An inlet that is mapped by the values of a column needs to see rows, and an event holds none.
    """
    read_uris = {uri for asset in project.assets.values() for uri in build_fold_spec(asset, project).listens}
    terminal = Terminal.from_stream(sys.stderr)
    if names := list(dict.fromkeys(event["asset"] or event["uri"] for event in added if event["uri"] not in read_uris)):
        terminal.print(f"nothing in project {project.name!r} reads or waits for {few(names)}")
    announced = {event["uri"] for event in added}
    for asset, inlet in _inlets_by_values(project):
        if project.assets[inlet.name].uri in announced:
            problem = f"{asset.name} reads {inlet.name} by the values of {inlet.by_values!r}"
            hint = f"`sparkassets mark {asset.name} --missing` recomputes partitions"
            terminal.print(f"{problem}, which an event does not contain: {hint}")


def _inlets_by_values(project: ProjectSpec) -> Iterator[tuple[AssetSpec, InletSpec]]:
    for asset in project.assets.values():
        yield from ((asset, inlet) for inlet in asset.inlets.values() if inlet.by_values is not None)


def _parse_extra(texts: Sequence[str]) -> dict[str, Any]:
    """The values of all ``--extra`` options as one object.

    Raises:
        InputError: A key is given twice.
    """
    extra: dict[str, Any] = {}
    for text in texts:
        for key, value in _parse_pairs(text).items():
            if key in extra:
                raise InputError(f"--extra: {key!r} is given twice")
            extra[key] = value
    return extra


def _parse_pairs(text: str) -> dict[str, Any]:
    """The object of one ``--extra``: a JSON object, or one ``KEY=VALUE``."""
    if text.lstrip().startswith("{"):
        parsed = _parse_value(text)
        if not isinstance(parsed, dict):
            raise InputError(f"--extra {text!r}: not a JSON object")
        return parsed
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise InputError(f"--extra {text!r}: expected KEY=VALUE")
    return {key: _parse_value(value)}


def _parse_value(text: str) -> object:
    """The JSON value of ``text``, or else the text itself."""
    try:
        value: object = json.loads(text, parse_constant=reject_nonfinite_number)
    except ValueError:
        return text
    except RecursionError:
        raise nesting_error() from None
    return value


def _print_events(terminal: Terminal, events: Sequence[Event], project: ProjectSpec) -> None:
    """Prints events as a table; columns without any text are left out."""
    columns = [
        TableColumn("event", is_right_aligned=True),
        TableColumn("at"),
        TableColumn("dataset", wraps=True),
        TableColumn("partitions", wraps=True),
        TableColumn("extra", wraps=True),
        TableColumn("triggered", wraps=True),
        TableColumn("included in", wraps=True),
    ]
    print_table(terminal, columns, [_row(event, project) for event in events])


def _row(event: Event, project: ProjectSpec) -> Row:
    """An event as a row of the table, in the order of its columns."""
    extra = ", ".join(f"{key}={_value_text(value)}" for key, value in event["extra"].items())
    return [
        str(event["seq"]),
        format_zoned(datetime.fromisoformat(event["at"]), project.timezone, seconds=True),
        event["asset"] or event["uri"],
        _describe_partitions(event, project),
        extra,
        ", ".join(event["triggered"]),
        ", ".join(event["included_in"]),
    ]


def _describe_partitions(event: Event, project: ProjectSpec) -> str:
    """The event's partitions; with time and segments, ``*`` stands for all segments of a time.

    Labels that the asset's present partitioning cannot read are shown as they were recorded.
    """
    partitioning, labels = event_partitioning(project, asset=event["asset"], uri=event["uri"]), event["partitions"]
    if not partitioning.is_product:
        return series(labels)
    try:
        parts = PartitionSet.union(partitioning.parse(label, recorded=True) for label in labels)
    except PartitionError:  # the asset has another partitioning since
        return series(labels)
    return series(partitioning.display_labels(parts))


def _value_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
