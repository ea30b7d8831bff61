"""Looks at sources and at assets' own tables before a plan, and makes journal entries of what changed."""

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
from sparkassets.core.spec.model import AssetSpec, ProjectSpec
from sparkassets.errors import SourceError, StateError, UnknownRunError
from sparkassets.frozen import frozen
from sparkassets.ports import Observation, RecordedTable, SourceObserver, TargetObserver

T = TypeVar("T")

AT_ONCE = 16


def look_at_each(assets: Iterable[AssetSpec], look: Callable[[AssetSpec], T]) -> dict[str, T]:
    """By name what ``look`` says of each asset, in their order; those on a disk are looked at in this thread."""
    every = list(assets)
    distant = [asset for asset in every if _is_distant(asset)]
    near = {asset.name: look(asset) for asset in every if not _is_distant(asset)}
    if not distant:
        return near
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(AT_ONCE) as pool:
        far = dict(zip((asset.name for asset in distant), pool.map(look, distant), strict=True))
    return {asset.name: far[asset.name] if asset.name in far else near[asset.name] for asset in every}


def _is_distant(asset: AssetSpec) -> bool:
    return asset.storage is not None and "://" in asset.storage.path


@frozen
class ObservationReport:
    """Entries that tell what is new, and sources that could not be looked at.

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
    """An entry for every asset whose compiled spec is not the journal's.

    What the project has no more runs no more: events are not kept for it. All else of it is, for when it comes back.
    """
    entries: list[Entry] = [
        SpecEntry(name, replace(known.spec.as_declared, named=()))
        for name, known in state.assets.items()
        if known.spec.named and name not in project.assets
    ]
    for asset in project.assets.values():
        spec, known = build_fold_spec(asset, project), state.assets.get(asset.name)
        if known is None or known.spec.as_declared != spec:
            entries.append(SpecEntry(asset.name, spec))
    return entries


def observe_sources(
    project: ProjectSpec,
    state: State,
    observer: Callable[[AssetSpec], SourceObserver | None],
    *,
    now: datetime,
    leaving: Mapping[str, str] = MappingProxyType({}),
) -> ObservationReport:
    """Looks at every source once, after `changed_spec_entries`; ``now`` is the real clock, by which ``settle`` goes.

    Those of ``leaving`` are looked at no more; it says what is wrong with each.
    """
    assets = [asset for asset in project.assets.values() if asset.name not in leaving]
    sources = {asset.name: source for asset in assets if (source := observer(asset)) is not None}
    sharing = Counter(asset.uri for asset in project.assets.values())

    def look(asset: AssetSpec) -> Observation | SourceError | None:
        # what others of the same dataset brought is not missing because this one does not have it
        coverage = state.dataset(asset.uri).coverage if sharing[asset.uri] == 1 else NOTHING
        return _observe_source(asset, sources[asset.name], state, coverage, now)

    looked = look_at_each((asset for asset in assets if asset.name in sources), look)
    seen = {name: each for name, each in looked.items() if isinstance(each, Observation)}
    wrong = {name: error_line(each) for name, each in looked.items() if isinstance(each, SourceError)}
    return _report_observations(project, seen, {**leaving, **wrong})


def _observe_source(
    asset: AssetSpec, source: SourceObserver, state: State, coverage: PartitionSet, now: datetime
) -> Observation | SourceError | None:
    """What is new in a source, or what is wrong with it; ``coverage`` is what its dataset held by then."""
    known = state.assets[asset.name]
    try:
        return source.observe(
            asset,
            table_id=known.table_id,
            version=known.version,
            cursor=known.position,
            coverage=coverage,
            viewed={uri: state.dataset(uri).coverage for uri in asset.views},
            now=now,
        )
    except SourceError as error:
        return error


def _report_observations(
    project: ProjectSpec, seen: Mapping[str, Observation], faults: dict[str, str]
) -> ObservationReport:
    return ObservationReport(
        [_observed_entry(project.assets[name], each) for name, each in seen.items() if each.has_news],
        faults,
        {name: "; ".join(each.notes) for name, each in seen.items() if each.notes},
        {name: each.session_needed_reason for name, each in seen.items() if each.session_needed_reason},
    )


def error_line(error: SourceError) -> str:
    """What is wrong and what to do."""
    said = error.args[0].partition("\n")[0]
    return f"{said}; {error.hint}" if error.hint else said


def _observed_entry(asset: AssetSpec, seen: Observation) -> ObservedEntry:
    return ObservedEntry(
        asset=asset.name,
        uri=asset.uri,
        changed=seen.changed,
        removed=seen.removed,
        whole=seen.whole,
        table_id=seen.table_id,
        version=seen.version,
        cursor=seen.cursor,
        extra=seen.extra,
        views=seen.views,
    )


def find_unmounted(
    project: ProjectSpec, state: State, observer: TargetObserver, assets: Iterable[AssetSpec]
) -> dict[str, str]:
    """Those of ``assets`` that would be written to a folder that is not there although tables in it are recorded.

    An asset that was never written counts as well: its first run would make the folder beside the volume, and then
    the tables of the others would look as if somebody had removed them.
    """
    written = [asset for asset in project.assets.values() if asset.source is None and _has_recorded_table(asset, state)]
    lost = {PurePath(folder) for asset in written if (folder := observer.missing_folder(asset)) is not None}
    faults = {}
    for asset in assets if lost else ():
        folder = observer.missing_folder(asset)
        around = () if folder is None else (PurePath(folder), *PurePath(folder).parents)
        # the outermost, so that all that one volume holds is told in the same words
        found = next((each for each in reversed(around) if each in lost), None)
        if found is not None:
            from shlex import quote

            faults[asset.name] = (
                f"the folder {found} is not there, but tables were written to it: is its volume mounted?"
                f" to compute them anew, make the folder: mkdir -p {quote(str(found))}"
            )
    return faults


def _has_recorded_table(asset: AssetSpec, state: State) -> bool:
    known = state.assets.get(asset.name)
    return known is not None and known.table_id is not None


RunLookup = Callable[[str, int], bool]
"""Whether the journal knows of a run, by its name and the token of its commit."""

_OLDER = (
    "what was restored from a backup, or copied, is older than what ran since: bring back the newest state, or tables "
    "that are as old; where there are none, remove the state, and all is computed anew"
)


def look_at_targets(
    project: ProjectSpec,
    state: State,
    observer: TargetObserver,
    *,
    gone: Collection[int],
    knows: RunLookup,
    select: Collection[str] | None = None,
    lost_before: Collection[str] = (),
) -> ObservationReport:
    """What happened to the tables of what may run, and of what that reads, as entries.

    A table that a live run writes is left alone: what is found there is that run's business. One that was never
    written by runs, or that others changed, is checked whether runs may write to it: what is against it is a fault,
    before anything is claimed, and nothing is recorded of the table until it is gone.

    Args:
        project: Its assets; the state knows them as they are now.
        state: What is recorded.
        observer: Looks at one table.
        gone: Fence tokens of claims whose driver is known to be gone, or whose lease is over.
        knows: Whether the journal as it is by now knows of the run of a table's commit.
        select: Assets that may run; None means all.
        lost_before: Assets of which this invocation has recorded a loss: what is lost again after they ran would be
            lost for ever, so these are left with a fault. An asset that waits for a person did not run since.

    Raises:
        StateError: A table holds a run that the journal knows nothing of: its state is older, or a copy.
    """
    concerned = _relevant_assets(project, select)
    faults = find_unmounted(project, state, observer, concerned)
    idle = [asset for asset in concerned if asset.name not in faults and not _has_live_run(asset, state, gone)]
    checks = _table_checks(idle, state, observer, written=_writable_assets(project, select))
    findings = look_at_each((check.asset for check in checks.values()), lambda asset: checks[asset.name].run_check())
    entries: list[Entry] = []
    for name, check in checks.items():
        finding, known = findings[name], state.assets[name]
        if isinstance(finding, UnknownRunError):
            _refuse_unknown_run(name, finding, knows)
        elif isinstance(finding, SourceError):
            faults[name] = error_line(finding)
        elif finding is not None and name in lost_before and _is_new_loss(finding, known):
            faults[name] = f"{finding.reason}, again, after it was computed anew; look who removes it"
        elif check.known is not None and (entry := build_target_entry(check.asset, known, finding)) is not None:
            entries.append(entry)
    return ObservationReport(entries, faults, {}, _session_reasons(concerned, observer))


def _table_checks(
    assets: Iterable[AssetSpec], state: State, observer: TargetObserver, *, written: Collection[str]
) -> dict[str, _TableCheck]:
    """The checks of those assets that have a table, by name."""
    return {
        asset.name: _TableCheck(
            observer, asset, recorded_table(asset, state), _commit_chain(asset, state), asset.name in written
        )
        for asset in assets
        if asset.storage is not None
    }


def _session_reasons(assets: Iterable[AssetSpec], observer: TargetObserver) -> dict[str, str]:
    """By asset why a Spark session alone can look at its table."""
    reasons = ((asset.name, observer.session_needed_reason(asset)) for asset in assets)
    return {name: reason for name, reason in reasons if reason is not None}


def _is_new_loss(finding: TableFinding, known: AssetState) -> bool:
    """Whether the asset would be computed anew for that: it does not wait for a person."""
    return finding.is_loss and known.stuck_loss is None


def _refuse_unknown_run(asset: str, error: UnknownRunError, knows: RunLookup) -> None:
    """Refuses a state that does not know of a run in the asset's table, unless it was claimed since it was read."""
    if not knows(error.run, error.token):
        message = f"the state is older than the table of {asset}: {error.args[0]}, of which the journal knows nothing"
        raise StateError(message, hint=_OLDER)


def assets_with_losses(recorded: Iterable[NumberedEntry]) -> set[str]:
    """The assets of which the journal's new entries tell a loss."""
    entries = (each.entry for each in recorded)
    return {entry.asset for entry in entries if isinstance(entry, TargetEntry) and entry.found.is_loss}


def _relevant_assets(project: ProjectSpec, select: Collection[str] | None) -> list[AssetSpec]:
    assets = project.assets.values()
    named = set(project.assets if select is None else select)
    read = {each for name in named for each in (*project.assets[name].inlets, *project.assets[name].outlets)}
    return [asset for asset in assets if asset.source is None and asset.name in named | read]


def _writable_assets(project: ProjectSpec, select: Collection[str] | None) -> set[str]:
    """What runs may write to."""
    named = set(project.assets if select is None else select)
    return named | {each for name in named for each in project.assets[name].outlets}


def recorded_table(asset: AssetSpec, state: State) -> RecordedTable | None:
    """The table as the journal has it; None where there is none yet."""
    known, runs = state.assets[asset.name], state.assets.get(asset.maker or asset.name)
    if known.table_id is None or known.version is None or known.seen is None or known.mark is None:
        return None
    app, claimed = _commit_chain(asset, state)
    asked = (
        {link.entry.run for each in runs.asking_claims for link in runs.chains[each.slot]} if runs is not None else ()
    )
    return RecordedTable(known.table_id, known.version, known.seen, known.mark, app, known.coverage, asked, claimed)


def _commit_chain(asset: AssetSpec, state: State) -> tuple[str, Collection[str]]:
    """The application id of the asset's commits, and the runs that are claimed and not recorded."""
    name = asset.maker or asset.name
    runs = state.assets.get(name)
    links = (link for chain in runs.chains.values() for link in chain) if runs is not None else ()
    return app_id(state.journal_id, name), {link.entry.run for link in links}


def _has_live_run(asset: AssetSpec, state: State, gone: Collection[int]) -> bool:
    """Whether a run that writes to it lives."""
    runs = state.assets.get(asset.maker or asset.name)
    newest = (chain[-1] for chain in runs.chains.values()) if runs is not None else ()
    return any(link.status == "open" and link.token not in gone for link in newest)


@frozen
class _TableCheck:
    """A table that is to be looked at.

    Attributes:
        known: As it is recorded; None where no run has written to it.
        chain: The application id of its commits, and the runs that are claimed and not recorded.
        is_written: Whether a run may be about to.
    """

    observer: TargetObserver
    asset: AssetSpec
    known: RecordedTable | None
    chain: tuple[str, Collection[str]]
    is_written: bool

    def run_check(self) -> TableFinding | SourceError | None:
        """What is not as it was recorded, or what is wrong."""
        try:
            found = None if self.known is None else self.observer.detect_changes(self.asset, self.known)
            if self.is_written and not self.asset.writes_itself and (self.known is None or found is not None):
                version = self.observer.check_writable(self.asset)
                if self.known is None and version is not None:
                    app, claimed = self.chain
                    self.observer.check_unrecorded_commits(self.asset, version, app=app, claimed=claimed)
        except SourceError as error:
            return error
        return found
