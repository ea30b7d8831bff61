"""Looks at sources and at the assets' own tables before a plan, and turns what changed into journal entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from pathlib import PurePath
from types import MappingProxyType
from typing import TypeVar

from sparkassets.core.journal.entries import Entry, NumberedEntry, ObservedEntry, SpecEntry
from sparkassets.core.journal.fold_specs import build_fold_spec
from sparkassets.core.journal.state import AssetState, State
from sparkassets.core.journal.table_findings import TableFinding, TargetEntry
from sparkassets.core.journal.table_losses import build_target_entry
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.runs import app_id
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.errors import SourceError, StateError, UnknownRunError
from sparkassets.frozen import frozen
from sparkassets.ports import LastLook, Observation, RecordedTable, SourceObserver, TargetObserver, UnrecordedChain

T = TypeVar("T")

_MOST_THREADS = 16


def look_at_each(assets: Iterable[AssetSpec], look: Callable[[AssetSpec], T]) -> dict[str, T]:
    """Asset name to the result of ``look``, in the order of the assets.

    Assets on a local disk are looked at in this thread, all others concurrently: there the round trip is the cost.
    """
    listed = list(assets)
    distant = [asset for asset in listed if _is_distant(asset)]
    near_results = {asset.name: look(asset) for asset in listed if not _is_distant(asset)}
    if not distant:
        return near_results
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_MOST_THREADS) as pool:
        distant_results = dict(zip((asset.name for asset in distant), pool.map(look, distant), strict=True))
    return {
        asset.name: distant_results[asset.name] if asset.name in distant_results else near_results[asset.name]
        for asset in listed
    }


def _is_distant(asset: AssetSpec) -> bool:
    return asset.storage is not None and "://" in asset.storage.path


@frozen
class ObservationReport:
    """Entries for what changed, and problems of the sources and tables that could not be looked at.

    Attributes:
        faults: Asset to what is wrong and what to do, one line.
        notes: Asset to what people should know of how it is now, one line.
        session_needed: Asset to why a Spark session alone can look at it, which is not there.
    """

    entries: Sequence[Entry]
    faults: dict[str, str]
    notes: dict[str, str]
    session_needed: dict[str, str] = field(default_factory=dict)


def changed_spec_entries(project: ProjectSpec, state: State) -> list[Entry]:
    """An entry for every asset whose compiled spec differs from the one in the journal.

    An asset that left the project keeps its state, in case it comes back. Only the datasets that its condition named
    are dropped, so that no events are kept for an asset that never runs.
    """
    entries: list[Entry] = [
        SpecEntry(name, replace(recorded.spec.as_declared, named=()))
        for name, recorded in state.assets.items()
        if recorded.spec.named and name not in project.assets
    ]
    for asset in project.assets.values():
        spec, recorded = build_fold_spec(asset, project), state.assets.get(asset.name)
        if recorded is None or recorded.spec.as_declared != spec:
            entries.append(SpecEntry(asset.name, spec))
    return entries


def observe_sources(
    project: ProjectSpec,
    state: State,
    observer: Callable[[AssetSpec], SourceObserver | None],
    *,
    now: datetime,
    abandoned: Mapping[str, str] = MappingProxyType({}),
) -> ObservationReport:
    """Looks at every source once, after `changed_spec_entries` is recorded.

    Args:
        project: The project.
        state: The state, which knows the project's assets.
        observer: Returns what looks at an asset; None if there is nothing to look at.
        now: The real clock, not ``--at``: ``settle`` compares it with the age of files.
        abandoned: Sources that are not looked at any more, with the problem to report for each.
    """
    assets = [project.assets[name] for name in project.assets if name not in abandoned]
    sources = {asset.name: source for asset in assets if (source := observer(asset)) is not None}
    dataset_counts = Counter(asset.uri for asset in project.assets.values())

    def look(asset: AssetSpec) -> Observation | SourceError | None:
        # sources that share a dataset share its coverage: what this one lacks may be another's, and is not removed
        coverage = state.dataset(asset.uri).coverage if dataset_counts[asset.uri] == 1 else NOTHING
        return _observe_source(asset, sources[asset.name], state, coverage, now)

    results = look_at_each(map(project.assets.__getitem__, sources), look)
    observations = {name: each for name, each in results.items() if isinstance(each, Observation)}
    faults = {name: error_line(each) for name, each in results.items() if isinstance(each, SourceError)}
    return _report_observations(project, observations, {**abandoned, **faults})


def _observe_source(
    asset: AssetSpec, source: SourceObserver, state: State, coverage: PartitionSet, now: datetime
) -> Observation | SourceError | None:
    """The change of one source since the last look, None if there is none, or the error that prevented the look.

    ``coverage`` holds the partitions that its dataset had so far; those it lacks now are reported as removed.
    """
    recorded = state.assets[asset.name]
    try:
        last = LastLook(
            recorded.table_id,
            recorded.version,
            recorded.position,
            coverage,
            {uri: state.dataset(uri).coverage for uri in asset.views},
        )
        return source.observe(asset, last, now=now)
    except SourceError as error:
        return error


def _report_observations(
    project: ProjectSpec, observations: Mapping[str, Observation], faults: dict[str, str]
) -> ObservationReport:
    """The report of all looks: entries for sources that changed, and ``faults``, notes and needed sessions by asset."""
    return ObservationReport(
        [_observed_entry(project.assets[name], each) for name, each in observations.items() if each.has_news],
        faults,
        {name: "; ".join(each.notes) for name, each in observations.items() if each.notes},
        {name: each.session_needed_reason for name, each in observations.items() if each.session_needed_reason},
    )


def error_line(error: SourceError) -> str:
    """The error's first line and its hint, as one line."""
    first_line = error.args[0].partition("\n")[0]
    return f"{first_line}; {error.hint}" if error.hint else first_line


def _observed_entry(asset: AssetSpec, observation: Observation) -> ObservedEntry:
    """The journal entry that records an observation."""
    return ObservedEntry(
        asset=asset.name,
        uri=asset.uri,
        changed=observation.changed,
        removed=observation.removed,
        whole=observation.whole,
        table_id=observation.table_id,
        version=observation.version,
        cursor=observation.cursor,
        extra=observation.extra,
        views=observation.views,
    )


def find_unmounted(
    project: ProjectSpec, state: State, observer: TargetObserver, assets: Iterable[AssetSpec]
) -> dict[str, str]:
    """Asset to the problem, for ``assets`` whose folder is missing although the journal records tables in it.

    An asset that was never written counts as well. Its first run would create the folder beside the unmounted volume,
    and then all other tables there would look as if somebody had removed them.
    """
    recorded = [
        asset for asset in project.assets.values() if asset.source is None and _has_recorded_table(asset, state)
    ]
    missing = {PurePath(folder) for asset in recorded if (folder := observer.missing_folder(asset)) is not None}
    faults = {}
    for asset in assets if missing else ():
        folder = observer.missing_folder(asset)
        outermost = None if folder is None else _find_outermost(PurePath(folder), missing)
        if outermost is not None:
            from shlex import quote

            faults[asset.name] = (
                f"the folder {outermost} is missing, but had tables: mount its volume, or recompute them after "
                f"`mkdir -p {quote(str(outermost))}`"
            )
    return faults


def _find_outermost(folder: PurePath, missing: Collection[PurePath]) -> PurePath | None:
    """The outermost missing folder around one, so that all assets on an unmounted volume get the same message."""
    return next((each for each in reversed((folder, *folder.parents)) if each in missing), None)


def _has_recorded_table(asset: AssetSpec, state: State) -> bool:
    recorded = state.assets.get(asset.name)
    return recorded is not None and recorded.table_id is not None


RunLookup = Callable[[str, int], bool]
"""Takes a run's name and the fence token of its commit; returns whether the journal knows the run."""

_RESTORE_HINT = (
    "a restored or copied state is older than its tables: restore the newest state, or tables of the same age; "
    "without either, remove the state, and everything is recomputed"
)


def look_at_targets(
    project: ProjectSpec,
    state: State,
    observer: TargetObserver,
    *,
    gone_claims: Collection[int],
    knows_run: RunLookup,
    select: Collection[str] | None = None,
    lost_before: Collection[str] = (),
) -> ObservationReport:
    """Looks at the tables of the assets that may run, and of their inlets; returns changes as entries.

    A table that a live run writes is skipped: what is found there is that run's business. A table without a recorded
    run, or one that others changed, is also checked for being writable. If it is not, that is a fault before anything
    is claimed, and nothing is recorded of the table until the obstacle is gone.

    Args:
        project: Its assets; the state knows them as they are now.
        state: What is recorded.
        observer: Looks at one table.
        gone_claims: Fence tokens of claims whose driver is known to be gone, or whose lease is over.
        knows_run: Whether the journal, read now, knows the run of a table's commit.
        select: Assets that may run; None means all.
        lost_before: Assets for which this invocation has already recorded a loss. A second loss after they ran is a
            fault instead of a new run, or something that keeps deleting the table would keep this driver busy forever.

    Raises:
        StateError: A table holds a run that the journal knows nothing of: its state is older, or a copy.
    """
    concerned = _relevant_assets(project, select)
    faults = find_unmounted(project, state, observer, concerned)
    idle = [asset for asset in concerned if asset.name not in faults and not _has_live_run(asset, state, gone_claims)]
    checks = _table_checks(idle, state, observer, written=_writable_assets(project, select))
    findings = look_at_each((check.asset for check in checks.values()), lambda asset: checks[asset.name].run_check())
    entries: list[Entry] = []
    for name, check in checks.items():
        finding, recorded = findings[name], state.assets[name]
        if isinstance(finding, UnknownRunError):
            _refuse_unknown_run(name, finding, knows_run)
        elif isinstance(finding, SourceError):
            faults[name] = error_line(finding)
        elif finding is not None and name in lost_before and _is_new_loss(finding, recorded):
            faults[name] = f"{finding.reason}, again, after it was recomputed; find out who removes it"
        elif check.known is not None and (entry := build_target_entry(check.asset, recorded, finding)) is not None:
            entries.append(entry)
    return ObservationReport(entries, faults, {}, _session_reasons(concerned, observer))


def _table_checks(
    assets: Iterable[AssetSpec], state: State, observer: TargetObserver, *, written: Collection[str]
) -> dict[str, _TableCheck]:
    """Asset name to the check of its table; assets without a table are left out."""
    return {
        asset.name: _TableCheck(
            observer, asset, recorded_table(asset, state), _commit_chain(asset, state), asset.name in written
        )
        for asset in assets
        if asset.storage is not None
    }


def _session_reasons(assets: Iterable[AssetSpec], observer: TargetObserver) -> dict[str, str]:
    """Asset to the reason why only a Spark session can look at its table; assets that need none are left out."""
    reasons = ((asset.name, observer.session_needed_reason(asset)) for asset in assets)
    return {name: reason for name, reason in reasons if reason is not None}


def _is_new_loss(finding: TableFinding, recorded: AssetState) -> bool:
    """Whether a run would compute the lost partitions again; not if a person was asked about a loss before."""
    return finding.is_loss and recorded.stuck_loss is None


def _refuse_unknown_run(asset: str, error: UnknownRunError, knows_run: RunLookup) -> None:
    """Raises `StateError` for a table that holds a run unknown to the journal: the state is an older copy.

    Not if another driver claimed that run after the state was read, which ``knows_run`` says.
    """
    if not knows_run(error.run, error.token):
        message = f"the state is older than the table of {asset}: {error.args[0]}, which the journal does not record"
        raise StateError(message, hint=_RESTORE_HINT, topic="state-older-than-its-tables")


def assets_with_losses(recorded: Iterable[NumberedEntry]) -> set[str]:
    """Assets for which the given entries record that their table lost partitions."""
    entries = (each.entry for each in recorded)
    return {entry.asset for entry in entries if isinstance(entry, TargetEntry) and entry.found.is_loss}


def _relevant_assets(project: ProjectSpec, select: Collection[str] | None) -> list[AssetSpec]:
    """The selected assets with their inlets and outlets, without sources, in project order."""
    assets = project.assets.values()
    selected = set(project.assets if select is None else select)
    adjacent = (
        each for name in selected for each in (*project.assets[name].inlets, *project.assets[name].written_assets)
    )
    relevant = selected.union(adjacent)
    return [asset for asset in assets if asset.source is None and asset.name in relevant]


def _writable_assets(project: ProjectSpec, select: Collection[str] | None) -> set[str]:
    """Names of the selected assets and of their outlets: the tables that runs may write."""
    selected = set(project.assets if select is None else select)
    return selected | {each for name in selected for each in project.assets[name].written_assets}


def recorded_table(asset: AssetSpec, state: State) -> RecordedTable | None:
    """The asset's table as the journal records it; None if no run was recorded in one.

    The claims of an outlet are those of its multi-asset.
    """
    recorded, runs = state.assets[asset.name], state.assets.get(asset.written_by or asset.name)
    if (
        recorded.table_id is None
        or recorded.version is None
        or recorded.seen_version is None
        or recorded.commit_mark is None
    ):
        return None
    chain = _commit_chain(asset, state)
    settled_runs = (
        {link.entry.run for each in runs.asking_claims for link in runs.chains[each.run_slot]}
        if runs is not None
        else ()
    )
    return RecordedTable(
        recorded.table_id,
        recorded.version,
        recorded.seen_version,
        recorded.commit_mark,
        chain.app,
        recorded.coverage,
        settled_runs,
        chain.claimed,
    )


def _commit_chain(asset: AssetSpec, state: State) -> UnrecordedChain:
    """The application id of the asset's commits, its claimed runs, and whether a person has marked its partitions.

    Runs and claims of an outlet are those of its multi-asset.
    """
    runner = asset.written_by or asset.name
    runs = state.assets.get(runner)
    links = (link for chain in runs.chains.values() for link in chain) if runs is not None else ()
    recorded = [state.assets[name] for name in {asset.name, runner} & state.assets.keys()]
    is_marked = any(each.coverage or each.marks or each.instance_marks for each in recorded)
    return UnrecordedChain(app_id(state.journal_id, runner), {link.entry.run for link in links}, is_marked)


def _has_live_run(asset: AssetSpec, state: State, gone_claims: Collection[int]) -> bool:
    """Whether the newest claim of a chain of the asset is open and its driver is not known to be gone."""
    runs = state.assets.get(asset.written_by or asset.name)
    newest = (chain[-1] for chain in runs.chains.values()) if runs is not None else ()
    return any(link.status == "open" and link.token not in gone_claims for link in newest)


@frozen
class _TableCheck:
    """One table to look at.

    Attributes:
        known: The table as the journal records it; None if no run has written it.
        chain: What the journal has of its commits and claims.
        is_written: Whether a run may write it in this invocation.
    """

    observer: TargetObserver
    asset: AssetSpec
    known: RecordedTable | None
    chain: UnrecordedChain
    is_written: bool

    def run_check(self) -> TableFinding | SourceError | None:
        """The difference from the recorded table, None if there is none, or the error that would stop a run.

        An error is returned, not raised, since checks run in threads and one bad table must not hide the others.
        """
        try:
            finding = None if self.known is None else self.observer.detect_changes(self.asset, self.known)
            if self.is_written and not self.asset.writes_itself and (self.known is None or finding is not None):
                version = self.observer.check_writable(self.asset)
                if self.known is None and version is not None:
                    self.observer.check_unrecorded_commits(self.asset, version, chain=self.chain)
        except SourceError as error:
            return error
        return finding
