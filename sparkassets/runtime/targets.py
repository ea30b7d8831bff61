"""Assets' own tables, looked at like sources before anything that writes or reads them is planned."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sparkassets.core.journal.entries import Entry, Numbered
from sparkassets.core.journal.found import Found, TargetEntry
from sparkassets.core.journal.losses import entry_of
from sparkassets.core.journal.state import State
from sparkassets.core.runs import app_id
from sparkassets.core.spec.model import AssetSpec, ProjectSpec
from sparkassets.errors import SourceError
from sparkassets.frozen import frozen
from sparkassets.ports import Recorded, TargetObserver
from sparkassets.runtime.looks import look_at_each
from sparkassets.runtime.news import News, line_of
from sparkassets.runtime.volumes import unmounted


def look_at_targets(
    project: ProjectSpec,
    state: State,
    observer: TargetObserver,
    *,
    gone: Collection[int],
    select: Collection[str] | None = None,
    lost_before: Collection[str] = (),
) -> News:
    """What happened to the tables of what may run, and of what that reads, as entries.

    A table that a live run writes is left alone: what is found there is that run's business. One that was never
    written by runs, or that others changed, is checked whether runs may write to it: what is against it is a fault,
    before anything is claimed, and nothing is recorded of the table until it is gone.

    Args:
        project: Its assets; the state knows them as they are now.
        state: What is recorded.
        observer: Looks at one table.
        gone: Fence tokens of claims whose driver is known to be gone, or whose lease is over.
        select: Assets that may run; None means all.
        lost_before: Assets of which this invocation has recorded a loss: what is lost again after they ran would be
            lost for ever, so these are left with a fault.
    """
    concerned = _concerned(project, select)
    faults = unmounted(project, state, observer, concerned)
    written = _written(project, select)
    looked = {
        asset.name: _Table(observer, asset, _recorded(asset, state), asset.name in written)
        for asset in concerned
        if asset.name not in faults and asset.storage is not None and not _is_live(asset, state, gone)
    }
    found = look_at_each((table.asset for table in looked.values()), lambda asset: looked[asset.name].look())
    entries: list[Entry] = []
    for table in looked.values():
        asset, each = table.asset, found[table.asset.name]
        if isinstance(each, SourceError):
            faults[asset.name] = line_of(each)
        elif each is not None and asset.name in lost_before and each.is_loss:
            faults[asset.name] = f"{each.reason}, again, after it was computed anew; look who removes it"
        elif table.known is not None and (entry := entry_of(asset, state.assets[asset.name], each)) is not None:
            entries.append(entry)
    unseen = {asset.name: why for asset in concerned if (why := observer.unseen(asset)) is not None}
    return News(entries, faults, {}, unseen)


def losses_in(recorded: Iterable[Numbered]) -> set[str]:
    """The assets of which the journal's new entries tell a loss."""
    entries = (each.entry for each in recorded)
    return {entry.asset for entry in entries if isinstance(entry, TargetEntry) and entry.found.is_loss}


def _concerned(project: ProjectSpec, select: Collection[str] | None) -> list[AssetSpec]:
    assets = project.assets.values()
    named = set(project.assets if select is None else select)
    read = {each for name in named for each in (*project.assets[name].inlets, *project.assets[name].outlets)}
    return [asset for asset in assets if asset.source is None and asset.name in named | read]


def _written(project: ProjectSpec, select: Collection[str] | None) -> set[str]:
    """What runs may write to."""
    named = set(project.assets if select is None else select)
    return named | {each for name in named for each in project.assets[name].outlets}


def _recorded(asset: AssetSpec, state: State) -> Recorded | None:
    """The table as the journal has it; None where there is none yet."""
    known, runs = state.assets[asset.name], state.assets.get(asset.maker or asset.name)
    if known.table_id is None or known.version is None or known.seen is None or known.mark is None:
        return None
    app = app_id(state.journal_id, asset.maker or asset.name)
    asked = {link.entry.run for each in runs.asking for link in runs.chains[each.slot]} if runs is not None else ()
    return Recorded(known.table_id, known.version, known.seen, known.mark, app, known.coverage, asked)


def _is_live(asset: AssetSpec, state: State, gone: Collection[int]) -> bool:
    """Whether a run that writes to it lives."""
    runs = state.assets.get(asset.maker or asset.name)
    newest = (chain[-1] for chain in runs.chains.values()) if runs is not None else ()
    return any(link.status == "open" and link.token not in gone for link in newest)


@frozen
class _Table:
    """A table that is to be looked at.

    Attributes:
        known: As it is recorded; None where no run has written to it.
        is_written: Whether a run may be about to.
    """

    observer: TargetObserver
    asset: AssetSpec
    known: Recorded | None
    is_written: bool

    def look(self) -> Found | SourceError | None:
        """What is not as it was recorded, or what is wrong."""
        try:
            found = None if self.known is None else self.observer.look(self.asset, self.known)
            if self.is_written and (self.known is None or found is not None):
                self.observer.check(self.asset)
        except SourceError as error:
            return error
        return found
