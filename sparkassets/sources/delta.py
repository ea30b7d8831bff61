"""Observes changes of a Delta table that others write, by the add and remove actions of its log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from sparkassets.core.journal.entries import ViewChanges
from sparkassets.core.partitions import NOTHING
from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.tables import is_table
from sparkassets.errors import SourceError
from sparkassets.ports import LastLook, Observation
from sparkassets.sources.table_inspection import TableInspection

_VIEWS = "views"
"""The key in the cursor for positions of views."""


class DeltaObserver:
    """Compares a table with the last seen position: its id and version.

    Where the log goes on from that version, only the new commits are read, whatever the table's size. The cursor holds
    what makes that safe: ``log``, a token of the last seen commit file, ``columns``, how the partition columns are
    stored, and ``keys``, a digest of the known segments; ``unlisted``, what was held of segments when they
    left the list, which is reported again when they return; and ``unnamed``, values by column that name no
    partition, which every observation reports. Commits without data changes (OPTIMIZE, VACUUM) give an observation
    that only moves the position.
    """

    def observe(self, asset: AssetSpec, last: LastLook, *, now: datetime) -> Observation | None:
        """Partitions whose rows were added, changed or removed since ``version``; None without a new version.

        The first observation has all of the table. ``whole`` is set where the log does not say what changed,
        with the ``reason`` in ``extra``; then ``changed`` is all that the table holds now, and ``removed`` the part of
        ``coverage`` that is gone. Otherwise ``extra`` has the ``operations``, the number of ``versions``
        and of ``files_added`` and ``files_removed``. ``files_read`` counts the data files that had to be read because
        neither physical partitions nor statistics tell one partition.

        Raises:
            SourceError: The table was there before and is gone, is none, cannot be read, or lacks a column.
        """
        del now
        if asset.storage is None:
            raise SourceError(f"the source '{asset.name}' has no path")
        inspection = TableInspection(asset, asset.storage.path, last)
        try:
            if asset.source is None:
                return self._observe_views_alone(inspection)
            observation = inspection.observation()
            return self._with_views(inspection, observation) if asset.views or _VIEWS in last.cursor else observation
        except OSError as error:
            raise SourceError(f"cannot read the Delta table at '{asset.storage.path}': {error}") from error

    def _observe_views_alone(self, inspection: TableInspection) -> Observation | None:
        """News of the views of a table that runs write, up to the recorded version."""
        from deltalake.exceptions import DeltaError

        try:
            if inspection.last.version is None or not is_table(inspection.path):
                return None
            return self._with_views(inspection, None)
        except (DeltaError, SourceError) as error:  # the look at its own table says what is wrong with it
            note = f"its columns are unknown: {str(error).partition(chr(10))[0]}"
            return Observation(inspection.asset.name, NOTHING, notes=(note,))

    def _with_views(self, inspection: TableInspection, table_observation: Observation | None) -> Observation | None:
        """News of the table and of its views, at the same version.

        Each view has a position of its own in the cursor: a new view begins with all that the table holds.
        """
        observation = table_observation or Observation(inspection.asset.name, NOTHING)
        has_moved = observation.version is not None
        version = observation.version if has_moved else inspection.last.version
        if version is None:
            return table_observation
        view_cursors: Mapping[str, Any] = inspection.last.cursor.get(_VIEWS) or {}
        news, cursors = dict[str, Observation](), dict[str, Mapping[str, Any]]()
        for uri in inspection.asset.views:
            found, cursors[uri] = _observe_view(
                inspection, uri, view_cursors.get(uri, {}), version=version, has_moved=has_moved
            )
            if found is not None:
                news[uri] = found
        if cursors != view_cursors:
            observation = replace(observation, cursor={**observation.cursor, _VIEWS: cursors or None})
        return _merge_views(observation, news).unless_empty()


def _merge_views(base: Observation, views: Mapping[str, Observation]) -> Observation:
    """The observation of a table, with the changes that each of its views found, by the views' identities."""
    observations = (base, *views.values())
    files_read = sum(observation.extra.get("files_read", 0) for observation in observations)
    changes = {uri: ViewChanges(observation.changed, observation.removed) for uri, observation in views.items()}
    return replace(
        base,
        views={uri: observation for uri, observation in changes.items() if observation.changed or observation.removed},
        notes=tuple(dict.fromkeys(note for observation in observations for note in observation.notes)),
        extra={**base.extra, "files_read": files_read} if files_read else base.extra,
    )


def _observe_view(
    inspection: TableInspection, uri: str, cursor: Mapping[str, Any], *, version: int, has_moved: bool
) -> tuple[Observation | None, Mapping[str, Any]]:
    """The news of a view, up to the version at which the table was looked at, and the view's new cursor.

    None in place of news without any. ``cursor`` is the view's, empty for a new view: whatever the view is recorded to
    hold, and the table no longer has, is then removed. ``has_moved`` says that the table was replaced or went back.
    """
    coverage = inspection.last.view_coverage[uri]
    asset = replace(inspection.asset, partitioning=inspection.asset.views[uri], views={})
    last = LastLook(cursor.get("table_id"), cursor.get("version"), cursor, coverage)
    view_inspection = TableInspection(asset, inspection.path, last, until=version)
    is_same_version = cursor.get("version") == version and cursor.get("table_id") == inspection.last.table_id
    if not has_moved and is_same_version and view_inspection.is_known():
        return view_inspection.without_news(), cursor
    observation = view_inspection.observation()
    if observation is None or observation.version is None:
        return observation, cursor
    if not cursor:
        observation = replace(observation, removed=coverage - observation.changed)
    position = {**cursor, **observation.cursor, "table_id": observation.table_id, "version": observation.version}
    return observation, {key: value for key, value in position.items() if value is not None}
