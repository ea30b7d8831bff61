"""The Delta tables that the path, or the name in a catalog, of one source stands for."""

from __future__ import annotations

from sparkassets.core.patterns import PathPattern
from sparkassets.core.spec.model import AssetSpec, StorageLocation
from sparkassets.errors import SourceError
from sparkassets.frozen import frozen


@frozen
class TableSet:
    """Where the tables of one source are.

    Attributes:
        pattern: Matches each table by the names on the way to it from the pattern's root, with slashes between.
        within: The schema, or catalog and schema, that is the pattern's root; None where the tables are at paths.
        depth: How many parts the name of a table in a catalog has; 0 at paths.
    """

    pattern: PathPattern
    within: tuple[str, ...] | None = None
    depth: int = 0

    @classmethod
    def of(cls, asset: AssetSpec) -> TableSet:
        """The table set of a source.

        Raises:
            SourceError: It has no place.
        """
        storage = asset.storage
        if storage is None:
            raise SourceError(f"the source {asset.name!r} has no path")
        pattern = PathPattern.parse(storage.as_path, asset.partitioning.segment_columns)
        if not storage.table:
            return cls(pattern)
        _, _, _, *within = pattern.root.split("/")
        return cls(pattern, tuple(within), len(storage.table))

    def place(self, relative: str) -> StorageLocation:
        """Where one of them is, by its way from the root.

        >>> from sparkassets.core.patterns import PathPattern
        >>> TableSet(PathPattern.parse("lake/raw_{region}", ["region"])).place("raw_de").path
        'lake/raw_de'
        >>> names = PathPattern.parse("table://2/lake/raw_{region}", ["region"])
        >>> TableSet(names, ("lake",), 2).place("raw_de").table
        ('lake', 'raw_de')
        """
        if self.within is not None:
            return StorageLocation.of_table((*self.within, *relative.split("/")))
        path = f"{self.pattern.root}/{relative}"
        return StorageLocation(path, path)
