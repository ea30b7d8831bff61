"""Assets' own tables, looked at like sources before anything that writes or reads them is planned."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sparkassets.core.journal.entries import Entry, Numbered
from sparkassets.core.journal.found import Found, TargetEntry
from sparkassets.core.journal.losses import entry_of
from sparkassets.core.journal.state import AssetState, State
from sparkassets.core.runs import app_id
from sparkassets.core.spec.model import AssetSpec, ProjectSpec
from sparkassets.errors import SourceError
from sparkassets.ports import Recorded, TargetObserver
from sparkassets.runtime.news import News
from sparkassets.runtime.volumes import unmounted

LOOKS_AT_ONCE = 16
"""Tables in object stores that are looked at side by side; a look is a few requests one after the other."""


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

    A table that a live run writes is left alone: what is found there is that run's business.

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
    looked = [
        (asset, known)
        for asset in concerned
        if asset.name not in faults and (known := _recorded(asset, state, gone=gone)) is not None
    ]
    distant = [pair for pair in looked if pair[0].storage is not None and "://" in pair[0].storage.path]
    found = {asset.name: _look(observer, asset, known) for asset, known in looked if (asset, known) not in distant}
    if distant:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(LOOKS_AT_ONCE) as pool:
            seen = pool.map(lambda pair: _look(observer, *pair), distant)
            found |= {asset.name: each for (asset, _), each in zip(distant, seen, strict=True)}
    entries: list[Entry] = []
    for asset, _ in looked:
        each = found[asset.name]
        if isinstance(each, SourceError):
            faults[asset.name] = str(each).splitlines()[0]
        elif each is not None and asset.name in lost_before and each.is_loss:
            faults[asset.name] = f"{each.reason}, again, after it was computed anew; look who removes it"
        elif (entry := entry_of(asset, state.assets[asset.name], each)) is not None:
            entries.append(entry)
    return News(entries, faults, {})


def losses_in(recorded: Iterable[Numbered]) -> set[str]:
    """The assets of which the journal's new entries tell a loss."""
    entries = (each.entry for each in recorded)
    return {entry.asset for entry in entries if isinstance(entry, TargetEntry) and entry.found.is_loss}


def _concerned(project: ProjectSpec, select: Collection[str] | None) -> list[AssetSpec]:
    assets = project.assets.values()
    named = set(project.assets if select is None else select)
    read = {each for name in named for each in (*project.assets[name].inlets, *project.assets[name].outlets)}
    return [asset for asset in assets if asset.source is None and asset.name in named | read]


def _recorded(asset: AssetSpec, state: State, *, gone: Collection[int]) -> Recorded | None:
    """The table as the journal has it; None where there is none yet, or a run of another driver lives."""
    known, runs = state.assets[asset.name], state.assets.get(asset.maker or asset.name)
    if (runs is not None and _is_live(runs, gone)) or asset.storage is None:
        return None
    if known.table_id is None or known.version is None or known.seen is None or known.mark is None:
        return None
    app = app_id(state.journal_id, asset.maker or asset.name)
    asked = {link.entry.run for each in runs.asking for link in runs.chains[each.slot]} if runs is not None else ()
    return Recorded(known.table_id, known.version, known.seen, known.mark, app, known.coverage, asked)


def _is_live(known: AssetState, gone: Collection[int]) -> bool:
    newest = (chain[-1] for chain in known.chains.values())
    return any(link.status == "open" and link.token not in gone for link in newest)


def _look(observer: TargetObserver, asset: AssetSpec, known: Recorded) -> Found | SourceError | None:
    try:
        return observer.look(asset, known)
    except SourceError as error:
        return error
