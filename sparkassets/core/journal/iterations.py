"""The iterations that an asset published and still has: which of them readers see, and which may be removed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.frozen import frozen


@frozen(array_like=True)
class PublishedIteration:
    """What one run published.

    Attributes:
        run: That published it.
        name: Of its folder, as `sparkassets.core.runs.publications` has it.
        version: Of the table at ``path``, by the run's own commit.
        seq: Number of the entry that recorded it.
        at: When that was, Unix seconds.
        blocks: What it holds; everything of an asset without partitions.
        interval: Data interval of the run, Unix seconds.
        shown: Versions of the table by which it became what readers see, ascending: that of its own commit, unless it
            was of an earlier interval than the newest then, and those of rollbacks to it.
        hides: What is seen of it where columns do not tell its blocks, all other iterations of that being hidden; else
            nothing.
    """

    run: str
    name: str
    version: int
    seq: int
    at: int
    blocks: PartitionSet
    interval: tuple[int, int] | None = None
    shown: tuple[int, ...] = ()
    hides: PartitionSet = NOTHING

    @property
    def visible_partitions(self) -> PartitionSet:
        """What readers see it of, in place of the iterations before it."""
        return self.hides or self.blocks


@frozen
class RetiredEntry:
    """Iterations that nobody can read any more: their folders may be removed from now on."""

    asset: str
    runs: tuple[str, ...]


def restore_iteration(
    iterations: Iterable[PublishedIteration], run: str, version: int
) -> tuple[PublishedIteration, ...]:
    """The iterations once that of a run is the newest again, by that version of the table."""
    return tuple(replace(each, shown=(*each.shown, version)) if each.run == run else each for each in iterations)


def visible_iterations(
    iterations: Iterable[PublishedIteration], version: int | None = None
) -> tuple[PublishedIteration, ...]:
    """What readers of a version of the table see, of the newest where none is given; that shown last comes first.

    Of each partition that is the iteration which was shown last by then.
    """
    shown = [(at, each) for each in iterations for at in each.shown if version is None or at <= version]
    found: list[PublishedIteration] = []
    covered = NOTHING
    for _, each in sorted(shown, key=lambda pair: pair[0], reverse=True):
        if each.visible_partitions - covered:
            found.append(each)
            covered = covered | each.visible_partitions
    return tuple(found)


def sole_visible_iteration(iterations: Iterable[PublishedIteration], version: int | None) -> str:
    """The name of the iteration that is all that readers of the newest version see; empty where none is.

    So it is not where the asset has partitions, or the table changed since: by others, or by a run that published an
    iteration beside it. Then the version tells what readers see.
    """
    newest = next(iter(visible_iterations(iterations)), None)
    return (
        newest.name
        if newest is not None and newest.visible_partitions.is_everything and newest.shown[-1] == version
        else ""
    )


def iteration_of_version(iterations: Iterable[PublishedIteration], version: int | None) -> str:
    """The name of the iteration that a run published by that version of the table; empty where it published none."""
    return next(
        (each.name for each in iterations if each.version == version and each.visible_partitions.is_everything), ""
    )


def find_superseded(iterations: Sequence[PublishedIteration], *, keep: int, pinned: Collection[str]) -> tuple[str, ...]:
    """The runs whose iterations may go: not among the newest ``keep`` by record, seen by nobody and ``pinned`` by none.

    What is the newest of a partition stays, whatever came for the others since.

    Args:
        iterations: In the order in which they were recorded.
        keep: At least 1.
        pinned: Runs whose iterations somebody may be reading, or is about to make the newest again.
    """
    kept = {each.run for each in (*iterations[-keep:], *visible_iterations(iterations))} | set(pinned)
    return tuple(each.run for each in iterations if each.run not in kept)
