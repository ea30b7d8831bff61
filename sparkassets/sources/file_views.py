"""News of the views of a file source: the partitions of values in new, changed and removed files.

Only new and changed files are read. The partitions of each are kept in the source's cursor, so that old
values of changed and removed files are reported as well as new ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import field
from typing import Any

from sparkassets.core.journal.entries import ViewChanges
from sparkassets.core.partitions import NOTHING, Partitioning, PartitionSet, Segment
from sparkassets.core.partitions.json_form import encode_partitions
from sparkassets.core.patterns import KnownFile, file_key, fingerprint, is_of_file
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.source_views import source_pattern, view_digest, view_id
from sparkassets.files import File
from sparkassets.files.object_stores import local_path
from sparkassets.frozen import frozen
from sparkassets.ports import FileContent, LastLook, TextFileReader
from sparkassets.sources.problems import NAMED, describe_ignored_values

_THREADS = 16
_UNSEEN = KnownFile("", "", {}, {})
"""What is known of a file before it is seen."""

Slots = Mapping[str, tuple[Segment, list[File]]]
"""The segments that a slot's path tells, and its files, by the slot's key."""


@frozen
class FileViewChanges:
    """What one look found of a source's views.

    Attributes:
        views: The changed and removed partitions, by the views' identities.
        cursor: Changes of the cursor, by the keys of files; None deletes an entry.
        notes: Sentences about rows that are left out.
        read: The number of files read.
        unread: The number of files that only a Spark session can read; if there are any, the rest is empty.
    """

    views: Mapping[str, ViewChanges] = field(default_factory=dict)
    cursor: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    read: int = 0
    unread: int = 0


def observe_views(
    asset: AssetSpec,
    slots: Slots,
    *,
    unsettled: Collection[str],
    last: LastLook,
    texts: TextFileReader,
) -> FileViewChanges:
    """The news of the source's views; reads new and changed files.

    Args:
        asset: The source.
        slots: All slots with their files.
        unsettled: The keys of slots that still change; their last observation stands.
        last: What the last look left.
        texts: Reads CSV and JSON files.

    Raises:
        SourceError: A file cannot be read, or lacks a column.
    """
    file_cursor = {key: value for key, value in last.cursor.items() if is_of_file(key)}
    if not asset.views:
        return FileViewChanges(cursor=dict.fromkeys(file_cursor))
    known_files = {key: KnownFile.decode(value) for key, value in file_cursor.items()}
    return _ViewInspection(asset, slots, unsettled, known_files, texts).find_changes(last.view_coverage)


@frozen
class _ViewInspection:
    """One look at a source's views.

    Attributes:
        before: The known files, by their keys.
    """

    asset: AssetSpec
    slots: Slots
    unsettled: Collection[str]
    before: Mapping[str, KnownFile]
    texts: TextFileReader

    def find_changes(self, view_coverage: Mapping[str, PartitionSet]) -> FileViewChanges:
        """The news, and the changes of the cursor."""
        settled_files = self._list_settled()
        gone_files = self._list_gone(settled_files)
        view_specs = {uri: (view_id(uri), view_digest(self.asset, uri)) for uri in self.asset.views}
        files_to_read = {
            key: settled for key, settled in settled_files.items() if self._is_new(key, settled[1], view_specs.values())
        }
        contents = self._read_files(files_to_read, view_specs)
        if contents is None:
            return FileViewChanges(unread=len(files_to_read))
        after = {**self.before, **contents}
        for key in gone_files:
            del after[key]
        looks = ((uri, self._view(uri, contents, gone_files, after, view_coverage[uri])) for uri in view_specs)
        return FileViewChanges(
            views={uri: changes for uri, changes in looks if changes},
            cursor=dict.fromkeys(gone_files) | {key: each.encode() for key, each in contents.items()},
            notes=self._notes(after.values()),
            read=len(files_to_read),
        )

    def _list_settled(self) -> dict[str, tuple[str, File]]:
        """The slot and the file of each key, for files of slots that no longer change."""
        settled = {slot: files for slot, (_, files) in self.slots.items() if slot not in self.unsettled}
        return {file_key(file[0]): (slot, file) for slot, files in settled.items() for file in files}

    def _list_gone(self, settled_files: Collection[str]) -> dict[str, KnownFile]:
        """The known files that are no longer there, by their keys."""
        missing = {key: each for key, each in self.before.items() if key not in settled_files}
        return {key: each for key, each in missing.items() if each.slot not in self.unsettled}

    def _is_new(self, key: str, file: File, specs: Collection[tuple[str, str]]) -> bool:
        """Whether the file must be read: it is new or changed, or was not read for one of these views."""
        known_file = self.before.get(key)
        if known_file is None or known_file.seen != fingerprint([file]):
            return True
        return any(known_file.held.get(view, [""])[0] != spec for view, spec in specs)

    def _read_files(
        self, files: Mapping[str, tuple[str, File]], specs: Mapping[str, tuple[str, str]]
    ) -> dict[str, KnownFile] | None:
        """What the cursor keeps of each of these files, by its key; None if only a session can read them."""
        contents = {uri: self._contents(view, files) for uri, view in self.asset.views.items()} if files else {}

        def make_known_file(key: str) -> KnownFile:
            slot, file = files[key]
            held: dict[str, list[Any]] = {}
            excluded: defaultdict[str, set[str]] = defaultdict(set)
            for uri, view_contents in contents_by_view.items():
                view, spec = specs[uri]
                held[view] = [spec, encode_partitions(view_contents[file[0]].parts)]
                for column, values in view_contents[file[0]].excluded_values.items():
                    excluded[column].update(values)
            return KnownFile(
                fingerprint([file]), slot, held, {column: sorted(excluded[column])[:NAMED] for column in excluded}
            )

        contents_by_view = {uri: view_contents for uri, view_contents in contents.items() if view_contents is not None}
        return {key: make_known_file(key) for key in files} if len(contents_by_view) == len(contents) else None

    def _contents(self, view: Partitioning, files: Mapping[str, tuple[str, File]]) -> Mapping[str, FileContent] | None:
        """The partitions of a view in each file, by its path; None if only a session can read them."""
        paths = {file[0]: self.slots[slot][0] for slot, file in files.values()}
        if not self.asset.file_format.has_statistics:
            return self.texts.read_contents(self.asset, view, sorted(paths))
        from concurrent.futures import ThreadPoolExecutor

        from sparkassets.sources.file_values import FileValues

        values = FileValues(self.asset, view, self._root(files))
        with ThreadPoolExecutor(min(_THREADS, len(files))) as pool:
            return dict(zip(paths, pool.map(values.read_content, paths, paths.values()), strict=True))

    def _root(self, files: Mapping[str, tuple[str, File]]) -> str:
        """The folder or prefix that the files' paths are relative to; for a single file its folder."""
        pattern = source_pattern(self.asset)
        root = local_path(pattern.root) or pattern.root
        is_single_file = not pattern.is_pattern and all(root.endswith(f"/{file[0]}") for _, file in files.values())
        return root.rpartition("/")[0] if is_single_file else root

    def _view(
        self,
        uri: str,
        contents: Mapping[str, KnownFile],
        gone_files: Mapping[str, KnownFile],
        after: Mapping[str, KnownFile],
        coverage: PartitionSet,
    ) -> ViewChanges:
        """The news of one view.

        A removed slot removes what no other holds, and so does a file of a source without partitions. What
        was in a changed file, or in one removed from a remaining slot, has changed.
        """
        view = view_id(uri)
        changed_parts: list[PartitionSet] = []
        lost_parts: list[PartitionSet] = []
        gone_parts: list[PartitionSet] = []
        for key, each in contents.items():
            known_file = self.before.get(key, _UNSEEN)
            previous, is_now = known_file.parts(view), each.parts(view)
            if known_file.seen == each.seen:
                changed_parts.append(is_now - previous)
            else:
                changed_parts.append(is_now | previous)
                lost_parts.append(previous - is_now)
        for each in gone_files.values():
            is_gone = each.slot not in self.slots or not self.asset.path_partitioning.is_partitioned
            (gone_parts if is_gone else lost_parts).append(each.parts(view))
        changed, removed = PartitionSet.union([*changed_parts, *lost_parts]), PartitionSet.union(gone_parts)
        is_known = any(view in each.held for each in self.before.values())
        unknown = NOTHING if is_known else self.asset.views[uri].admissible_partitions(coverage)
        if not (removed or unknown):
            return ViewChanges(changed)  # without looking at all files that are known
        present = PartitionSet.union([*lost_parts, *(each.parts(view) for each in after.values())])
        return ViewChanges(changed | (removed & present), (removed | unknown) - present)

    def _notes(self, files: Collection[KnownFile]) -> tuple[str, ...]:
        excluded: defaultdict[str, set[str]] = defaultdict(set)
        for each in files:
            for column, values in each.left.items():
                excluded[column].update(values)
        ordered = {column: sorted(excluded[column]) for column in sorted(excluded)}
        notes = (note for view in self.asset.views.values() for note in describe_ignored_values(ordered, view))
        return tuple(dict.fromkeys(notes))
