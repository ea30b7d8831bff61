"""Parses announced updates of datasets into event entries (docs/design/projects.md#events)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, NoReturn

from sparkassets.core.assets import NAME, lower_scheme, parse_uri
from sparkassets.core.conditions import datasets
from sparkassets.core.events import check_clear_text, check_extra, nesting_error
from sparkassets.core.instants import parse_instant, to_unix
from sparkassets.core.journal.entries import EventEntry
from sparkassets.core.partitions import EVERYTHING, UNPARTITIONED, Partitioning, PartitionSet
from sparkassets.core.partitions.json_form import decode_partitions, encode_partitions
from sparkassets.core.phrases import listing, show_value
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.suggestions import did_you_mean
from sparkassets.errors import InputError

ID_CHARACTERS: Final = 512
_OF_ANY_URI: Final = 'announce a dataset that no asset or schedule names as {"uri": …} in a file of JSON lines'
LINE_KEYS: Final = ("asset", "uri", "partition", "extra", "at", "id")


def parse_announcement(
    project: ProjectSpec,
    target: str,
    *,
    partition: str | None = None,
    extra: Mapping[str, Any] | None = None,
    id: str | None = None,  # noqa: A002  the word of the grammar
    at: datetime | str | None = None,
) -> EventEntry:
    """Builds the event of an update of ``target``, an asset's name or a dataset URI.

    Args:
        project: Has the assets, their partitions and their conditions.
        target: A URI if it has ``://``, is the URI of an asset, or is named as a URI by a condition; else a name.
        partition: Keys ``A..B`` or ``A``, inclusive.
        extra: Free, within the limits of `sparkassets.core.events`.
        id: Identifies the event among those of its dataset.
        at: When it happened; without an offset in the project's zone.

    Raises:
        InputError: An argument is wrong, or ``extra`` holds a credential.
    """
    _expect_text("target", target)
    is_name = _is_name(project, target)
    uri = dataset_uri_of(project, target)
    return _build_event(project, uri, target if is_name else None, partition=partition, extra=extra, id=id, at=at)


def dataset_uri_of(project: ProjectSpec, target: str) -> str:
    """The URI of the dataset that ``target``, an asset's name or a dataset URI, refers to.

    Raises:
        InputError: There is no such asset, or ``target`` is no URI.
    """
    return _require_asset(project, target).uri if _is_name(project, target) else _resolve_uri(project, target)


def parse_announcement_lines(
    project: ProjectSpec, lines: Iterable[str | Mapping[str, Any]], *, name: str
) -> list[EventEntry]:
    """Parses the events of ``lines``, each a JSON object or its text; skips blank texts.

    Args:
        project: Has the assets and their partitions.
        lines: Objects with some of `LINE_KEYS`, among them exactly one of ``asset`` and ``uri``.
        name: Origin of the lines, for messages: ``name:line: problem``.

    Raises:
        InputError: Some lines are wrong; the message lists every problem.
    """
    if isinstance(lines, str | bytes | Mapping) or not isinstance(lines, Iterable):
        raise InputError(f"{name}: expected a list of objects or of their JSON, found {show_value(lines)}")
    entries: list[EventEntry] = []
    problems: list[str] = []
    count = 0
    for number, line in enumerate(lines, start=1):
        if isinstance(line, str) and not line.strip():
            continue
        count += 1
        try:
            entries.append(_parse_line(project, line))
        except InputError as error:
            hint = f"; {error.hint}" if error.hint else ""
            problems.append(f"{name}:{number}: {error.args[0]}{hint}")
    if problems:
        refused_lines = f"{len(problems)} of {count} lines are" if count > 1 else "the line is"
        raise InputError("\n".join([f"{refused_lines} invalid; nothing was recorded", *problems]))
    return entries


def event_partitioning(project: ProjectSpec, *, asset: str | None, uri: str | None) -> Partitioning:
    """The partitioning by whose keys an event names partitions: of its asset, its view, or the assets of its URI.

    Unpartitioned where no asset has the URI, or several have it with different partitions.
    """
    if asset is not None:
        spec = project.assets.get(asset)
        return spec.views.get(uri or "", spec.partitioning) if spec is not None else UNPARTITIONED
    owners = _owners_of(project, uri or "")
    return owners[0].partitioning if owners and _have_same_grid(owners) else UNPARTITIONED


def encode_announcement(entry: EventEntry) -> dict[str, Any]:
    """The JSON of an event in the commit of the run that announces it; `decode_announcement` reads it back."""
    return {
        "uri": entry.uri,
        "asset": entry.asset,
        "ranges": encode_partitions(entry.parts),
        "extra": dict(entry.extra),
    }


def decode_announcement(encoded: Mapping[str, Any], *, run: str, interval: tuple[int, int] | None) -> EventEntry:
    """The event that ``run`` announced, from the JSON of `encode_announcement`."""
    parts = decode_partitions(encoded["ranges"]) or EVERYTHING
    return EventEntry(encoded["uri"], encoded["asset"], parts, encoded["extra"], run=run, interval=interval)


def _build_event(
    project: ProjectSpec,
    uri: str,
    asset: str | None,
    *,
    partition: object,
    extra: object,
    id: object,  # noqa: A002  as in `parse_announcement`
    at: object,
) -> EventEntry:
    """Checks the values of an announcement and builds its event; ``asset`` is None where a URI names the dataset."""
    owners = [project.assets[asset]] if asset is not None else _owners_of(project, uri)
    keys = None if partition is None else _expect_text("partition", partition)
    parts = EVERYTHING if keys is None else _parse_partitions(owners, asset or uri, keys)
    checked_extra = {} if extra is None else check_extra(extra)
    checked_id = None
    if id is not None:
        checked_id = check_clear_text("id", _expect_text("id", id), most=ID_CHARACTERS, stored="events are clear text")
    owner = owners[0].name if len(owners) == 1 else None  # assets that share the URI share the event
    return EventEntry(uri, owner, parts, checked_extra, checked_id, _parse_event_time(project, at))


def _parse_line(project: ProjectSpec, line: str | Mapping[str, Any]) -> EventEntry:
    """The event of one line of `parse_announcement_lines`."""
    values = _check_keys(_parse_json(line) if isinstance(line, str) else line)
    if ("asset" in values) == ("uri" in values):  # both, or neither
        raise InputError('expected one of "asset" and "uri"')
    for key in ("asset", "uri"):
        if key in values:
            _expect_text(key, values[key])
    asset = values.get("asset")
    uri = _require_asset(project, asset).uri if asset is not None else _resolve_uri(project, values["uri"])
    return _build_event(
        project,
        uri,
        asset,
        partition=values.get("partition"),
        extra=values.get("extra"),
        id=values.get("id"),
        at=values.get("at"),
    )


def _check_keys(line: object) -> dict[str, Any]:
    """The object of a line without its null values; refuses unknown keys."""
    if not isinstance(line, Mapping):
        raise InputError(f"expected a JSON object, found {show_value(line)}")
    for key in line:
        if key not in LINE_KEYS:
            raise InputError(f"unknown key {key!r}", hint=did_you_mean(str(key), LINE_KEYS))
    return {key: value for key, value in line.items() if value is not None}  # null means the same as no key


def _parse_json(line: str) -> object:
    """The value of a line's JSON text; refuses NaN, Infinity and duplicate keys, which Python would read."""
    try:
        value: object = json.loads(
            line, parse_constant=reject_nonfinite_number, object_pairs_hook=_reject_duplicate_keys
        )
    except ValueError as error:
        raise InputError(f"not JSON: {error}") from None
    except RecursionError:
        raise nesting_error() from None
    return value


def reject_nonfinite_number(text: str) -> NoReturn:
    """Refuses NaN and Infinity, which Python reads as JSON.

    Raises:
        ValueError: Always.
    """
    raise ValueError(f"{text} is not a JSON number")


def _reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The JSON object of these pairs; refuses a key that is there twice, of which Python would keep the last."""
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise ValueError(f"the key {key!r} is given twice")
        values[key] = value
    return values


def _expect_text(key: str, value: object) -> str:
    """The value, if it is text; ``key`` names it in the error."""
    if not isinstance(value, str):
        raise InputError(f'"{key}" is {show_value(value)}; expected text')
    return value


def _is_name(project: ProjectSpec, target: str) -> bool:
    """Whether ``target`` is meant as an asset's name: an asset has it, or it is no URI that anybody names.

    An asset without ``uri`` has its path as URI, which need not contain ``://``.
    """
    if target in project.assets:
        return True
    return "://" not in target and _dataset_uris(project).isdisjoint((target, lower_scheme(target)))


def _dataset_uris(project: ProjectSpec) -> set[str]:
    """The dataset URIs of the project: those of assets, and those that conditions name."""
    conditions = [asset.schedule.condition for asset in project.assets.values()]
    condition_uris = {leaf.ref for each in conditions if each is not None for leaf in datasets(each) if leaf.is_uri}
    return condition_uris | {asset.uri for asset in project.assets.values()}


def _require_asset(project: ProjectSpec, name: str) -> AssetSpec:
    """The asset of that name; refuses an unknown one, and a multi-asset, whose outlets hold the data."""
    asset = project.assets.get(name)
    if asset is None:
        from sparkassets.core.credentials import secret_in_text  # what only shows events loads none of it

        if secret := secret_in_text(name):
            raise InputError(f"the name of the dataset contains {secret}; events are clear text")
        raise project.unknown_asset_error(name, hint=None if NAME.fullmatch(name) else _OF_ANY_URI)
    if asset.outlets:
        hint = f"name {listing([repr(each) for each in asset.outlets])}"
        raise InputError(f"{name!r} is a multi-asset without data of its own; use one of its outlets", hint=hint)
    return asset


def _resolve_uri(project: ProjectSpec, text: str) -> str:
    """The dataset URI that the text means: an asset's exactly as written, or else a parsed URI.

    The URI of an asset without ``uri`` is its path, which may hold any characters.
    """
    return text if _owners_of(project, text) else parse_uri(text)


def _owners_of(project: ProjectSpec, uri: str) -> list[AssetSpec]:
    """The assets with that dataset URI."""
    return [asset for asset in project.assets.values() if asset.uri == uri]


def _have_same_grid(owners: list[AssetSpec]) -> bool:
    """Whether partition keys mean the same for all these assets."""
    return all(item.partitioning.same_grid(owners[0].partitioning) for item in owners)


def _parse_partitions(owners: list[AssetSpec], target: str, keys: str) -> PartitionSet:
    """The partitions that the keys of an announcement name.

    Refused where the target has no partitions, its assets have different ones, or the keys stand for all time.
    """
    if owners and not _have_same_grid(owners):
        names = ", ".join(repr(owner.name) for owner in owners)
        raise InputError(
            f"the assets of {target!r} ({names}) have different partitions, so an event of it cannot name {keys!r}",
            hint="announce it for one of these assets, by its name",
        )
    if not owners or not owners[0].partitioning.is_partitioned:
        raise InputError(f"{target!r} has no partitions, so an event cannot name {keys!r}")
    # a source learns segments from events; for other assets, runs and people add them
    parts = owners[0].partitioning.parse(keys, learns=owners[0].source is not None)
    if not owners[0].partitioning.can_list(parts):
        raise InputError(
            f"{keys!r} means all of time, but an event of {target!r} must name a time",
            hint="name the time: KEY or A..B",
        )
    return parts


def _parse_event_time(project: ProjectSpec, at: object) -> int | None:
    """When the event happened, Unix seconds; None where the announcement does not say.

    An instant without an offset is in the project's time zone.
    """
    match at:
        case None:
            return None
        case str():
            return to_unix(parse_instant(at, zone=project.timezone))
        case datetime(tzinfo=None):
            return to_unix(parse_instant(at.isoformat(), zone=project.timezone))
        case datetime():
            return to_unix(at)
    raise InputError(f'"at" is {show_value(at)}; expected an ISO instant as text')
