"""The past as a report shows it: the newest journal entries as rows of runs, events and verdicts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from sparkassets.core.instants import to_unix
from sparkassets.core.journal import history
from sparkassets.core.journal import lineage as origins
from sparkassets.core.journal.announcements import event_partitioning
from sparkassets.core.journal.entries import NumberedEntry, SuccessEntry
from sparkassets.core.journal.history import RUN_KINDS, RunRecord, run_records
from sparkassets.core.journal.state import EventRef
from sparkassets.core.partitions import Partitioning, PartitionSet
from sparkassets.core.phrases import few
from sparkassets.core.planner.due.withheld_partitions import accept_command, find_withheld, instance_span
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.wording import label_partitions
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.validations import RuleVerdict, ValidationRule, qualified_rule_name
from sparkassets.frozen import frozen

KINDS = tuple(dict.fromkeys([*RUN_KINDS, *history.EVENT_KINDS, *history.USING_KINDS, *origins.KINDS]))
"""Kinds of entries about runs, events, or the origin of data."""
MOST_ENTRIES = 12_000
"""Number of these entries that are read, the newest."""


@frozen
class ReportHistory:
    """The newest entries of the journal that a report reads, ascending.

    Attributes:
        entries: Entries of the kinds in `KINDS`, complete from the first of them on.
        whole: Whether there are no earlier ones.
        by_dataset: The entries by dataset URI, newest first.
        runs: Runs in the order of their claims.
    """

    entries: Sequence[NumberedEntry]
    whole: bool
    by_dataset: dict[str, list[NumberedEntry]]
    runs: tuple[RunRecord, ...]

    @classmethod
    def from_entries(
        cls, entries: Sequence[NumberedEntry], *, whole: bool, gone: Collection[int] = ()
    ) -> ReportHistory:
        """The history of these entries; ``gone`` has the fence tokens of open claims whose driver is gone."""
        entries_by_dataset: dict[str, list[NumberedEntry]] = {}
        for numbered in reversed(entries):
            if (uri := getattr(numbered.entry, "uri", None)) is not None:
                entries_by_dataset.setdefault(uri, []).append(numbered)
        return cls(entries, whole, entries_by_dataset, tuple(run_records(entries, gone)))

    def dataset_entries(self, uri: str) -> Iterator[NumberedEntry]:
        """The entries of one dataset, the newest first."""
        return iter(self.by_dataset.get(uri, ()))

    def events(self, project: ProjectSpec, *, last: int) -> list[dict[str, Any]]:
        """The newest ``last`` dataset events, oldest first, with the runs that used them."""
        events = [(each, ref) for each in self.entries if (ref := EventRef.from_entry(each)) is not None][-last:]
        if not events:
            return []
        first_seq = events[0][1].seq
        later_entries = (each for each in self.entries if each.seq >= first_seq)
        usage = history.EventUsage([ref for _, ref in events], later_entries)
        return [
            {
                **_event_values(each, ref, event_partitioning(project, asset=ref.asset, uri=ref.uri)),
                "triggered": usage.triggered[ref.seq],
                "included_in": usage.included_in[ref.seq],
            }
            for each, ref in events
        ]


def _event_values(entry: NumberedEntry, ref: EventRef, partitioning: Partitioning) -> dict[str, Any]:
    """The values of one event, with its partitions as the first few keys."""
    listed = partitioning.is_partitioned and partitioning.can_list(ref.parts)
    values = history.recorded_event_values(entry, ref, partitioning)
    return {**values, "partitions": label_partitions(ref.parts, partitioning) if listed else few(values["partitions"])}


MOST_TEXT = 2_000
"""Number of characters that are shown of an error, and of other texts without a limit of their own."""


def drop_empty(row: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping without values that are unknown or empty, as most are: a report has thousands of rows."""
    return {name: value for name, value in row.items() if value not in (None, "", [], {})}


def partition_text(parts: PartitionSet, asset: AssetSpec | None) -> str:
    """The first keys of ``parts`` as text; empty for a whole asset, and for one that no longer exists."""
    if asset is None or not asset.partitioning.is_partitioned or not asset.partitioning.can_list(parts):
        return ""
    return label_partitions(parts, asset.partitioning)


def partition_count(parts: PartitionSet, asset: AssetSpec | None) -> int | None:
    """Number of partitions; None for a whole asset, and for one that no longer exists."""
    if asset is None or not asset.partitioning.is_partitioned or not asset.partitioning.can_list(parts):
        return None
    return asset.partitioning.count(parts)


def shorten(text: str) -> str:
    """The text, cut to `MOST_TEXT` characters."""
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}…"


MOST_JUDGED = 90
"""Number of an asset's runs whose verdicts are shown, the newest."""
MOST_VERDICTS = 30
"""Number of verdicts of one run that are shown."""
MOST_SAMPLE = 200
"""Number of characters that are shown of a value in a sample row."""


@frozen
class JudgedRun:
    """The verdicts of one run.

    Attributes:
        at: When the run was recorded, Unix seconds.
    """

    run: str
    at: int
    verdicts: tuple[RuleVerdict, ...]


def validations_document(
    context: PlanningContext, asset: AssetSpec, report_history: ReportHistory
) -> dict[str, Any] | None:
    """The validations of an asset, their verdicts by run, and what is withheld now; None if there is nothing to show.

    ``runs`` are oldest first, each with ``[position of the rule, outcome, failing, checked]`` for each verdict.
    """
    own_rules = {
        qualified_rule_name(name if asset.outlets else "", rule.name): rule
        for name in asset.written_assets
        for rule in context.asset(name).rules
    }
    inlet_rules = [(inlet.name, rule) for inlet in asset.inlets.values() for rule in inlet.rules]
    rules = {**{qualified_rule_name(inlet, rule.name): rule for inlet, rule in inlet_rules}, **own_rules}
    judged_runs = [*islice(_iterate_judged_runs(context, asset, report_history), MOST_JUDGED)]
    names = list(dict.fromkeys([*own_rules, *(each.name for one in judged_runs for each in one.verdicts)]))
    withheld = [*_iterate_withheld_rows(context, asset)]
    if not names and not withheld:
        return None
    positions = {name: position for position, name in enumerate(names)}
    return {
        "rules": [_rule_document(name, rules.get(name)) for name in names],
        "inlets": [[inlet, rule.name] for inlet, rule in inlet_rules],
        "runs": [_judged_run_document(one, positions) for one in reversed(judged_runs)],
        "withheld": withheld,
    }


def _judged_run_document(judged: JudgedRun, positions: Mapping[str, int]) -> dict[str, Any]:
    """The verdicts of a run; ``positions`` has the position of each rule in the document."""
    verdicts = [[positions[each.name], each.outcome, each.failing, each.checked] for each in judged.verdicts]
    return {"run": judged.run, "at": judged.at, "verdicts": verdicts}


def verdict_rows(verdicts: Sequence[RuleVerdict], asset: AssetSpec | None) -> list[dict[str, Any]]:
    """Verdicts with sample rows; a verdict that counts partitions apart has a row for each of them."""
    return [
        drop_empty(
            {
                "rule": each.name,
                "severity": each.severity,
                "outcome": each.outcome,
                "partitions": partition_text(each.partitions, asset),
                "checked": each.checked,
                "failing": each.failing,
                "observed": shorten(each.observed),
                "samples": [{name: value[:MOST_SAMPLE] for name, value in row.items()} for row in each.samples],
            }
        )
        for each in islice((one for verdict in verdicts for one in verdict.by_partition), MOST_VERDICTS)
    ]


def _iterate_judged_runs(
    context: PlanningContext, asset: AssetSpec, report_history: ReportHistory
) -> Iterator[JudgedRun]:
    """Yields the newest runs with known verdicts, newest first; for an outlet only verdicts of its own rules."""
    writer = context.asset(asset.written_by) if asset.written_by else asset
    for numbered in report_history.dataset_entries(writer.uri):
        entry = numbered.entry
        if isinstance(entry, SuccessEntry) and entry.asset == writer.name:
            verdicts = entry.verdicts if not asset.written_by else _outlet_verdicts(entry.verdicts, asset)
            if verdicts:
                yield JudgedRun(entry.run, to_unix(numbered.at), verdicts)


def _outlet_verdicts(verdicts: Sequence[RuleVerdict], outlet: AssetSpec) -> tuple[RuleVerdict, ...]:
    """The verdicts of an outlet's own rules, as if the outlet had run itself."""
    return tuple(replace(each, outlet="") for each in verdicts if each.outlet == outlet.name)


def _rule_document(name: str, rule: ValidationRule | None) -> dict[str, Any]:
    """A validation rule as it is declared; only its name if it is declared no more."""
    if rule is None:
        return {"name": name, "gone": True}
    document = {
        "name": name,
        "severity": rule.severity,
        "asks": shorten(_format_check(rule.check.to_yaml())),
        "allow": str(rule.allow) if rule.allow is not None else "",
        "where": shorten(rule.where),
        "per": rule.check.scope,
    }
    return drop_empty(document)


def _format_check(condition: object) -> str:
    """What a check asks, on one line."""
    if isinstance(condition, dict):
        return ", ".join(
            str(name) if value is None else f"{name} {_format_check(value)}" for name, value in condition.items()
        )
    return ", ".join(map(_format_check, condition)) if isinstance(condition, list | tuple) else str(condition)


def _iterate_withheld_rows(context: PlanningContext, asset: AssetSpec) -> Iterator[dict[str, Any]]:
    """Yields what is withheld and not tried again by itself, newest first."""
    writer = context.asset(asset.written_by) if asset.written_by else asset
    state = context.state_of(writer)
    withheld = find_withheld(context, writer, state)
    for record, parts in reversed(withheld.records):
        yield {
            "run": record.run,
            "accept": accept_command(context, state, record, named=withheld.partitions_to_name(parts)),
            "at": record.at,
            "partitions": partition_text(parts, writer) or instance_span(context, record),
            "count": partition_count(parts, writer),
            "rules": verdict_rows(record.verdicts, writer),
        }


MOST_RUNS = 6_000
"""Number of runs in a report, the newest."""
MOST_EVENTS = 4_000
"""Number of events in a report, the newest."""
_MOST_SHOWN_EVENTS = 4


def run_row(run: RunRecord, project: ProjectSpec) -> dict[str, Any]:
    """One run, with the verdicts of rules that did not pass; unknown values are left out."""
    asset = project.assets.get(run.asset)
    row = {
        "run": run.run,
        "asset": run.asset,
        "kind": run.kind,
        "status": run.status,
        "started": run.started,
        "ended": run.ended,
        "seconds": None if run.seconds is None else round(run.seconds, 2),
        "partitions": partition_text(run.partitions, asset),
        "count": partition_count(run.partitions, asset),
        "unchanged": partition_count(run.unchanged, asset) if run.unchanged else None,
        "withheld": (partition_count(run.withheld, asset) or 1) if run.withheld else None,
        "verdicts": verdict_rows([each for each in run.verdicts if each.outcome != "passed"], asset),
        "rows": run.rows,
        "version": run.version,
        "attempts": run.attempts if run.attempts not in (None, 1) else None,
        "reason": shorten(run.reason),
        "error": shorten(run.error),
        "hint": shorten(run.hint),
        "details": shorten(run.details),
        "adopted": run.adopted,
        "skipped": shorten(run.skipped),
        "interval": run.interval,
        "definition": run.request.definition[:8],
        "events": list(run.request.events[-_MOST_SHOWN_EVENTS:]),
        "reads": [
            drop_empty({"asset": name, "partitions": partition_text(pin.parts, inlet), "version": pin.version})
            for name, pin in run.request.pins.items()
            for inlet in (project.assets.get(name),)
        ],
    }
    return drop_empty(row)


def event_row(event: Mapping[str, Any]) -> dict[str, Any]:
    """One event; unknown values are left out."""
    row = {
        "seq": event["seq"],
        "at": event["at"],
        "asset": event["asset"],
        "uri": event["uri"],
        "partitions": event["partitions"],
        "run": event["run"],
        "extra": {name: shorten(str(value)) for name, value in list(event["extra"].items())[:8]},
        "triggered": event["triggered"][:_MOST_SHOWN_EVENTS],
        "included_in": event["included_in"][:_MOST_SHOWN_EVENTS],
    }
    return drop_empty(row)
