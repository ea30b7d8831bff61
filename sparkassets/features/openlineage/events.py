"""Run events from commits to the journal: starts, renewals and ends of runs.

A run has one START and one COMPLETE, FAIL or ABORT. The driver that records the end sends it, which may be a later one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal

from sparkassets.core.journal.entries import (
    NOT_TRIED,
    ClaimEntry,
    FailureEntry,
    NumberedEntry,
    OutletEntry,
    PublishedEntry,
    RenewEntry,
    SkippedEntry,
    SuccessEntry,
)
from sparkassets.core.journal.state import AssetState, ClaimState
from sparkassets.core.redaction import redact_json
from sparkassets.features.openlineage.facet_builder import FacetBuilder
from sparkassets.features.openlineage.facets import PRODUCER, SPECIFICATION, Facets
from sparkassets.features.openlineage.names import job_name, run_id

Event = Mapping[str, Any]
EventType = Literal["START", "RUNNING", "COMPLETE", "FAIL", "ABORT", "OTHER"]

_GIVEN_UP: Final = "abandoned: recovered by another run of the asset"


def run_events(
    entries: Sequence[NumberedEntry],
    *,
    before: Mapping[str, AssetState],
    after: Mapping[str, AssetState],
    builder: FacetBuilder,
) -> Iterator[Event]:
    """The events of one commit, in order.

    Args:
        entries: The entries of the commit.
        before: States of the assets concerned before the commit, by name.
        after: Their states after the commit.
        builder: Builds the facets.
    """
    known, still_open = _list_claims(before), _list_claims(after)
    claims = {**known, **still_open}
    outlets = [each.entry for each in entries if isinstance(each.entry, OutletEntry)]
    reported: set[int] = set()
    for numbered in entries:
        entry, at = numbered.entry, numbered.at
        if isinstance(entry, ClaimEntry) and numbered.seq in claims:
            yield _run_event("START", at, claims[numbered.seq], builder)
        elif isinstance(entry, RenewEntry):
            renewed = [token for _, token in entry.claims if token in claims]
            yield from (_run_event("RUNNING", at, claims[token], builder) for token in renewed)
        elif isinstance(entry, SuccessEntry | SkippedEntry | FailureEntry) and entry.token in claims:
            reported.add(entry.token)
            yield _end_event(at, claims[entry.token], entry, outlets, before=before, builder=builder)
    for token in sorted(known.keys() - still_open.keys() - reported):
        error = builder.error_facet(_GIVEN_UP)
        yield _run_event("ABORT", entries[-1].at, claims[token], builder, run={"errorMessage": error})


def _list_claims(states: Mapping[str, AssetState]) -> dict[int, ClaimState]:
    """The unsettled claims of the assets, by fence token."""
    return {link.token: link for state in states.values() for link in state.chain}


def invocation_event(kind: EventType, at: datetime, *, invocation: str, builder: FacetBuilder) -> Event:
    """An event of a driver's invocation, the parent of the runs that it began."""
    project = builder.project.name
    job = {"namespace": builder.namespace, "name": job_name(project), "facets": builder.project_facets()}
    run = {"runId": run_id(project, invocation), "facets": builder.invocation_facets(invocation)}
    return _assemble_event(kind, at, builder, run=run, job=job)


def _end_event(
    at: datetime,
    link: ClaimState,
    entry: SuccessEntry | SkippedEntry | FailureEntry,
    outlets: Sequence[OutletEntry],
    *,
    before: Mapping[str, AssetState],
    builder: FacetBuilder,
) -> Event:
    """The event of a run's recorded end."""
    match entry:
        case SuccessEntry():
            own = [each for each in outlets if each.run == entry.run] if entry.outlets else []
            return _complete_event(at, link, entry, own, before=before, builder=builder)
        case SkippedEntry():
            return _run_event("COMPLETE", at, link, builder, inputs=(), outputs=())
        case FailureEntry():
            return _fail_event(at, link, entry, builder)


def _complete_event(
    at: datetime,
    link: ClaimState,
    entry: SuccessEntry,
    outlets: Sequence[OutletEntry],
    *,
    before: Mapping[str, AssetState],
    builder: FacetBuilder,
) -> Event:
    """The COMPLETE event of a run that succeeded, with the datasets it read and the tables it wrote.

    ``outlets`` are the entries of a multi-asset's tables, empty for a run of one table. ``before`` holds the states of
    the assets before the commit, from which the event tells a new table from a changed one.
    """
    written: Sequence[PublishedEntry] = outlets or [entry]
    asset = builder.project.assets.get(entry.asset)
    inputs = []
    if asset is not None:
        inputs = builder.input_datasets(
            asset, entry.pins, highs=entry.watermarks, checked=True, verdicts=entry.verdicts
        )
    outputs = [builder.written_dataset(each, made_by=entry, before=before.get(each.asset)) for each in written]
    run = builder.validation_facets(entry)
    return _run_event("COMPLETE", at, link, builder, run=run, inputs=inputs, outputs=[each for each in outputs if each])


def _fail_event(at: datetime, link: ClaimState, entry: FailureEntry, builder: FacetBuilder) -> Event:
    """FAIL for a failed run, ABORT for one that was not tried; OTHER where neither is certain yet.

    A run without a fence may still commit, so the asset's next run reports its end.
    """
    kind: EventType = "ABORT" if entry.cause in NOT_TRIED else "FAIL"
    message = f"{entry.error}\n{entry.hint}" if entry.hint else entry.error
    return _run_event(
        kind if entry.fenced else "OTHER", at, link, builder, run={"errorMessage": builder.error_facet(message)}
    )


def _run_event(
    kind: EventType,
    at: datetime,
    link: ClaimState,
    builder: FacetBuilder,
    *,
    run: Facets | None = None,
    inputs: Sequence[Mapping[str, Any]] | None = None,
    outputs: Sequence[Mapping[str, Any]] | None = None,
) -> Event:
    """An event of the claimed run; inputs and outputs come from its claim where they are not given.

    An asset that no longer exists has neither; RUNNING, which repeats START, leaves them out.
    """
    claim, asset = link.entry, builder.project.assets.get(link.entry.asset)
    if asset is not None and kind != "RUNNING":
        pins = claim.request.pins
        inputs = builder.input_datasets(asset, pins) if inputs is None else inputs
        outputs = builder.output_datasets(asset) if outputs is None else outputs
    name = job_name(builder.project.name, claim.asset)
    return _assemble_event(
        kind,
        at,
        builder,
        run={
            "runId": run_id(builder.project.name, claim.run),
            "facets": {**builder.run_facets(claim), **(run or {})},
        },
        job={"namespace": builder.namespace, "name": name, "facets": builder.job_facets(asset)},
        inputs=inputs or (),
        outputs=outputs or (),
    )


def _assemble_event(
    kind: EventType,
    at: datetime,
    builder: FacetBuilder,
    *,
    run: Mapping[str, Any],
    job: Mapping[str, Any],
    inputs: Sequence[Mapping[str, Any]] = (),
    outputs: Sequence[Mapping[str, Any]] = (),
) -> Event:
    """The event, with credentials and values of the environment redacted."""
    event = {
        "eventType": kind,
        "eventTime": at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "run": run,
        "job": job,
        "inputs": list(inputs),
        "outputs": list(outputs),
        "producer": PRODUCER,
        "schemaURL": SPECIFICATION,
    }
    found: Event = redact_json(event, variables=builder.project.variables)
    return found
