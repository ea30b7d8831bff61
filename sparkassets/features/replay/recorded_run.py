"""A successful run by the journal: its order as it was claimed, by the code that it was computed by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sparkassets.app.context import ProjectContext
from sparkassets.app.past_states import fold_leading
from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.journal.codec import from_row
from sparkassets.core.journal.entries import ClaimEntry, NumberedEntry, OutletEntry, PublishedEntry, SuccessEntry
from sparkassets.core.journal.fold_specs import build_fold_spec
from sparkassets.core.journal.history import RunRecord
from sparkassets.core.journal.state import AssetState, EventRef, State
from sparkassets.core.planner.plan import PlannedRun
from sparkassets.core.query_text import executable_form
from sparkassets.core.spec.code_bodies import SqlBody
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.templating import Template
from sparkassets.errors import InputError
from sparkassets.frozen import frozen, replace
from sparkassets.ports import HistoryQuery, RunOrder
from sparkassets.runtime.run_orders import OrderBuilder

_HIDDEN = "***"
"""Stands in recorded code for credentials and values of the environment."""


@frozen
class RecordedRun:
    """A run that published rows, and how it can be computed again.

    Attributes:
        order: As when it was claimed: the same pins, files, partitions, interval and events.
        definition: The code that computed it.
        is_present_code: Whether that is the project's code now.
        published: Its result in each table, by asset.
    """

    order: RunOrder
    definition: AssetDefinition
    is_present_code: bool
    published: Mapping[str, PublishedEntry]


def needs_earlier_rows(order: RunOrder) -> bool:
    """Whether a replay needs the rows that the run found in its table, as those that it left there follow from them.

    Those that an append adds do not: they are compared alone. In a table of a catalog they cannot be told from others,
    because only the log of a table at a path names the files of a commit.
    """
    asset, write = order.asset, order.asset.write
    if write is None or reads_own_table(asset):
        return True
    merges = (write.by_keys or write.combines) and not order.rebuilds
    return merges or (write.only_adds and asset.is_named)


def reads_own_table(asset: AssetSpec) -> bool:
    """Whether its query reads the table that it writes."""
    return isinstance(asset.body, SqlBody) and bool(Template.parse(asset.body.text).outlets)


def read_recorded_run(context: ProjectContext, record: RunRecord) -> RecordedRun:
    """The run with its order and code, as the journal has them.

    Raises:
        InputError: It published nothing, or it cannot be computed again in the same way.
        StateError: The state cannot be used.
    """
    run = record.run
    if record.status != "success" or record.adopted:
        why = f"it recorded the run {record.adopted!r}" if record.adopted else f"its status is {record.status}"
        raise InputError(f"run {run!r} published nothing of its own: {why}", hint="name a run that succeeded")
    asset = context.runnable_asset(record.asset, "replay")
    rows = context.adapters.store.read_history(HistoryQuery(kinds=("claim", "success", "outlet"), run=run))
    entries = [from_row(row).entry for row in rows]
    claim = next(each for each in entries if isinstance(each, ClaimEntry))
    success = next(each for each in entries if isinstance(each, SuccessEntry))
    state = fold_leading(context, lambda each: each.seq <= record.token)
    known = state.assets[asset.name]
    _refuse_other_kinds(asset, context.spec, claim)
    _refuse_other_inputs(asset, context.spec, known, claim)
    definition = _definition_of(success, known)
    is_present = asset.definition is not None and definition.id == asset.definition.id
    replayed = asset if is_present else _with_recorded_code(asset, definition, run)
    project = replace(context.spec, assets={**context.spec.assets, asset.name: replayed})
    outlets = {each.asset: each for each in entries if isinstance(each, OutletEntry)}
    published: Mapping[str, PublishedEntry] = outlets or {asset.name: success}
    order = _build_order(context, project, state, replayed, record.token)
    return RecordedRun(order, definition, is_present, published)


def _refuse_other_kinds(asset: AssetSpec, project: ProjectSpec, claim: ClaimEntry) -> None:
    """Raises `InputError` for runs that computed no rows for a table, or whose table does not show them."""
    request, tables = claim.request, [project.assets[name] for name in asset.written_assets]
    why = ""
    if asset.writes_itself or asset.runs_elsewhere:
        why = "its code writes the table itself"
    elif request.restores or request.promotes is not None:
        why = "it took over rows instead of computing them"
    elif any(each.write is None for each in tables):
        why = "it writes no table"
    elif any(each.publishes for each in tables):
        why = "its rows are an iteration, which `sparkassets iterations` lists"
    if why:
        raise InputError(f"run {claim.run!r} of {asset.name!r} cannot be replayed: {why}")


def _refuse_other_inputs(asset: AssetSpec, project: ProjectSpec, known: AssetState, claim: ClaimEntry) -> None:
    """Raises `InputError` if the asset has other partitions or inlets now."""
    present = build_fold_spec(asset, project)
    changed = [
        *(["partitions"] if known.spec.as_declared.partitioning != present.partitioning else []),
        *(["inlets"] if {*claim.request.pins} != {*asset.inlets} else []),
    ]
    if changed:
        raise InputError(
            f"the {' and '.join(changed)} of {asset.name!r} are not those of run {claim.run!r}",
            hint="replay it with the project's files of that time",
        )


def _definition_of(success: SuccessEntry, known: AssetState) -> AssetDefinition:
    """The definition that computed the run; its id alone where the journal holds no more of it."""
    recorded = [each.definition for each in known.definition_outputs]
    return next((each for each in recorded if each.id == success.definition), AssetDefinition(success.definition))


def _with_recorded_code(asset: AssetSpec, definition: AssetDefinition, run: str) -> AssetSpec:
    """The asset with the recorded query instead of its own.

    Raises:
        InputError: The journal does not hold all of the code.
    """
    present = asset.definition
    why = ""
    if not isinstance(asset.body, SqlBody) or present is None or not definition.text:
        why = "only one query, of at most 20,000 characters, is recorded as text"
    elif definition.parts != present.parts:
        why = "its params, options or macros have changed, too"
    elif _HIDDEN in definition.text:
        why = "values in it are hidden"
    if why or not isinstance(asset.body, SqlBody):  # the second for the type checker: it is among the reasons
        raise InputError(
            f"the code of {asset.name!r} has changed since run {run!r}, and the journal does not hold it: {why}",
            hint="replay it with the project's files of that time",
        )
    return replace(asset, definition=definition, body=replace(asset.body, template=executable_form(definition.text)))


def _build_order(context: ProjectContext, project: ProjectSpec, state: State, asset: AssetSpec, token: int) -> RunOrder:
    """The run's order as it was when it was claimed."""
    ledger = context.make_ledger("replay")
    ledger.state = state
    claim = state.assets[asset.name].claim_state(token)
    if claim is None:
        raise InputError(f"the claim with token {token} is no longer in the journal")
    request = claim.entry.request
    refs = tuple(filter(None, map(EventRef.from_entry, _read_events(context, request.events))))
    planned = PlannedRun.from_request(request, asset=asset, state=state.assets[asset.name], events=refs)
    return OrderBuilder(project, ledger).build_order(planned, claim)


def _read_events(context: ProjectContext, seqs: tuple[int, ...]) -> Iterator[NumberedEntry]:
    """Yields the entries of these events that the journal still keeps, by their sequence numbers."""
    for seq in seqs:
        yield from map(from_row, context.adapters.store.read_history(HistoryQuery(after_seq=seq - 1, up_to_seq=seq)))
