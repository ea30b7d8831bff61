"""From the end of a run to its journal entries: what it left in each outlet, itself, and the events it announced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sparkassets.core.journal.entries import Entry, FailureEntry, OutletEntry, SkippedEntry, SuccessEntry
from sparkassets.core.journal.state import AssetState, State
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.ports import DataCommit
from sparkassets.runtime.active_runs import ActiveRun, EndedRun
from sparkassets.runtime.invocation import Invocation
from sparkassets.runtime.iterations import outlet_with_iteration, with_iteration
from sparkassets.runtime.outcomes import CommittedRun, FailedRun, SkippedRun, SupersededRun
from sparkassets.runtime.progress import FailureExplanation
from sparkassets.runtime.unsettled_sources import UnsettledSources

RunEnding = SuccessEntry | FailureEntry | SkippedEntry
"""The entry that records how a run ended."""


class RunEntryBuilder:
    """Builds the entries of ended runs.

    Args:
        unsettled: Says which runs failed because a source changed while they read it.
    """

    def __init__(self, invocation: Invocation, unsettled: UnsettledSources) -> None:
        self._invocation = invocation
        self._project = invocation.project
        self._unsettled = unsettled

    def build_entries(self, end: EndedRun, state: State, failure: FailureExplanation) -> list[Entry]:
        """The entries for one run: of what it left in each outlet first, then of itself; none if it was superseded."""
        active, seconds = end.active, self._invocation.clock.monotonic() - end.active.started_at
        match end.outcome:
            case CommittedRun() as committed:
                success = self._build_success(active, committed, state, seconds)
                outlets = _outlet_entries(self._project, state, success, committed)
                return [*outlets, success, *_announced_events(success, committed)]
            case FailedRun() as failed:
                request = active.claim.entry.request
                is_replanned = self._unsettled.is_change_recorded(failed, request.pins, state)
                return [self._build_failure(active, failed, failure, seconds, is_replanned=is_replanned)]
            case SkippedRun() as skipped:
                return [self._build_skipped(active, skipped, seconds)]
            case SupersededRun():
                return []

    def _build_failure(
        self, active: ActiveRun, failed: FailedRun, failure: FailureExplanation, seconds: float, *, is_replanned: bool
    ) -> FailureEntry:
        """The entry of a failed run; ``is_replanned`` if a source changed and the next plan reads its new content."""
        claim = active.claim
        return FailureEntry(
            asset=active.run.asset,
            run=claim.entry.run,
            token=claim.token,
            partitions=claim.entry.partitions,
            cause="changed" if is_replanned else failed.cause,
            error=failure.error,
            invocation=self._invocation.name,
            fenced=failed.fenced,
            attempts=failed.attempts,
            details=failure.details,
            hint=failure.hint,
            seconds=seconds,
            divisions=failed.divisions,
            bad_partitions=failed.bad_partitions,
            asked_runs=failed.asked_runs,
            watermarks=failed.watermarks,
        )

    def _build_skipped(self, active: ActiveRun, skipped: SkippedRun, seconds: float) -> SkippedEntry:
        """The entry of a run whose code had nothing to do."""
        claim = active.claim
        return SkippedEntry(
            asset=active.run.asset,
            run=claim.entry.run,
            token=claim.token,
            partitions=claim.entry.partitions,
            reason=skipped.reason,
            invocation=self._invocation.name,
            attempts=skipped.attempts,
            seconds=seconds,
        )

    def _build_success(self, active: ActiveRun, outcome: CommittedRun, state: State, seconds: float) -> SuccessEntry:
        """The entry of the run that is in the target: the active one, or an older run that the active one found there.

        ``token`` is the claim of that run, ``recorder`` the claim under which it is recorded. A multi-asset has no
        table of its own: its outlets' entries hold table and version.
        """
        asset = self._project.assets[active.run.asset]
        committed, chain = outcome.first_commit, state.assets[asset.name].chain
        claim = next((link for link in chain if link.entry.run == committed.run), active.claim)
        request, partitions = claim.entry.request, _computed_partitions(asset, outcome, claim.entry.partitions)
        keys = _learned_segments(asset, outcome, partitions)
        entry = SuccessEntry(
            asset=asset.name,
            uri=asset.uri,
            run=claim.entry.run,
            token=claim.token,
            recorder=active.claim.token,
            partitions=_resolve_discovered(asset, committed, partitions, keys),
            table_id=None if asset.outlets else committed.table_id,
            version=None if asset.outlets else committed.version,
            interval=claim.entry.interval,
            pins=request.pins,
            events=request.events,
            watermarks=committed.measures.get("watermarks", {}),
            extra={**total_row_counts(outcome.commits), **committed.measures.get("extra", {})},
            attempt=committed.attempt or outcome.attempts,
            seconds=seconds,
            definition=request.definition,
            keys=keys,
            unchanged=_find_unchanged(state, asset, outcome, partitions - committed.withheld),
            commit_mark="" if asset.outlets else committed.commit_mark,
            other_changed_partitions=committed.other_changed_partitions,
            outlets=asset.outlets,
            **_judgement_fields(committed, partitions),
        )
        return with_iteration(entry, asset, state, request, committed)


def _announced_events(entry: SuccessEntry, outcome: CommittedRun) -> list[Entry]:
    """The events that the run announced, as its commit in the target carries them."""
    from sparkassets.core.journal.announcements import decode_announcement

    announced = outcome.first_commit.measures.get("events", ())
    return [decode_announcement(each, run=entry.run, interval=entry.interval) for each in announced]


def _judgement_fields(committed: DataCommit, partitions: PartitionSet) -> Mapping[str, Any]:
    """The fields of a success entry that hold validation results: verdicts, withheld partitions and row counts.

    The withheld partitions are cut to the run's ``partitions``. Without a judgement only the verdicts are returned.
    """
    judgement, verdicts = committed.judgement, {"verdicts": committed.verdicts}
    if judgement is None:
        return verdicts
    return {**verdicts, "withheld": judgement.withheld & partitions, "counts": judgement.counts}


def _computed_partitions(asset: AssetSpec, outcome: CommittedRun, claimed: PartitionSet) -> PartitionSet:
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


def _learned_segments(asset: AssetSpec, outcome: CommittedRun, partitions: PartitionSet) -> dict[str, tuple[str, ...]]:
    """Dimension column to the segments that the run made known, sorted; columns without any are left out.

    A segment becomes known because rows came out for it, because the function added it, or because its partition was
    withheld.
    """
    committed = outcome.first_commit
    added = committed.measures.get("keys", {})
    withheld = asset.partitioning.open_segments(committed.discovered_partitions & committed.withheld & partitions)
    origins = [outcome.keys, added, withheld]
    columns = sorted({column for origin in origins for column in origin})
    learned = {column: {key for origin in origins for key in origin.get(column, ())} for column in columns}
    return {column: tuple(sorted(keys)) for column, keys in learned.items() if keys}


def _resolve_discovered(
    asset: AssetSpec, committed: DataCommit, partitions: PartitionSet, keys: Mapping[str, Any]
) -> PartitionSet:
    """The run's partitions with "all segments" replaced by the segments in ``keys`` that came out of it.

    ``partitions`` is returned as it is if all of it is withheld: then no segment was published.
    """
    is_all_withheld = committed.withheld.covers(partitions) and partitions != NOTHING
    return partitions if is_all_withheld else asset.partitioning.resolve_whole(partitions, keys)


def unchanged_for_consumers(asset: AssetState, unchanged: PartitionSet, *, table_id: str | None) -> PartitionSet:
    """The partitions of ``unchanged`` that consumers already know with these rows.

    Partitions that were absent, lost, or in another table before count as changed, whatever their rows.

    Args:
        asset: The asset's state before the run is recorded.
        unchanged: Partitions whose rows the run left unchanged; everything for an asset without partitions.
        table_id: The table that the run is in.
    """
    if asset.table_id != table_id or asset.stuck_loss is not None:
        return NOTHING
    if asset.spec.partitioning.is_partitioned:
        return unchanged & asset.coverage
    return EVERYTHING if unchanged.is_everything and asset.last is not None and asset.loss is None else NOTHING


def _outlet_entries(
    project: ProjectSpec, state: State, entry: SuccessEntry, outcome: CommittedRun
) -> Iterator[OutletEntry]:
    """One entry for each outlet of a multi-asset's run, made from the commit in that outlet; none for other assets."""
    shared_extra = outcome.first_commit.measures.get("extra", {})
    claim = state.assets[entry.asset].claim_entry(entry.token)
    request = claim.request if claim is not None else None
    for name, committed in zip(entry.outlets, outcome.commits, strict=True) if entry.outlets else ():
        outlet_extra = committed.measures.get("outlets", {}).get(name, {})
        outlet = OutletEntry(
            asset=name,
            uri=project.assets[name].uri,
            written_by=entry.asset,
            run=entry.run,
            token=entry.token,
            recorder=entry.recorder,
            epoch=committed.token if committed.token != entry.token else 0,
            partitions=entry.partitions,
            table_id=committed.table_id,
            version=committed.version,
            interval=entry.interval,
            pins=entry.pins,
            extra={**committed.rows, **shared_extra, **outlet_extra},
            definition=entry.definition,
            withheld=entry.withheld,
            commit_mark=committed.commit_mark,
            other_changed_partitions=committed.other_changed_partitions,
            unchanged=entry.published_partitions
            & unchanged_for_consumers(state.assets[name], committed.unchanged_partitions, table_id=committed.table_id),
        )
        yield (
            outlet
            if request is None
            else outlet_with_iteration(outlet, project.assets[name], state, request, committed)
        )


def _find_unchanged(state: State, asset: AssetSpec, outcome: CommittedRun, partitions: PartitionSet) -> PartitionSet:
    """The run's partitions whose rows stayed the same in every table it wrote: no consumer becomes stale."""
    unchanged = partitions
    for name, committed in zip(asset.written_assets, outcome.commits, strict=True):
        unchanged = unchanged & unchanged_for_consumers(
            state.assets[name], committed.unchanged_partitions, table_id=committed.table_id
        )
    return unchanged


def total_row_counts(commits: Sequence[DataCommit]) -> Mapping[str, int]:
    """Rows written, updated and deleted by a run, summed over all of its commits, by the name of the count."""
    total: Counter[str] = Counter()
    for committed in commits:
        total.update(committed.rows)
    return dict(total)
