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
from sparkassets.core.planner.due.outdated_code import outputs_of_other_code, own_definition_id, partitions_made_by
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.asset_graph import upstream_edges
from sparkassets.core.spec.model import AssetSpec, InletSpec, Schedule, SourceSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.strategies import DateRange, SegmentBatches
from sparkassets.errors import InputError
from sparkassets.frozen import frozen

BRANCHES: Final = "branches"
WAREHOUSES: Final = "_branches"
_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LONGEST: Final = 60


def check_branch_name(name: str) -> str:
    """Returns the name if it is allowed for a branch.

    Raises:
        InputError: The name is too long or has characters that are not allowed.

    >>> check_branch_name("new-delays")
    'new-delays'
    """
    if len(name) > _LONGEST or not _NAME.fullmatch(name):
        message = f"a branch cannot be named {name!r}"
        raise InputError(message, hint=f"lower-case letters, digits and single '-' between them, at most {_LONGEST}")
    return name


def branch_state_location(project: ProjectSpec, branch: str) -> str:
    """The location of a branch's journal.

    Raises:
        InputError: The project's own state is a branch's, or a Spark session keeps it.
    """
    if project.state_by_spark:
        raise InputError(f"the state {project.state} is kept by a Spark session, and has no branches")
    state = project.state.rstrip("/")
    if state.split("/")[-2:-1] == [BRANCHES]:
        raise InputError(f"the state {state} is a branch's, which has no branches", hint="branch off the base")
    return f"{state}/{BRANCHES}/{branch}"


def branch_warehouse(project: ProjectSpec, branch: str) -> str:
    """The folder of all tables of a branch."""
    return f"{project.warehouse.rstrip('/')}/{WAREHOUSES}/{branch}"


def branch_storage(project: ProjectSpec, branch: str, asset: AssetSpec) -> StorageLocation | None:
    """The location of an asset's table in a branch; None for an asset without data."""
    if asset.storage is None:
        return None
    path = f"{branch_warehouse(project, branch)}/{asset.name}"
    return StorageLocation(path, f"{WAREHOUSES}/{branch}/{asset.name}")


_BASE = "sparkassets:base/"


def base_uri(asset: str) -> str:
    """The reserved URI of a branch's events that record which code the base had for an asset."""
    return f"{_BASE}{asset}"


@frozen
class BranchProject:
    """A branch as a project that a driver can run.

    Attributes:
        name: Name of the branch.
        base: The project that it is a branch of, with the branch's code.
        computed_assets: The assets that it computes, upstream first, each with the reason.
        changed_sources: Sources that the base lacks or declares differently, with the reason; the branch observes these
            itself.
        reused_assets: The assets that it reads from the base.
        project: The project of all these assets.
    """

    name: str
    base: ProjectSpec
    computed_assets: Mapping[str, str]
    changed_sources: Mapping[str, str]
    reused_assets: tuple[str, ...]
    project: ProjectSpec


def build_branch_project(project: ProjectSpec, name: str, base: State, branch: State) -> BranchProject:
    """Builds the project of a branch from the present states of the base and the branch.

    ``project`` is the branch's checkout. Assets that the branch neither computes nor reads are left out.

    Raises:
        InputError: The project's state cannot have branches, or an asset reads a base asset aligned.
    """
    context = PlanningContext(project, base, now=0, clock=0)
    computed = (each for each in project.assets.values() if not each.writes_itself)
    fresh = {each.name: why for each in computed if (why := _explain_divergence(each, project, context))}
    own = _find_computed_assets(project, branch, fresh)
    fresh = {each: why for each, why in fresh.items() if project.assets[each].source is not None}
    edges = upstream_edges(project.assets)
    read = dict.fromkeys(up for each in own for up in edges[each] if up not in own)
    assets = {
        each.name: replace(
            _as_computed_asset(each, project, name, own) if each.name in own else _as_read_asset(each, fresh),
            reach=_base_reach(each, context, own),
        )
        for each in project.assets.values()
        if each.name in own or each.name in read
    }
    made = replace(
        project,
        state=branch_state_location(project, name),
        warehouse=branch_warehouse(project, name),
        assets=assets,
        openlineage=False,
        retention=None,
    )
    reused = tuple(each for each in assets if each not in own and each not in fresh)
    return BranchProject(name, project, own, {each: fresh[each] for each in fresh if each in assets}, reused, made)


def _base_reach(asset: AssetSpec, base: PlanningContext, own: Collection[str]) -> PartitionSet:
    """The partitions that the base lets the asset have.

    An asset that the branch reads has lost its inlets, and with them the declared bounds and the skipped partitions of
    all assets before it; without these its consumers would wait for partitions that never come. An asset that the
    branch computes still has its inlets; it lacks only the marks of the base.
    """
    return (
        EVERYTHING - base.state_of(asset).skipped_partitions
        if asset.name in own
        else base.possible_partitions(asset.name)
    )


def _find_computed_assets(project: ProjectSpec, branch: State, unlike: Mapping[str, str]) -> dict[str, str]:
    """The assets that the branch computes, upstream first, each with the reason.

    These differ from the base (``unlike``), read such an asset, or were computed by the branch before. An asset that
    writes its table itself is left out, as it might write to the base's table.
    """
    edges, found = upstream_edges(project.assets), dict[str, str]()
    for asset in project.assets.values():
        if asset.source is not None or asset.writes_itself:
            continue
        if asset.maker:
            if asset.maker in found:
                found[asset.name] = found[asset.maker]
            continue
        ups = [each for each in edges[asset.name] if each in found or each in unlike]
        if asset.name in unlike:
            found[asset.name] = unlike[asset.name]
        elif ups:
            found[asset.name] = f"it reads {', '.join(ups)}"
        elif branch.dataset(base_uri(asset.name)).seq:
            found[asset.name] = "the branch has computed it before"
    return found


def _explain_divergence(asset: AssetSpec, project: ProjectSpec, base: PlanningContext) -> str | None:
    """Why an asset differs from the base's asset of the same name; None where it does not.

    Also None for outlets, which follow their makers.
    """
    if asset.maker:
        return None
    known, spec = base.state.assets.get(asset.name), build_fold_spec(asset, project)
    if known is None:
        return "the base does not have it"
    if asset.source is None and _has_other_code(base.asset(asset.name), known):
        return "its code is not the base's"
    if known.former is not None or _storage_signature(spec) != _storage_signature(known.spec.as_declared):
        return "its partitions, inlets or place are not the base's"
    return None


def _has_other_code(asset: AssetSpec, known: AssetState) -> bool:
    """Whether the base's table was computed by other code than the branch's.

    Without a table, whether the base has other code. With one, the definition that the base's journal recorded last
    says nothing about the rows: any command that somebody runs on the base from a checkout records the code of that
    checkout.
    """
    if any(partitions_made_by(asset, known, each) for each in known.made):
        last = max(known.made, key=lambda each: (each.at, each.since))
        stands = asset.on_code_change == "ignore" and last.definition.id == own_definition_id(asset)
        return not stands and bool(outputs_of_other_code(asset, known))
    before = known.spec.definition
    return own_definition_id(asset) != (before.id if before is not None else "")


def _storage_signature(spec: FoldSpec) -> tuple[object, ...]:
    """The parts of an asset's spec that determine where its rows are and of what they are made; equal if these are."""
    inlets = tuple((each.name, each.uri, each.needs) for each in spec.inlets)
    return spec.uri, spec.partitioning, inlets, spec.storage, spec.appends, spec.outlets


def _as_computed_asset(asset: AssetSpec, project: ProjectSpec, branch: str, own: Collection[str]) -> AssetSpec:
    """An asset as the branch computes it: with a table of its own, due by what it reads, and without notifications.

    Raises:
        InputError: It reads an asset of the base aligned; the branch does not know the base's runs.
    """
    for inlet in asset.inlets.values():
        if inlet.aligned and inlet.name not in own:
            message = f"{asset.name!r} reads {inlet.name!r} aligned to its runs, which a branch does not know"
            raise InputError(message, hint=f"change something of {inlet.name!r}, too, so that it runs in the branch")
    return replace(
        asset,
        storage=branch_storage(project, branch, asset),
        inlets={name: _drop_passed_gates(inlet) for name, inlet in asset.inlets.items()},
        schedule=_schedule_by_data(project.assets[asset.maker] if asset.maker else asset),
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
    rerun = [name for name, inlet in asset.inlets.items() if inlet.on_update == "rerun"]
    clock = asset.schedule.timetable is not None
    if not rerun or asset.schedule.condition is not None:
        return asset.schedule
    if clock and not isinstance(asset.strategy, DateRange | SegmentBatches):
        return asset.schedule
    leaves = tuple(map(UpdateLeaf, rerun))
    return Schedule(None, leaves[0] if len(leaves) == 1 else AnyOf(leaves), " | ".join(rerun), default=True)


def _as_read_asset(asset: AssetSpec, fresh: Collection[str]) -> AssetSpec:
    """An asset that the branch only reads, as a source that is observed through the base's journal.

    Sources in ``fresh`` stay as they are: the branch observes them itself.
    """
    if asset.source is not None:
        return asset if asset.name in fresh else replace(asset, source=replace(asset.source, settle_seconds=0))
    return AssetSpec(
        asset.name,
        asset.uri,
        asset.storage,
        asset.location,
        type=asset.type,
        columns=asset.columns,
        private=asset.private,
        source=SourceSpec("delta" if asset.storage is not None else "events"),
        partitioning=asset.partitioning,
        write=asset.write,
        timezone=asset.timezone,
        start=asset.start,
        end=asset.end,
    )


BASE: Final = "sparkassets:base"
"""Key in a cursor that stores up to which entry the base's journal was read."""


def read_up_to(cursor: Mapping[str, Any], base: State) -> int | None:
    """The sequence number up to which a cursor has read the base's journal; None if it never read this journal."""
    journal_id, seq = cursor.get(BASE, ("", 0))
    return int(seq) if journal_id == base.journal_id else None


def has_missed_entries(uri: str, read: int, base: State, *, cut: bool) -> bool:
    """Whether entries after ``read`` that have expired may have updated the dataset.

    ``cut`` says whether any entries after ``read`` have expired.
    """
    return cut and base.dataset(uri).seq > read


def mirror_updates(
    asset: AssetSpec,
    base: State,
    since: Iterable[NumberedEntry],
    *,
    version: int | None,
    cursor: Mapping[str, Any],
    coverage: PartitionSet,
    viewed: Mapping[str, PartitionSet],
    cut: bool = False,
) -> ObservedEntry | None:
    """Returns the observation of what changed in an asset of the base; None where nothing did.

    Args:
        asset: The asset as the branch reads it.
        base: Present state of the base.
        since: Entries about the dataset after those that the cursor has read; if it has read none, all present
            partitions count as new.
        version: Version of the table that the branch knows.
        cursor: How far the branch has read the base's journal.
        coverage: Present partitions that the branch knows.
        viewed: Present partitions of views that the branch knows.
        cut: Whether some of the entries have expired. Then all present partitions of a dataset that was updated since
            count as new; where none was updated, only the cursor advances.
    """
    known, read, events = base.assets[asset.name], read_up_to(cursor, base), tuple(since)
    first = read is None or has_missed_entries(asset.uri, read, base, cut=cut)
    refs = [ref for each in events if (ref := EventRef.from_entry(each)) is not None and ref.uri == asset.uri]
    updated = PartitionSet.union(ref.parts for ref in refs)
    now = base.dataset(asset.uri)
    changed, removed = _split_changes(updated, now.coverage, coverage, first=first)
    looks = [each.entry for each in events if isinstance(each.entry, ObservedEntry)]
    views = {
        uri: ViewChanges(*moved)
        for uri in asset.views
        if any(moved := _view_changes(uri, base, looks, viewed.get(uri, NOTHING), read=read, cut=cut))
    }
    whole = not asset.partitioning.is_partitioned and (bool(now.seq) if first else bool(refs))
    moves = _cursor_changes(cursor, known.position)
    if not any((changed, removed, whole, views, moves, cut, known.version != version)):
        return None
    return ObservedEntry(
        asset.name,
        asset.uri,
        NOTHING if whole else changed,
        NOTHING if whole else removed,
        whole=whole,
        table_id=known.table_id,
        version=known.version,
        cursor={**moves, BASE: [base.journal_id, base.seq]},
        views=views,
    )


def _view_changes(
    uri: str, base: State, looks: Iterable[ObservedEntry], before: PartitionSet, *, read: int | None, cut: bool
) -> tuple[PartitionSet, PartitionSet]:
    """The changed and the removed partitions of a view by values, from the observations ``looks`` of its source."""
    updated = PartitionSet.union(
        look.views[uri].changed | look.views[uri].removed for look in looks if uri in look.views
    )
    first = read is None or has_missed_entries(uri, read, base, cut=cut)
    return _split_changes(updated, base.dataset(uri).coverage, before, first=first)


def _cursor_changes(cursor: Mapping[str, Any], position: Mapping[str, Any]) -> dict[str, Any]:
    """The changes that make a branch's cursor equal to the base's position; a key that is gone has the value None."""
    gone = dict.fromkeys(key for key in cursor if key != BASE and key not in position)
    return {key: value for key, value in position.items() if cursor.get(key) != value} | gone


def _split_changes(
    updated: PartitionSet, now: PartitionSet, before: PartitionSet, *, first: bool
) -> tuple[PartitionSet, PartitionSet]:
    """The partitions of a dataset that are new or changed, and those that were removed.

    ``before`` are those that the branch knows; the ``first`` time all present ones count as new.
    """
    changed = now if first else (updated & now) | (now - before)
    return changed, before - now
