"""Documents of the iterations that an asset has published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sparkassets.core.documents.document_values import instant_text, interval_document, partitions_document
from sparkassets.core.iterations import FILES, ROWS, PublishedIteration, iteration_folder, visible_iterations
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from sparkassets.core.spec.model import AssetSpec


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
