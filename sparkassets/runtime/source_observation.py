"""What a driver finds before it plans: changed specs and sources, as entries to be recorded or assumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from types import MappingProxyType

from sparkassets.core.journal.entries import Entry, ObservedEntry, SpecEntry
from sparkassets.core.journal.fold_specs import build_fold_spec
from sparkassets.core.journal.state import State
from sparkassets.core.partitions import NOTHING
from sparkassets.core.spec.model import AssetSpec, ProjectSpec
from sparkassets.errors import SourceError
from sparkassets.frozen import frozen
from sparkassets.ports import Observation, SourceObserver
from sparkassets.runtime.parallel_looks import look_at_each


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
        known = state.assets[asset.name]
        try:
            return sources[asset.name].observe(
                asset,
                table_id=known.table_id,
                version=known.version,
                cursor=known.position,
                # what others of the same dataset brought is not missing because this one does not have it
                coverage=state.dataset(asset.uri).coverage if sharing[asset.uri] == 1 else NOTHING,
                viewed={uri: state.dataset(uri).coverage for uri in asset.views},
                now=now,
            )
        except SourceError as error:
            return error

    looked = look_at_each((asset for asset in assets if asset.name in sources), look)
    found = {name: seen for name, seen in looked.items() if seen is not None}
    told = {name: seen for name, seen in found.items() if not isinstance(seen, SourceError)}
    wrong = {name: error_line(error) for name, error in found.items() if isinstance(error, SourceError)}
    return ObservationReport(
        [_observed_entry(project.assets[name], seen) for name, seen in told.items() if seen.has_news],
        {**leaving, **wrong},
        {name: "; ".join(seen.notes) for name, seen in told.items() if seen.notes},
        {name: seen.session_needed_reason for name, seen in told.items() if seen.session_needed_reason},
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
