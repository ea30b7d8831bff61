"""Which files hold the blocks of a run before and after it, for the comparison of their rows before the commit."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sparkassets.core.partitions import NOTHING, Partitioning, PartitionSet
from sparkassets.delta.columns import told_by
from sparkassets.delta.live import LiveFile, flat_adds
from sparkassets.delta.log import DeltaLog
from sparkassets.delta.parts import Cell, FileParts
from sparkassets.delta.staged import StagedFile
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from deltalake import DeltaTable


@frozen
class Group:
    """Blocks, and all files that hold rows of them: the table's, and those that are to take their place.

    Attributes:
        parts: The blocks; of several where some file holds rows of several.
    """

    parts: PartitionSet
    there: tuple[LiveFile, ...] = ()
    staged: tuple[StagedFile, ...] = ()

    @property
    def has_as_many_rows(self) -> bool:
        """Whether that many rows come as go; also where nobody knows how many go."""
        known = [each.rows for each in self.there if each.rows is not None]
        return len(known) < len(self.there) or sum(known) == sum(each.rows for each in self.staged)


@frozen
class Same:
    """What came out as it was.

    Attributes:
        parts: The blocks.
        there: Paths of the table's files that hold them, and can stay.
        staged: Those of the files that hold the same, and are not needed.
        rows: How many they hold.
    """

    parts: PartitionSet = NOTHING
    there: frozenset[str] = frozenset()
    staged: frozenset[str] = frozenset()
    rows: int = 0

    @classmethod
    def of(cls, groups: Sequence[Group], *, beside: PartitionSet = NOTHING) -> Same:
        """All of these groups, and blocks ``beside`` that share files with others."""
        staged = [file for group in groups for file in group.staged]
        return cls(
            PartitionSet.union([*(group.parts for group in groups), beside]),
            frozenset(file.path for group in groups for file in group.there),
            frozenset(file.path for file in staged),
            sum(file.rows for file in staged),
        )


def is_told(path: str, table: DeltaTable, told: tuple[str, int] | None) -> bool:
    """Whether the rows of the loaded version are those of ``told``, a table's id and its version.

    Others may have moved them to other files since.
    """
    if told is None or told[0] != str(table.metadata().id) or told[1] > table.version():
        return False
    if told[1] == table.version():
        return True
    commits = [each for each in DeltaLog(path).after(told[1]) if each.version <= table.version()]
    harmless = not any(each.files or each.metadata is not None for each in commits)
    return harmless and len(commits) == table.version() - told[1]


def grouped(
    table: DeltaTable,
    blocks: PartitionSet,
    *,
    partitioning: Partitioning,
    there: Sequence[LiveFile],
    staged: Sequence[StagedFile],
) -> list[Group]:
    """The blocks by the files that hold their rows; all in one group where a file may hold rows of several.

    Args:
        table: At the version whose files are ``there``.
        blocks: That are computed.
        partitioning: Whose.
        there: The files of the table that hold rows of the blocks, and of no others.
        staged: Those that are to take their place.

    Raises:
        SourceError: deltalake cannot tell the table's files.
    """
    cells = _cells(table, partitioning.knowing(blocks), there, staged)
    if cells is None:
        return [Group(blocks, tuple(there), tuple(staged))]
    old, new = cells
    groups = [
        Group(blocks & partitioning.cover(PartitionSet.of_slots([cell])), tuple(old[cell]), tuple(new[cell]))
        for cell in {**old, **new}
    ]
    bare = blocks - PartitionSet.union(group.parts for group in groups)
    return [*groups, Group(bare)] if bare else groups


def _cells(
    table: DeltaTable, partitioning: Partitioning, there: Sequence[LiveFile], staged: Sequence[StagedFile]
) -> tuple[dict[Cell, list[LiveFile]], dict[Cell, list[StagedFile]]] | None:
    """The files by the one block that all of their rows are of; None where not each is known to have one."""
    columns = told_by(table.schema().to_json(), partitioning) if partitioning.is_partitioned else None
    if columns is None:
        return None
    told = FileParts.of(columns, partitioning)
    live = told.of_live(flat_adds(table))
    old: defaultdict[Cell, list[LiveFile]] = defaultdict(list)
    new: defaultdict[Cell, list[StagedFile]] = defaultdict(list)
    for file in there:
        if (cell := live[file.path].cell) is None:
            return None
        old[cell].append(file)
    for made in staged:
        if (cell := told.of_action(made.partition, json.loads(made.stats)).cell) is None:
            return None
        new[cell].append(made)
    return old, new
