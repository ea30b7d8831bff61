"""How much a run reads, and whether an inlet's changes can be read, by logs and lists without a JVM.

A volume is the size of whole files without those that hold no pinned partition; what Spark skips besides, such as
columns, is not subtracted.
"""

from __future__ import annotations

from collections.abc import Iterable

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING, UNPARTITIONED, Partitioning, PartitionSet
from sparkassets.core.patterns import KnownFile, file_key, known_tables
from sparkassets.core.run_costs import InletVolume
from sparkassets.core.runs import ChangeAvailability, InletPin, TablePosition
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.source_views import TableSet, source_pattern, view_id
from sparkassets.delta.change_feed import table_changes
from sparkassets.delta.file_split import TableFiles
from sparkassets.delta.tables import is_table, load_table, reason
from sparkassets.errors import SourceError
from sparkassets.files import list_files
from sparkassets.sources.files import slots_of

_Slot = tuple[str, PartitionSet, int, int]
"""Its key in the source's cursor, its partitions, and its bytes and number of files; or those of a single file."""


class LogVolumeEstimator:
    """Opens every version of a table once, and lists every source once."""

    def __init__(self) -> None:
        self._tables: dict[tuple[str, str | None, int], TableFiles | str] = {}
        self._slots: dict[tuple[str, int, bool], list[_Slot] | str] = {}
        self._estimates: dict[tuple[str, InletPin], InletVolume] = {}

    def estimate_volume(self, asset: AssetSpec, pin: InletPin, known: AssetState) -> InletVolume:
        """As `sparkassets.ports.VolumeEstimator` has it."""
        source, key = asset.source, (asset.name, pin)
        if key not in self._estimates:
            if asset.storage is None or (source is not None and source.kind == "events"):
                self._estimates[key] = InletVolume()
            elif source is not None and source.kind == "tables":
                self._estimates[key] = self._table_set_volume(asset, pin, known)
            elif source is not None and source.kind != "delta":
                self._estimates[key] = self._file_volume(asset, pin, known)
            else:
                self._estimates[key] = self._table_volume(asset, asset.storage.path, pin)
        return self._estimates[key]

    def _table_volume(self, asset: AssetSpec, path: str, pin: InletPin) -> InletVolume:
        if pin.version is None:
            return InletVolume()  # it was never written: a run reads a table without rows
        if pin.low is not None and (since := TablePosition.parse(pin.low)) is not None:
            return _change_volume(path, since, pin.version)
        return self._version_volume(path, pin.table_id, pin.version, parts=pin.parts, partitioning=asset.partitioning)

    def _version_volume(
        self,
        path: str,
        table_id: str | None,
        version: int,
        *,
        parts: PartitionSet = EVERYTHING,
        partitioning: Partitioning = UNPARTITIONED,
    ) -> InletVolume:
        """Bytes and number of the files of a table's version that may hold rows of ``parts``.

        Both are None, with the reason, where the table cannot be read. An opened version is kept for later inlets.
        """
        key = path, table_id, version
        if key not in self._tables:
            self._tables[key] = _load_files(*key)
        files = self._tables[key]
        if isinstance(files, str):
            return InletVolume(None, None, files)
        read = files.find_holding(parts, partitioning=partitioning)
        return InletVolume(sum(file.size for file in read), len(read))

    def _table_set_volume(self, asset: AssetSpec, pin: InletPin, known: AssetState) -> InletVolume:
        """The files of each pinned table of a table set."""
        partitioning, tables = asset.partitioning, TableSet.of_source(asset)
        size = count = 0
        for each in known_tables(known.position, partitioning):
            if not pin.parts.overlaps(each.slot.parts(tables.pattern, partitioning)):
                continue
            read = self._version_volume(tables.place(each.relative).path, each.table_id, each.version)
            if read.bytes is None:
                return read
            size, count = size + read.bytes, count + (read.files or 0)
        return InletVolume(size, count)

    def _file_volume(self, asset: AssetSpec, pin: InletPin, known: AssetState) -> InletVolume:
        key = asset.name, pin.seq, asset.in_paths is None  # whoever looked since has seen another list
        if key not in self._slots:
            self._slots[key] = _list_slots(asset)
        slots = self._slots[key]
        if isinstance(slots, str):
            return InletVolume(None, None, slots)
        observed = [each for each in slots if known.position.get(each[0])]
        if pin.parts.is_everything or not asset.partitioning.is_partitioned:
            return _sum_slots(observed)
        return _sum_slots(each for each in observed if pin.parts.overlaps(_find_parts(asset, each, known)))


def _change_volume(path: str, since: TablePosition, version: int) -> InletVolume:
    """Bytes and number of the files with the changes after a position; None for both, with the reason, if unknown."""
    try:
        changes = table_changes(path, since, version)
    except (SourceError, OSError) as error:
        return InletVolume(None, None, str(error.args[0]) if isinstance(error, SourceError) else str(error))
    if changes.availability.kind != "available":
        return InletVolume(None, None, changes.availability.reason)
    return InletVolume(sum(file.size for file in changes.files), len(changes.files))


def _load_files(path: str, table_id: str | None, version: int) -> TableFiles | str:
    """The live files of a version; a text that says why, if they are unknown."""
    from deltalake.exceptions import DeltaError, TableNotFoundError

    try:
        table = load_table(path, version=version)
        if table_id is not None and str(table.metadata().id) != table_id:
            return "the table was re-created since"
        return TableFiles.load_files(table)
    except TableNotFoundError:
        exists = is_table(path)
        return f"its log no longer has version {version}" if exists else f"there is no Delta table at '{path}'"
    except SourceError as error:
        return str(error.args[0])
    except (DeltaError, OSError, ValueError) as error:
        return f"version {version} of the table cannot be read without Spark: {reason(error)}"


def _list_slots(asset: AssetSpec) -> list[_Slot] | str:
    """Key, partitions, bytes and number of files of each slot as it is now; a text that says why, if unknown."""
    try:
        pattern = source_pattern(asset)
        files = list_files(pattern)
    except SourceError as error:
        return str(error.args[0])
    if files is None:
        return f"'{pattern.root}' does not exist"
    files_with_rows = [file for file in files if not asset.file_format.is_rowless(file[1])]
    slots = slots_of(pattern, asset.path_partitioning, files_with_rows)
    if asset.in_paths is not None:
        return [(file_key(file[0]), parts, file[1], 1) for parts, each in slots.values() for file in each]
    return [(key, parts, sum(file[1] for file in each), len(each)) for key, (parts, each) in slots.items()]


def _find_parts(asset: AssetSpec, slot: _Slot, known: AssetState) -> PartitionSet:
    """The partitions of a slot by its paths, or those that values of a file's rows had when it was observed."""
    key, parts, _, _ = slot
    return parts if asset.in_paths is None else KnownFile.decode(known.position[key]).parts(view_id(*asset.views))


def _sum_slots(slots: Iterable[_Slot]) -> InletVolume:
    size = count = 0
    for _, _, bytes_of_slot, files in slots:
        size, count = size + bytes_of_slot, count + files
    return InletVolume(size, count)


class DeltaChangeFeeds:
    """Reads every range of a table's log once; implements `ports.ChangeFeeds`."""

    def __init__(self) -> None:
        self._answers: dict[tuple[str, TablePosition, int], ChangeAvailability] = {}

    def check_availability(self, asset: AssetSpec, position: TablePosition, version: int) -> ChangeAvailability:
        """As `sparkassets.ports.ChangeFeeds` has it."""
        if asset.storage is None:
            return ChangeAvailability()
        key = asset.storage.path, position, version
        if key not in self._answers:
            self._answers[key] = _check_availability(*key)
        return self._answers[key]


def _check_availability(path: str, position: TablePosition, version: int) -> ChangeAvailability:
    try:
        return table_changes(path, position, version).availability
    except (SourceError, OSError) as error:
        return ChangeAvailability("unreadable", str(error.args[0]) if isinstance(error, SourceError) else str(error))
