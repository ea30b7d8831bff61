"""Documents of what the journal records: events, iterations and marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sparkassets.core.documents.document_values import instant_text, interval_document, key_ranges, partitions_document
from sparkassets.core.journal.announcements import event_partitioning
from sparkassets.core.journal.iterations import PublishedIteration, visible_iterations
from sparkassets.core.runs import FILES, ROWS, iteration_folder
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from sparkassets.core.journal.marks import MarkResult
    from sparkassets.core.spec.model import AssetSpec
    from sparkassets.core.spec.project_spec import ProjectSpec


def event_document(event: Mapping[str, Any], project: ProjectSpec) -> dict[str, Any]:
    """One event: ``{seq, asset, uri, partitions, at, extra, run}``.

    An event from the journal also has its ``id`` and the runs that it ``triggered`` or was ``included_in``.
    """
    partitioning = event_partitioning(project, asset=event["asset"], uri=event["uri"])
    return {**event, "partitions": key_ranges(event["partitions"], partitioning)}


_OURS = frozenset({"path", "key", "run"})
"""Keys of an iteration event's extra that this package sets; the others are the run's own."""


@frozen
class ListedIteration:
    """An iteration that still exists, for display.

    Attributes:
        iteration: Its record in the journal.
        newest: Whether readers see it for some of its partitions.
        path: Location of its rows or files.
        extra: The free JSON that the run recorded, and its counts.
    """

    iteration: PublishedIteration
    newest: bool
    path: str
    extra: Mapping[str, Any]


def list_iterations(
    asset: AssetSpec, iterations: Sequence[PublishedIteration], extras: Mapping[str, Mapping[str, Any]]
) -> list[ListedIteration]:
    """The iterations, newest record first; ``extras`` has the extra of each iteration's event, by run."""
    root, visible = asset.storage.path.rstrip("/") if asset.storage is not None else "", visible_iterations(iterations)
    found = []
    for each in reversed(iterations):
        extra = extras.get(each.run, {})
        part = FILES if str(extra.get("path", "")).endswith(f"/{FILES}") else ROWS
        facts = {key: value for key, value in extra.items() if key not in _OURS}
        found.append(ListedIteration(each, each in visible, f"{root}/{iteration_folder(each.name, part)}", facts))
    return found


def iteration_document(found: ListedIteration, asset: AssetSpec) -> dict[str, Any]:
    """One iteration; ``partitions`` is null for an asset without partitions."""
    each = found.iteration
    return {
        "run": each.run,
        "partitions": partitions_document(each.partitions, asset),
        "data_interval": interval_document(each.interval),
        "published_at": instant_text(each.at),
        "newest": found.newest,
        "path": found.path,
        "extra": dict(found.extra),
    }


def mark_document(mark: MarkResult, project: ProjectSpec) -> dict[str, Any]:
    """``{asset, mark, changed, partitions, unchanged, data_interval, settled, reason, by}``.

    Both sets of partitions are null for an asset without partitions; ``data_interval`` is that of the named instance,
    or null.
    """
    asset = project.assets[mark.asset]
    return {
        "asset": mark.asset,
        "mark": mark.kind,
        "changed": bool(mark.partitions),
        "partitions": partitions_document(mark.partitions, asset),
        "unchanged": partitions_document(mark.unchanged, asset),
        "data_interval": interval_document(mark.instance),
        "settled": list(mark.settled),
        "reason": mark.reason,
        "by": mark.by,
    }
