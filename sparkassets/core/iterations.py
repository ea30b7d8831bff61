"""Published iterations: where they are, which of them readers see, and which may be removed.

The folder layout of ``write: publish``: each run writes a folder of its own, which no later run touches.

The target at ``path`` is a Delta table in any case, and shows the newest iteration. Beside its log::

    <path>/_iterations/<run>.<token>.<attempt>/rows/     the iteration's rows, a Delta table of its own
    <path>/_iterations/<run>.<token>.<attempt>/files/    what a function wrote there itself

An iteration becomes the newest by one commit at ``path`` that names the files below its ``rows``. So fences,
look-ups and take-overs are those of any other write, and nothing is copied or renamed. Of a function that returns no
rows these are one row that says where its files are, so that any reader of Delta finds them. ``VACUUM`` passes over
folders that begin with ``_``, be it Spark's or deltalake's: older iterations stay until sparkassets removes them, and
are read, and made the newest again, from their own logs, however short the log at ``path`` is.

A name holds the fence token and the attempt as well, because an abandoned attempt may still be writing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.frozen import frozen, replace

ITERATIONS: Final = "_iterations"
"""The folder of all iterations, in the table's folder."""
ROWS: Final = "rows"
"""The folder of an iteration's rows, in its own folder."""
FILES: Final = "files"
"""The folder of the files that a function wrote, in the iteration's own folder."""


def iteration_name(run: str, token: int, attempt: int) -> str:
    """The name of the iteration that one attempt of a run writes, and of its folder.

    >>> iteration_name("model-2025", 7, 1)
    'model-2025.7.1'
    """
    return f"{run}.{token}.{attempt}"


def iteration_folder(name: str, part: str = "") -> str:
    """The iteration's folder, or one in it, relative to the table.

    >>> iteration_folder("model-2025.7.1"), iteration_folder("model-2025.7.1", FILES)
    ('_iterations/model-2025.7.1', '_iterations/model-2025.7.1/files')
    """
    return "/".join(filter(None, [ITERATIONS, name, part]))


@frozen(array_like=True)
class PublishedIteration:
    """The rows that one run published.

    Attributes:
        run: The run that published it.
        name: Name of its folder, as of `iteration_name`.
        version: Version of the table at ``path`` from the run's own commit.
        seq: Sequence number of the entry that recorded it.
        at: When it was recorded, Unix seconds.
        partitions: Its partitions; everything for an asset without partitions.
        interval: Data interval of the run, Unix seconds.
        shown: Versions of the table that made it visible to readers, ascending: its own commit's, unless a later
            interval was visible then, and those of rollbacks to it.
        hides: The partitions in which it hides all other iterations, where no column of the rows names ``partitions``;
            else nothing.
    """

    run: str
    name: str
    version: int
    seq: int
    at: int
    partitions: PartitionSet
    interval: tuple[int, int] | None = None
    shown: tuple[int, ...] = ()
    hides: PartitionSet = NOTHING

    @property
    def visible_partitions(self) -> PartitionSet:
        """The partitions in which readers see it in place of earlier iterations."""
        return self.hides or self.partitions


@frozen
class RetiredEntry:
    """Iterations that no run can read any more: their folders may be removed from now on."""

    asset: str
    runs: tuple[str, ...]


def restore_iteration(
    iterations: Iterable[PublishedIteration], run: str, version: int
) -> tuple[PublishedIteration, ...]:
    """The iterations after a rollback to that of ``run``, which ``version`` of the table made visible again."""
    return tuple(replace(each, shown=(*each.shown, version)) if each.run == run else each for each in iterations)


def visible_iterations(
    iterations: Iterable[PublishedIteration], version: int | None = None
) -> tuple[PublishedIteration, ...]:
    """The iterations that readers of a table's version see, last shown first; by default of the newest version.

    In each partition readers see the iteration that was shown last up to that version.
    """
    showings = [
        (shown_at, each) for each in iterations for shown_at in each.shown if version is None or shown_at <= version
    ]
    visible: list[PublishedIteration] = []
    covered = NOTHING
    for _, each in sorted(showings, key=lambda pair: pair[0], reverse=True):
        if each.visible_partitions - covered:
            visible.append(each)
            covered = covered | each.visible_partitions
    return tuple(visible)


def sole_visible_iteration(iterations: Iterable[PublishedIteration], version: int | None) -> str:
    """The name of the only iteration that readers of the newest version see; empty where there is no such one.

    Then only the version identifies the visible rows. That is so where the asset has partitions, or the table changed
    since: another writer changed it, or a run published an older interval beside it.
    """
    newest = next(iter(visible_iterations(iterations)), None)
    return (
        newest.name
        if newest is not None and newest.visible_partitions.is_everything and newest.shown[-1] == version
        else ""
    )


def iteration_of_version(iterations: Iterable[PublishedIteration], version: int | None) -> str:
    """The name of the iteration that this version of the table published; empty where it published none."""
    return next(
        (each.name for each in iterations if each.version == version and each.visible_partitions.is_everything), ""
    )


def find_superseded(iterations: Sequence[PublishedIteration], *, keep: int, pinned: Collection[str]) -> tuple[str, ...]:
    """The runs whose iterations may be removed: older than the newest ``keep``, not visible and not ``pinned``.

    The newest iteration of a partition stays, however many others came since.

    Args:
        iterations: In the order of their records.
        keep: At least 1.
        pinned: Runs whose iterations a claim may read, or is about to roll back to.
    """
    kept_runs = {each.run for each in (*iterations[-keep:], *visible_iterations(iterations))} | set(pinned)
    return tuple(each.run for each in iterations if each.run not in kept_runs)
