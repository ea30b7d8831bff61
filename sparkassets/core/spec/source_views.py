"""Ids of the views of a file source, and the Delta tables that one source stands for."""

from __future__ import annotations

from typing import Final

from sparkassets.core.patterns import PathPattern
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.digests import blake2b
from sparkassets.errors import SourceError
from sparkassets.frozen import frozen

_DIGEST_SIZE: Final = 6


def view_id(uri: str) -> str:
    """Short id of a view, for places that name it often.

    >>> len(view_id("sparkassets:raw/event_day?by=day&timezone=UTC"))
    12
    """
    return blake2b(uri.encode(), digest_size=_DIGEST_SIZE).hexdigest()


def view_digest(asset: AssetSpec, uri: str) -> str:
    """Digest of a view of a file source and of how its files are read; it changes when either does."""
    view, source = asset.views[uri], asset.source
    columns = {name: kind for name, kind in asset.column_types.items() if name.lower() in map(str.lower, view.columns)}
    parts = [repr(view), sorted(columns.items()), None if source is None else sorted(source.options.items())]
    return blake2b(repr(parts).encode(), digest_size=_DIGEST_SIZE).hexdigest()


def source_pattern(asset: AssetSpec) -> PathPattern:
    """The pattern of a source's paths, with the columns of its segments as fields.

    Raises:
        SourceError: It has no path.
    """
    if asset.storage is None:
        raise SourceError(f"the source {asset.name!r} has no path")
    return PathPattern.parse(asset.storage.as_path, asset.path_partitioning.segment_columns)


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
    def of_source(cls, asset: AssetSpec) -> TableSet:
        """The table set of a source.

        Raises:
            SourceError: It has no place.
        """
        pattern, table = source_pattern(asset), asset.storage.table if asset.storage is not None else ()
        if not table:
            return cls(pattern)
        _, _, _, *within = pattern.root.split("/")  # of table://<number of parts>/<part>/…
        return cls(pattern, tuple(within), len(table))

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
