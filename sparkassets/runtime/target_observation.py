"""Assets' own tables, looked at like sources before anything that writes or reads them is planned."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from sparkassets.core.journal.entries import Entry, NumberedEntry
from sparkassets.core.journal.state import State
from sparkassets.core.journal.table_findings import TableFinding, TargetEntry
from sparkassets.core.journal.table_losses import build_target_entry
from sparkassets.core.runs import app_id
from sparkassets.core.spec.model import AssetSpec, ProjectSpec
from sparkassets.errors import SourceError, StateError, UnknownRunError
from sparkassets.frozen import frozen
from sparkassets.ports import RecordedTable, TargetObserver
from sparkassets.runtime.parallel_looks import look_at_each
from sparkassets.runtime.source_observation import ObservationReport, error_line
from sparkassets.runtime.unmounted_volumes import find_unmounted

RunLookup = Callable[[str, int], bool]
"""Whether the journal knows of a run, by its name and the token of its commit."""

_UNKNOWN = "of which the journal knows nothing"
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
    written = _writable_assets(project, select)
    looked = {
        asset.name: _TableCheck(
            observer, asset, recorded_table(asset, state), _commit_chain(asset, state), asset.name in written
        )
        for asset in concerned
        if asset.name not in faults and asset.storage is not None and not _has_live_run(asset, state, gone)
    }
    found = look_at_each((table.asset for table in looked.values()), lambda asset: looked[asset.name].run_check())
    entries: list[Entry] = []
    for table in looked.values():
        asset, each = table.asset, found[table.asset.name]
        known = state.assets[asset.name]
        if isinstance(each, UnknownRunError):
            if not knows(each.run, each.token):  # claimed since the state was read
                message = f"the state is older than the table of {asset.name}: {each.args[0]}, {_UNKNOWN}"
                raise StateError(message, hint=_OLDER)
        elif isinstance(each, SourceError):
            faults[asset.name] = error_line(each)
        elif each is not None and each.is_loss and asset.name in lost_before and known.stuck_loss is None:
            faults[asset.name] = f"{each.reason}, again, after it was computed anew; look who removes it"
        elif table.known is not None and (entry := build_target_entry(asset, known, each)) is not None:
            entries.append(entry)
    unseen = {asset.name: why for asset in concerned if (why := observer.session_needed_reason(asset)) is not None}
    return ObservationReport(entries, faults, {}, unseen)


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
