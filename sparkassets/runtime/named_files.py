"""Which blocks of a run are bad, where its error names the files that cannot be read."""

from __future__ import annotations

from urllib.parse import unquote

from sparkassets.core.partitions import NOTHING, Dependency, PartitionSet
from sparkassets.core.patterns import PathPattern
from sparkassets.core.spec.model import AssetSpec
from sparkassets.errors import RunError
from sparkassets.ports import RunOrder


def bad_blocks(order: RunOrder, error: BaseException) -> PartitionSet:
    """Those of the run's blocks that read a file which the error names; nothing where paths do not tell them."""
    if not issubclass(type(error), RunError) or not isinstance(error, RunError) or order.blocks.is_everything:
        return NOTHING
    found = [_readers(order, upstream, path) for upstream in order.inlets.values() for path in error.files]
    return PartitionSet.union(found) & order.blocks


def _readers(order: RunOrder, upstream: AssetSpec, path: str) -> PartitionSet:
    """The blocks that read a file of that source."""
    inlet = order.asset.inlets.get(upstream.name)
    if inlet is None or inlet.mapping is None or inlet.view is not None:
        return NOTHING
    needed = Dependency(inlet.mapping, order.asset.partitioning, upstream.partitioning, inlet.matches)
    return needed.affected_partitions(_parts_of(upstream, path))


def _parts_of(source: AssetSpec, path: str) -> PartitionSet:
    """The partition that a file is in, by its path; nothing where that does not tell it, or the file is another's."""
    if source.source is None or source.storage is None or source.in_paths is not None:
        return NOTHING
    layout = source.path_partitioning
    pattern = PathPattern.parse(source.storage.path, layout.segment_columns)
    root = _bare(pattern.root).rstrip("/") + "/"
    for each in (_bare(path), _bare(unquote(path))):
        relative, text = each.removeprefix(root), None
        if pattern.fields and each.startswith(root):
            text = pattern.match(relative)
        if text is not None:
            segment, time = pattern.segments_of_path(relative), pattern.time_of_text(text, layout)
            if segment is not None and time is not None:
                return PartitionSet.from_slots([(segment, time)])
    return NOTHING


def _bare(path: str) -> str:
    """A path without its scheme, which Spark writes as ``file:/a`` and ``file:///a``."""
    scheme, colon, rest = path.partition(":")
    return (rest if colon and "/" not in scheme else path).lstrip("/")
