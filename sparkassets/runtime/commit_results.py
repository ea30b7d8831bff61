"""Derives what a finished run records: verdicts, segments, outlets, unchanged partitions, and repaired failures.

A run that writes its target itself makes no commit that the driver could read. Its table is looked at once the run has
ended: whatever its log holds by then and was not recorded before belongs to that run. One event announces it, so no
later look reports the same change again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sparkassets.core.journal.entries import OutletEntry, SuccessEntry
from sparkassets.core.journal.state import AssetState, State
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.results import RunResult
from sparkassets.core.runs import InletPin
from sparkassets.core.spec.model import AssetSpec, ProjectSpec, StorageLocation
from sparkassets.core.validations import PartitionRowCount, PastRowCounts, qualified_rule_name
from sparkassets.errors import RunError, SourceChangedError
from sparkassets.ports import DataCommit, TargetObserver
from sparkassets.runtime.iterations import outlet_with_iteration
from sparkassets.runtime.ledger import JournalLedger
from sparkassets.runtime.observation import recorded_table
from sparkassets.runtime.outcomes import CommittedRun, FailedRun, Outcome

MOST_RUNS = 1000
"""At most so many of an asset's newest successes are read for validations that compare row counts with the past."""


def judgement_fields(committed: DataCommit, partitions: PartitionSet) -> Mapping[str, Any]:
    """The fields of a success entry that hold validation results: verdicts, withheld partitions and row counts.

    The withheld partitions are cut to the run's ``partitions``. Without a judgement only the verdicts are returned.
    """
    found, told = committed.judgement, {"verdicts": committed.verdicts}
    if found is None:
        return told
    return {**told, "withheld": found.withheld & partitions, "counts": found.counts}


def claimed_and_discovered(asset: AssetSpec, outcome: CommittedRun, claimed: PartitionSet) -> PartitionSet:
    """Partitions that a run computed: the claimed ones, and those of segments unknown when it was claimed.

    An unknown segment counts if rows came out for it, or if its partitions were withheld. A segment that the function
    only added, without rows, is left to the next run.
    """
    committed = outcome.first_commit
    return (
        claimed
        | asset.partitioning.restrict_to_segments(committed.discovered_partitions, outcome.keys)
        | (committed.discovered_partitions & committed.withheld)
    )


def learned_segments(asset: AssetSpec, outcome: CommittedRun, partitions: PartitionSet) -> dict[str, tuple[str, ...]]:
    """Dimension column to the segments that the run made known, sorted; columns without any are left out.

    A segment becomes known because rows came out for it, because the function added it, or because its partition was
    withheld.
    """
    committed = outcome.first_commit
    added = committed.measures.get("keys", {})
    withheld = asset.partitioning.open_segments(committed.discovered_partitions & committed.withheld & partitions)
    every = [outcome.keys, added, withheld]
    columns = sorted({column for some in every for column in some})
    found = {column: tuple(sorted({key for some in every for key in some.get(column, ())})) for column in columns}
    return {column: keys for column, keys in found.items() if keys}


def resolve_discovered(
    asset: AssetSpec, committed: DataCommit, partitions: PartitionSet, keys: Mapping[str, Any]
) -> PartitionSet:
    """The run's partitions with "all segments" replaced by the segments in ``keys`` that came out of it.

    ``partitions`` is returned as it is if all of it is withheld: then no segment was published.
    """
    nothing = committed.withheld.covers(partitions) and partitions != NOTHING
    return partitions if nothing else asset.partitioning.resolve_whole(partitions, keys)


def published_counts(ledger: JournalLedger, asset: AssetSpec) -> PastRowCounts:
    """Row counts of earlier runs, by the name of the validation that compares with them, newest run first.

    Only validations that look at history are listed; an outlet's counts are read from the runs of its multi-asset.
    """
    outlet = asset.name if asset.maker else ""
    found: dict[str, list[PartitionRowCount]] = {rule.name: [] for rule in asset.rules if rule.history_length}
    for numbered in ledger.newest_entries("success", asset=asset.maker or asset.name, most=MOST_RUNS) if found else ():
        if isinstance(numbered.entry, SuccessEntry):
            for name, counted in found.items():
                counted.extend(numbered.entry.counts.get(qualified_rule_name(outlet, name), ()))
    return found


def settle_results(results: Sequence[RunResult]) -> tuple[RunResult, ...]:
    """The results in the order in which the runs ended, with repaired failures turned into status ``replanned``.

    A failure is repaired when later runs computed its partitions, or failed for fewer of them: those failures are
    results
    of their own. A result with ``adopted`` only records an older run, so it computed none of its own partitions.
    """
    computed: defaultdict[str, PartitionSet] = defaultdict(lambda: NOTHING)
    failed: defaultdict[str, list[PartitionSet]] = defaultdict(list)
    settled = []
    for result in reversed(results):
        if result.status == "failed":
            among = [
                computed[result.asset],
                *(each for each in failed[result.asset] if _is_narrower(each, result.partitions)),
            ]
            if PartitionSet.union(among).covers(result.partitions) and any(among):
                settled.append(replace(result, status="replanned"))
                continue
            failed[result.asset].append(result.partitions)
        elif result.status in ("success", "withheld", "skipped") and result.adopted is None:
            computed[result.asset] |= result.partitions
        settled.append(result)
    return tuple(reversed(settled))


def _is_narrower(partitions: PartitionSet, than: PartitionSet) -> bool:
    """Whether ``partitions`` is a proper part of ``than``."""
    return partitions != than and than.covers(partitions)


def observe_own_tables(
    done: CommittedRun,
    asset: AssetSpec,
    assets: Mapping[str, AssetSpec],
    *,
    partitions: PartitionSet,
    state: State,
    targets: TargetObserver,
) -> CommittedRun:
    """The run with the version of each table that it wrote itself, and with the partitions that changed there.

    Args:
        done: The run.
        asset: The asset that it is a run of.
        assets: The project's assets by name.
        partitions: The partitions that it computed.
        state: The state before the run is recorded.
        targets: Looks at the tables.

    Raises:
        RunError: There is no table where the asset says that it is.
        SourceError: A table cannot be looked at.
    """
    written = zip((assets[name] for name in asset.written_assets), done.commits, strict=True)
    return replace(done, commits=tuple(_observe_table(each, own, partitions, state, targets) for own, each in written))


def _observe_table(
    committed: DataCommit, asset: AssetSpec, partitions: PartitionSet, state: State, targets: TargetObserver
) -> DataCommit:
    """The commit of one table with its version, its unchanged partitions, and ``besides``: changes outside the run.

    A table that has not changed since it was recorded keeps its recorded version. A change that cannot be told by
    partition
    counts for all that the table holds.
    """
    if asset.storage is None:
        return committed
    known, changed = recorded_table(asset, state), partitions
    found = (
        None if known is None else targets.detect_changes(asset, replace(known, coverage=known.coverage | partitions))
    )
    if known is not None and found is None:
        committed, changed = (
            replace(committed, table_id=known.table_id, version=known.accounted_version, mark=known.mark),
            NOTHING,
        )
    else:
        found = found if found is not None and found.version is not None else targets.read_position(asset)
        if found is None:
            raise _no_table(asset, asset.storage)
        committed = replace(committed, table_id=found.table_id, version=found.version, mark=found.mark or "")
        if known is not None:
            changed = found.lost | PartitionSet.union(each.partitions for each in found.commits)
    if asset.partitioning.is_partitioned and changed.is_everything:
        changed = partitions if known is None else partitions | known.coverage
    if asset.unchanged == "skip":
        committed = committed.with_unchanged(partitions - changed)
    return replace(committed, besides=changed - partitions)


def _no_table(asset: AssetSpec, storage: StorageLocation) -> RunError:
    """The error for a run whose code has ended without writing a Delta table where the asset says."""
    where = (
        f"{{{{ outlets.{asset.name} }}}} in SQL and context.outlets.{asset.name} in a function say where it is to be"
    )
    place = storage.display_text if storage.table else f"at {storage.display_text}"
    return RunError(
        f"{asset.name}: its code has ended, but there is no Delta table {place}",
        hint=f"{where}; without 'path' and 'table' it is known by its events alone",
    )


MAX_CHANGES = 3
"""Runs of one asset that may fail in one invocation because a source changed; after that it is not looked at."""


class UnsettledSources:
    """Counts runs that failed because a source changed between plan and read; one object for each invocation."""

    def __init__(self) -> None:
        self._failed: Counter[tuple[str, str]] = Counter()

    def count_change(self, asset: str, outcome: Outcome) -> bool:
        """Counts a failed run of the asset if a changed source caused the failure; returns whether one did."""
        source = _changed_source(outcome)
        if source is not None:
            self._failed[asset, source] += 1
        return source is not None

    def abandoned_sources(self) -> Mapping[str, str]:
        """Sources that this invocation stops looking at, with a sentence that says why and what to do.

        Each look would record another change, and the runs that failed because of the last one would be planned again,
        forever.

        A look would find a new cause for the runs that failed, and they would be planned again.
        """
        said = f"it changed {MAX_CHANGES} times while it was read; 'settle' leaves alone what is still being written"
        return {source: said for (_, source), times in self._failed.items() if times >= MAX_CHANGES}

    def is_change_recorded(self, outcome: Outcome, pins: Mapping[str, InletPin], state: State) -> bool:
        """Whether the source change that failed the run is recorded by now, so that a new plan differs.

        False for an abandoned source: it still changes, and a run planned with the recorded version would fail again.
        """
        source = _changed_source(outcome)
        pin = pins.get(source) if source is not None else None
        return pin is not None and source not in self.abandoned_sources() and state.dataset(pin.uri).seq > pin.seq


def _changed_source(outcome: Outcome) -> str | None:
    """The source whose change made the run fail; None for any other outcome."""
    if isinstance(outcome, FailedRun) and issubclass(type(outcome.error), SourceChangedError):
        return getattr(outcome.error, "source", None)
    return None


def known_unchanged(asset: AssetState, same: PartitionSet, *, table_id: str | None) -> PartitionSet:
    """The partitions of ``same`` that consumers already know with these rows.

    Partitions that were absent, lost, or in another table before count as changed, whatever their rows.

    Args:
        asset: The asset's state before the run is recorded.
        same: Partitions whose rows the run left unchanged; everything for an asset without partitions.
        table_id: The table that the run is in.
    """
    if asset.table_id != table_id or asset.stuck_loss is not None:
        return NOTHING
    if asset.spec.partitioning.is_partitioned:
        return same & asset.coverage
    return EVERYTHING if same.is_everything and asset.last is not None and asset.loss is None else NOTHING


def outlet_entries(
    project: ProjectSpec, state: State, entry: SuccessEntry, done: CommittedRun
) -> Iterator[OutletEntry]:
    """One entry for each outlet of a multi-asset's run, made from the commit in that outlet; none for other assets."""
    shared = done.first_commit.measures.get("extra", {})
    claim = state.assets[entry.asset].claim_entry(entry.token)
    request = claim.request if claim is not None else None
    for name, committed in zip(entry.outlets, done.commits, strict=True) if entry.outlets else ():
        own = committed.measures.get("outlets", {}).get(name, {})
        outlet = OutletEntry(
            asset=name,
            uri=project.assets[name].uri,
            maker=entry.asset,
            run=entry.run,
            token=entry.token,
            recorder=entry.recorder,
            epoch=committed.token if committed.token != entry.token else 0,
            partitions=entry.partitions,
            table_id=committed.table_id,
            version=committed.version,
            interval=entry.interval,
            pins=entry.pins,
            extra={**committed.rows, **shared, **own},
            definition=entry.definition,
            withheld=entry.withheld,
            mark=committed.mark,
            besides=committed.besides,
            unchanged=entry.published_partitions
            & known_unchanged(state.assets[name], committed.unchanged_partitions, table_id=committed.table_id),
        )
        yield (
            outlet
            if request is None
            else outlet_with_iteration(outlet, project.assets[name], state, request, committed)
        )


def find_unchanged(state: State, asset: AssetSpec, done: CommittedRun, partitions: PartitionSet) -> PartitionSet:
    """The run's partitions whose rows stayed the same in every table it wrote: no consumer becomes stale."""
    same = partitions
    for name, committed in zip(asset.written_assets, done.commits, strict=True):
        same = same & known_unchanged(state.assets[name], committed.unchanged_partitions, table_id=committed.table_id)
    return same


def total_row_counts(commits: Sequence[DataCommit]) -> Mapping[str, int]:
    """Rows written, updated and deleted by a run, summed over all of its commits, by the name of the count."""
    total: Counter[str] = Counter()
    for committed in commits:
        total.update(committed.rows)
    return dict(total)
