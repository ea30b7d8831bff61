"""The project that a branch computes, where its tables are, and what it takes from its base."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from sparkassets.core.conditions import AnyOf, UpdateLeaf
from sparkassets.core.journal.entries import NumberedEntry, ObservedEntry, ViewChanges
from sparkassets.core.journal.fold_specs import FoldSpec, build_fold_spec
from sparkassets.core.journal.state import AssetState, EventRef, State
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.patterns import JOURNAL_CURSOR
from sparkassets.core.planner.due.outdated_code import outputs_of_other_code, own_definition_id, partitions_made_by
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.runs import WAREHOUSE_FOLDER, branch_warehouse
from sparkassets.core.spec.asset_graph import upstream_edges
from sparkassets.core.spec.model import AssetSpec, InletSpec, Schedule, SourceSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.strategies import DateRange, SegmentBatches
from sparkassets.errors import InputError
from sparkassets.frozen import frozen

BRANCH_FOLDER: Final = "branches"
_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MOST_CHARACTERS: Final = 60


def check_branch_name(name: str) -> str:
    """Returns the name if it is allowed for a branch.

    Raises:
        InputError: The name is too long or has characters that are not allowed.

    >>> check_branch_name("new-delays")
    'new-delays'
    """
    if len(name) > _MOST_CHARACTERS or not _NAME.fullmatch(name):
        message = f"invalid branch name {name!r}"
        raise InputError(
            message,
            hint=(
                f"expected lower-case letters and digits with single '-' between them, at most {_MOST_CHARACTERS} "
                "characters"
            ),
        )
    return name


def branch_state_location(project: ProjectSpec, branch: str) -> str:
    """The location of a branch's journal.

    Raises:
        InputError: The project's own state is a branch's, or a Spark session keeps it.
    """
    if project.state_by_spark:
        raise InputError(f"the state {project.state} is written by a Spark session and cannot have branches")
    state = project.state.rstrip("/")
    if state.split("/")[-2:-1] == [BRANCH_FOLDER]:
        raise InputError(f"the state {state} belongs to a branch and cannot have branches", hint="branch from the base")
    return f"{state}/{BRANCH_FOLDER}/{branch}"


def branch_storage(project: ProjectSpec, branch: str, asset: AssetSpec) -> StorageLocation | None:
    """The location of an asset's table in a branch; None for an asset without data."""
    if asset.storage is None:
        return None
    path = f"{branch_warehouse(project.warehouse, branch)}/{asset.name}"
    return StorageLocation(path, f"{WAREHOUSE_FOLDER}/{branch}/{asset.name}")


_BASE_URI_PREFIX = "sparkassets:base/"


def base_uri(asset: str) -> str:
    """The reserved URI of a branch's events that record which code the base had for an asset."""
    return f"{_BASE_URI_PREFIX}{asset}"


@frozen
class BranchProject:
    """A branch as a project that a driver can run.

    Attributes:
        name: Name of the branch.
        base: The project that it is a branch of, with the branch's code.
        assets_to_compute: The assets that it computes, upstream first, each with the reason.
        changed_sources: Sources that the base lacks or declares differently, with the reason; the branch observes these
            itself.
        reused_assets: The assets that it reads from the base.
        spec: The project of all these assets.
    """

    name: str
    base: ProjectSpec
    assets_to_compute: Mapping[str, str]
    changed_sources: Mapping[str, str]
    reused_assets: tuple[str, ...]
    spec: ProjectSpec


def build_branch_project(project: ProjectSpec, name: str, base: State, branch: State) -> BranchProject:
    """Builds the project of a branch from the present states of the base and the branch.

    ``project`` is the branch's checkout. Assets that the branch neither computes nor reads are left out.

    Raises:
        InputError: The project's state cannot have branches, or an asset reads a base asset aligned.
    """
    context = PlanningContext(project, base, now=0, clock=0)
    divergences = _find_divergences(project, context)
    assets_to_compute = _find_assets_to_compute(project, branch, divergences)
    changed_sources = {each: divergences[each] for each in divergences if project.assets[each].source is not None}
    assets: dict[str, AssetSpec] = {}
    for asset in _find_needed_assets(project, assets_to_compute):
        if asset.name in assets_to_compute:
            adapted = _adapt_asset_to_compute(asset, project, name, assets_to_compute)
        else:
            adapted = _adapt_read_asset(asset, changed_sources)
        reach = _partitions_allowed_by_base(asset, context, assets_to_compute)
        assets[asset.name] = replace(adapted, reach=reach)
    spec = replace(
        project,
        state=branch_state_location(project, name),
        warehouse=branch_warehouse(project.warehouse, name),
        assets=assets,
        openlineage=False,
        retention=None,
    )
    changed_sources = {each: reason for each, reason in changed_sources.items() if each in assets}
    reused = tuple(each for each in assets if each not in {*assets_to_compute, *changed_sources})
    return BranchProject(name, project, assets_to_compute, changed_sources, reused, spec)


def _find_divergences(project: ProjectSpec, base: PlanningContext) -> dict[str, str]:
    """The assets that differ from the base's, upstream first, each with the reason; not those that write themselves."""
    candidates = (each for each in project.assets.values() if not each.writes_itself)
    return {each.name: reason for each in candidates if (reason := _explain_divergence(each, project, base))}


def _find_needed_assets(project: ProjectSpec, assets_to_compute: Collection[str]) -> list[AssetSpec]:
    """The assets that the branch computes or reads, upstream first."""
    edges = upstream_edges(project.assets)
    needed = {*assets_to_compute, *(upstream for each in assets_to_compute for upstream in edges[each])}
    return [each for each in project.assets.values() if each.name in needed]


def _partitions_allowed_by_base(
    asset: AssetSpec, base: PlanningContext, assets_to_compute: Collection[str]
) -> PartitionSet:
    """The partitions that the base lets the asset have.

    An asset that the branch reads has lost its inlets, and with them the declared bounds and the skipped partitions of
    all assets before it; without these its consumers would wait for partitions that never come. An asset that the
    branch computes still has its inlets; it lacks only the marks of the base.
    """
    return (
        EVERYTHING - base.state_of(asset).skipped_partitions
        if asset.name in assets_to_compute
        else base.possible_partitions(asset.name)
    )


def _find_assets_to_compute(project: ProjectSpec, branch: State, divergences: Mapping[str, str]) -> dict[str, str]:
    """The assets that the branch computes, upstream first, each with the reason.

    These differ from the base (``divergences``), read such an asset, or were computed by the branch before. An asset
    that writes its table itself is left out, as it might write to the base's table. Outlets follow their multi-assets.
    """
    edges, assets_to_compute = upstream_edges(project.assets), dict[str, str]()
    for asset in project.assets.values():
        if asset.source is not None or asset.writes_itself:
            continue
        diverging_inlets = [each for each in edges[asset.name] if each in {*assets_to_compute, *divergences}]
        if asset.written_by:
            reason = assets_to_compute.get(asset.written_by, "")
        elif asset.name in divergences:
            reason = divergences[asset.name]
        elif diverging_inlets:
            reason = f"it reads {', '.join(diverging_inlets)}"
        else:
            reason = "the branch has computed it before" if branch.dataset(base_uri(asset.name)).seq else ""
        if reason:
            assets_to_compute[asset.name] = reason
    return assets_to_compute


def _explain_divergence(asset: AssetSpec, project: ProjectSpec, base: PlanningContext) -> str | None:
    """Why an asset differs from the base's asset of the same name; None where it does not.

    Also None for outlets, which follow their multi-assets.
    """
    if asset.written_by:
        return None
    base_asset, spec = base.state.assets.get(asset.name), build_fold_spec(asset, project)
    if base_asset is None:
        return "the base does not have it"
    if asset.source is None and _has_other_code(base.asset(asset.name), base_asset):
        return "its code differs from the base"
    if base_asset.former is not None or _storage_signature(spec) != _storage_signature(base_asset.spec.as_declared):
        return "its partitions, inlets or location differ from the base"
    return None


def _has_other_code(asset: AssetSpec, base_asset: AssetState) -> bool:
    """Whether the base's table was computed by other code than the branch's.

    Without a table, whether the base has other code. With one, the definition that the base's journal recorded last
    says nothing about the rows: any command that somebody runs on the base from a checkout records the code of that
    checkout. Under `forward_only` it is enough that the branch's code computed the newest partitions: older ones stay.
    """
    if any(partitions_made_by(asset, base_asset, each) for each in base_asset.definition_outputs):
        newest_output = max(base_asset.definition_outputs, key=lambda each: (each.at, each.since))
        is_ignored = asset.on_code_change == "forward_only" and newest_output.definition.id == own_definition_id(asset)
        return not is_ignored and bool(outputs_of_other_code(asset, base_asset))
    base_definition = base_asset.spec.definition
    return own_definition_id(asset) != (base_definition.id if base_definition is not None else "")


def _storage_signature(spec: FoldSpec) -> tuple[object, ...]:
    """The parts of an asset's spec that determine where its rows are and of what they are made; equal if these are."""
    inlets = tuple((each.name, each.uri, each.needs) for each in spec.inlets)
    return spec.uri, spec.partitioning, inlets, spec.storage, spec.appends, spec.outlets


def _adapt_asset_to_compute(
    asset: AssetSpec, project: ProjectSpec, branch: str, assets_to_compute: Collection[str]
) -> AssetSpec:
    """An asset as the branch computes it: with a table of its own, due by what it reads, and without notifications.

    Its code and columns may change with each run: partitions of earlier code are computed again (``backfill``), and the
    table takes the new columns (``evolve``).

    Raises:
        InputError: It reads an asset of the base aligned; the branch does not know the base's runs.
    """
    for inlet in asset.inlets.values():
        if inlet.aligned and inlet.name not in assets_to_compute:
            message = f"{asset.name!r} reads {inlet.name!r} aligned to its runs, which the branch does not have"
            raise InputError(message, hint=f"change {inlet.name!r} too, so that it runs in the branch")
    return replace(
        asset,
        storage=branch_storage(project, branch, asset),
        inlets={name: _drop_passed_gates(inlet) for name, inlet in asset.inlets.items()},
        schedule=_schedule_by_data(project.assets[asset.written_by] if asset.written_by else asset),
        on_code_change="backfill",
        sole_checkout=True,
        schema="evolve",
        deadlines=None,
        notify=(),
    )


def _drop_passed_gates(inlet: InletSpec) -> InletSpec:
    """The inlet without ``settle`` and ``fresh_within``, which the base has waited for already.

    ``tolerance`` stays: it decides which partitions a partition goes without, not only when.
    """
    return replace(inlet, settle_seconds=0, fresh_within=None)


def _schedule_by_data(asset: AssetSpec) -> Schedule:
    """The schedule in a branch: by updates of the inlets, where the base's schedule decides only when partitions run.

    A condition stays, and so does a timetable whose ticks decide what a run computes.
    """
    rerun_inlets = [name for name, inlet in asset.inlets.items() if inlet.on_update == "rerun"]
    has_timetable = asset.schedule.timetable is not None
    if not rerun_inlets or asset.schedule.condition is not None:
        return asset.schedule
    if has_timetable and not isinstance(asset.strategy, DateRange | SegmentBatches):
        return asset.schedule
    leaves = tuple(map(UpdateLeaf, rerun_inlets))
    return Schedule(None, leaves[0] if len(leaves) == 1 else AnyOf(leaves), " | ".join(rerun_inlets), default=True)


def _adapt_read_asset(asset: AssetSpec, changed_sources: Collection[str]) -> AssetSpec:
    """An asset that the branch only reads, as a source that is observed through the base's journal.

    Sources in ``changed_sources`` stay as they are: the branch observes them itself.
    """
    if asset.source is not None:
        return (
            asset if asset.name in changed_sources else replace(asset, source=replace(asset.source, settle_seconds=0))
        )
    return AssetSpec(
        asset.name,
        asset.uri,
        asset.storage,
        asset.location,
        type=asset.type,
        columns=asset.columns,
        listed_columns=asset.listed_columns,
        private=asset.private,
        source=SourceSpec("delta" if asset.storage is not None else "events"),
        partitioning=asset.partitioning,
        write=asset.write,
        timezone=asset.timezone,
        start=asset.start,
        end=asset.end,
    )


def read_up_to(cursor: Mapping[str, Any], base: State) -> int | None:
    """The sequence number up to which a cursor has read the base's journal; None if it never read this journal."""
    journal_id, seq = cursor.get(JOURNAL_CURSOR, ("", 0))
    return int(seq) if journal_id == base.journal_id else None


def has_missed_entries(uri: str, read_seq: int, base: State, *, has_expired: bool) -> bool:
    """Whether entries after ``read_seq`` that have expired may have updated the dataset.

    ``has_expired`` says whether any entries after ``read_seq`` have expired.
    """
    return has_expired and base.dataset(uri).seq > read_seq


def mirror_updates(
    asset: AssetSpec,
    base: State,
    new_entries: Iterable[NumberedEntry],
    *,
    version: int | None,
    cursor: Mapping[str, Any],
    known_partitions: PartitionSet,
    known_view_partitions: Mapping[str, PartitionSet],
    has_expired: bool = False,
) -> ObservedEntry | None:
    """Returns the observation of what changed in an asset of the base; None where nothing did.

    Args:
        asset: The asset as the branch reads it.
        base: Present state of the base.
        new_entries: Entries about the dataset after those that the cursor has read; if it has read none, all present
            partitions count as new.
        version: Version of the table that the branch knows.
        cursor: How far the branch has read the base's journal.
        known_partitions: Present partitions that the branch knows.
        known_view_partitions: Present partitions of views that the branch knows.
        has_expired: Whether some of the entries have expired. Then all present partitions of a dataset that was updated
            since count as new; where none was updated, only the cursor advances.
    """
    base_asset, read_seq, entries = base.assets[asset.name], read_up_to(cursor, base), tuple(new_entries)
    is_first_read = read_seq is None or has_missed_entries(asset.uri, read_seq, base, has_expired=has_expired)
    events = [ref for each in entries if (ref := EventRef.from_entry(each)) is not None and ref.uri == asset.uri]
    updated = PartitionSet.union(ref.parts for ref in events)
    base_dataset = base.dataset(asset.uri)
    changed, removed = _split_changes(updated, base_dataset.coverage, known_partitions, is_first_read=is_first_read)
    views: dict[str, ViewChanges] = {}
    for uri in asset.views:
        known = known_view_partitions.get(uri, NOTHING)
        if changes := _view_changes(uri, base, entries, known, read_seq=read_seq, has_expired=has_expired):
            views[uri] = changes
    is_updated = bool(base_dataset.seq) if is_first_read else bool(events)
    is_whole_updated = is_updated and not asset.partitioning.is_partitioned
    cursor_changes = _cursor_changes(cursor, base_asset.position)
    if not any((changed, removed, is_whole_updated, views, cursor_changes, has_expired, base_asset.version != version)):
        return None
    return ObservedEntry(
        asset.name,
        asset.uri,
        NOTHING if is_whole_updated else changed,
        NOTHING if is_whole_updated else removed,
        whole=is_whole_updated,
        table_id=base_asset.table_id,
        version=base_asset.version,
        cursor={**cursor_changes, JOURNAL_CURSOR: [base.journal_id, base.seq]},
        views=views,
    )


def _view_changes(
    uri: str,
    base: State,
    entries: Iterable[NumberedEntry],
    known_partitions: PartitionSet,
    *,
    read_seq: int | None,
    has_expired: bool,
) -> ViewChanges:
    """The changes of a view by values, from the observations of its source among the ``entries``."""
    observations = (each.entry.views for each in entries if isinstance(each.entry, ObservedEntry))
    seen = [views[uri] for views in observations if uri in views]
    updated = PartitionSet.union(each.changed | each.removed for each in seen)
    is_first_read = read_seq is None or has_missed_entries(uri, read_seq, base, has_expired=has_expired)
    return ViewChanges(
        *_split_changes(updated, base.dataset(uri).coverage, known_partitions, is_first_read=is_first_read)
    )


def _cursor_changes(cursor: Mapping[str, Any], position: Mapping[str, Any]) -> dict[str, Any]:
    """The changes that make a branch's cursor equal to the base's position; a key that is gone has the value None."""
    removed_keys = dict.fromkeys(key for key in cursor if key != JOURNAL_CURSOR and key not in position)
    return {key: value for key, value in position.items() if cursor.get(key) != value} | removed_keys


def _split_changes(
    updated: PartitionSet, present: PartitionSet, known: PartitionSet, *, is_first_read: bool
) -> tuple[PartitionSet, PartitionSet]:
    """The partitions of a dataset that are new or changed, and those that were removed.

    ``known`` are those that the branch knows; the ``is_first_read`` time all present ones count as new.
    """
    changed = present if is_first_read else (updated & present) | (present - known)
    return changed, known - present
