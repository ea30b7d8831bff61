"""From a claim to its order: everything that a worker needs to compute the claimed run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sparkassets.core.instants import from_unix
from sparkassets.core.journal import history
from sparkassets.core.journal.asset_records import LastRun
from sparkassets.core.journal.entries import SuccessEntry
from sparkassets.core.journal.known_segments import with_known_segments
from sparkassets.core.journal.state import AssetState, ClaimState, EventRef, State
from sparkassets.core.partitions import NOTHING
from sparkassets.core.planner.plan import PlannedRun
from sparkassets.core.runs import RunRequest, app_id
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.validations import PartitionRowCount, PastRowCounts, qualified_rule_name
from sparkassets.frozen import replace
from sparkassets.ports import RunOrder
from sparkassets.runtime.file_pins import changed_file_inlets, find_pinned_files
from sparkassets.runtime.iterations import iteration_order_fields
from sparkassets.runtime.ledger import JournalLedger

MOST_RUNS = 1000
"""At most so many of an asset's newest successes are read for validations that compare row counts with the past."""


class OrderBuilder:
    """Builds the orders of a project's claimed runs, from the newest state that the ledger has."""

    def __init__(self, project: ProjectSpec, ledger: JournalLedger) -> None:
        self._project = project
        self._ledger = ledger
        self._assets_by_uri: dict[str, list[str]] = {}
        for asset in project.assets.values():
            self._assets_by_uri.setdefault(asset.uri, []).append(asset.name)

    def build_order(self, run: PlannedRun, claim: ClaimState) -> RunOrder:
        """The order for a claim: of the planned run itself, or of an older run in its slot that it completes.

        Of the plan's events an order keeps those that its own claim names.
        """
        state, request = self._ledger.state, claim.entry.request
        project = with_known_segments(self._project, state)
        asset, causes = project.assets[run.asset], frozenset(request.events)
        recorded = state.assets[asset.name]
        files = find_pinned_files(project, state, asset, request.pins)
        order = RunOrder(
            asset=asset,
            run=claim.entry.run,
            app_id=app_id(state.journal_id, asset.name, request.run_slot),
            token=claim.token,
            partitions=request.partitions,
            pins=request.pins,
            inlets={name: project.inlet_with_mapping(asset, name) for name in request.pins},
            interval=(from_unix(request.interval[0]), from_unix(request.interval[1])) if request.interval else None,
            schedule_date=from_unix(request.schedule_date),
            events=self._triggering_events([ref for ref in run.events if ref.seq in causes]),
            previous_interval=_previous_interval(recorded.last, request.interval),
            rebuilds=request.rebuilds,
            **iteration_order_fields(asset, state, request),
            known_position=_known_position(recorded),
            past=self._past_row_counts(asset),
            accepted_partitions=request.accepted,
            promotes=request.promotes,
            warehouse=self._project.warehouse,
            computed_partitions=recorded.coverage if asset.partitioning.is_partitioned else NOTHING,
            removed_segments={
                column: segments.removed for column, segments in recorded.keys.items() if segments.removed
            },
            files=files,
            changed_file_inlets=changed_file_inlets(files, request.pins),
        )
        outlets = tuple(self._outlet_order(order, project.assets[name], state, request) for name in asset.outlets)
        return replace(order, outlets=outlets)

    def _outlet_order(self, order: RunOrder, outlet: AssetSpec, state: State, request: RunRequest) -> RunOrder:
        """The order of a multi-asset as it holds for one of its outlets."""
        changed: dict[str, Any] = {
            **iteration_order_fields(outlet, state, request),
            "known_position": _known_position(state.assets[outlet.name]),
            "past": self._past_row_counts(outlet),
        }
        return replace(order, asset=outlet, **changed)

    def _triggering_events(self, refs: Sequence[EventRef]) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Name to events: each event under its asset, every asset with the same dataset, and the dataset's URI."""
        from sparkassets.core.journal.announcements import event_partitioning

        events: dict[str, list[Mapping[str, Any]]] = {}
        for ref in refs:
            partitioning = event_partitioning(self._project, asset=ref.asset, uri=ref.uri)
            event = history.event_with_source_run(ref, partitioning)
            names = [*filter(None, [ref.asset]), *self._assets_by_uri.get(ref.uri, ()), ref.uri]
            for name in dict.fromkeys(names):
                events.setdefault(name, []).append(event)
        return events

    def _past_row_counts(self, asset: AssetSpec) -> PastRowCounts:
        """Row counts of earlier runs, by the name of the validation that compares with them, newest run first.

        Only validations that look at history are listed; an outlet's counts are read from the runs of its multi-asset.
        """
        outlet = asset.name if asset.written_by else ""
        counts: dict[str, list[PartitionRowCount]] = {rule.name: [] for rule in asset.rules if rule.history_length}
        if not counts:
            return counts
        for numbered in self._ledger.newest_entries("success", asset=asset.written_by or asset.name, most=MOST_RUNS):
            if isinstance(numbered.entry, SuccessEntry):
                for name, rule_counts in counts.items():
                    rule_counts.extend(numbered.entry.counts.get(qualified_rule_name(outlet, name), ()))
        return counts


def _known_position(asset: AssetState) -> tuple[str, int] | None:
    """The table, and the version of it, up to which the asset's readers know its changes."""
    return None if asset.table_id is None or asset.seen_version is None else (asset.table_id, asset.seen_version)


def _previous_interval(last: LastRun | None, interval: tuple[int, int] | None) -> tuple[datetime, datetime] | None:
    """The interval of the last success, unless the run's own is as early: a backfill has nothing before it."""
    if last is None or last.interval is None or (interval is not None and last.interval[0] >= interval[0]):
        return None
    return from_unix(last.interval[0]), from_unix(last.interval[1])
