"""What the validations of an asset ask, what they said of its newest runs, and what is withheld by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from sparkassets.core.documents.report.history import ReportHistory
from sparkassets.core.documents.report.row_values import drop_empty, partition_count, partition_text, shorten
from sparkassets.core.instants import to_unix
from sparkassets.core.journal.entries import SuccessEntry
from sparkassets.core.planner.due.withheld_partitions import accept_command, find_withheld, instance_span
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.validations import RuleVerdict, ValidationRule, qualified_rule_name
from sparkassets.frozen import frozen

MOST_JUDGED = 90
"""Runs of an asset whose verdicts are told, the newest."""
MOST_VERDICTS = 30
"""Verdicts of one run that are told one by one."""
MOST_SAMPLE = 200
"""Characters of a value of a row."""


@frozen
class JudgedRun:
    """What the rules said of one run; ``at`` is when it was recorded, Unix seconds."""

    run: str
    at: int
    verdicts: tuple[RuleVerdict, ...]


def validations_document(context: PlanningContext, asset: AssetSpec, past: ReportHistory) -> dict[str, Any] | None:
    """The rules, by run what each of them said, and what is withheld now; None where there is nothing to tell.

    ``runs`` are oldest first, each with ``[place of the rule, outcome, failing, checked]``.
    """
    written = {
        qualified_rule_name(name if asset.outlets else "", rule.name): rule
        for name in asset.written_assets
        for rule in context.asset(name).rules
    }
    asked = {
        qualified_rule_name(inlet.name, rule.name): rule for inlet in asset.inlets.values() for rule in inlet.rules
    }
    judged = [*islice(_judged_runs(context, asset, past), MOST_JUDGED)]
    names = list(dict.fromkeys([*written, *(each.name for one in judged for each in one.verdicts)]))
    withheld = [*_withheld_rows(context, asset)]
    if not names and not withheld:
        return None
    places = {name: place for place, name in enumerate(names)}
    return {
        "rules": [_rule(name, written.get(name) or asked.get(name)) for name in names],
        "inlets": [[inlet.name, rule.name] for inlet in asset.inlets.values() for rule in inlet.rules],
        "runs": [
            {
                "run": one.run,
                "at": one.at,
                "told": [[places[each.name], each.outcome, each.failing, each.checked] for each in one.verdicts],
            }
            for one in reversed(judged)
        ],
        "withheld": withheld,
    }


def verdict_rows(verdicts: Sequence[RuleVerdict], asset: AssetSpec | None) -> list[dict[str, Any]]:
    """What rules said, with some of the rows that fail; of each slice that is withheld for itself."""
    return [
        drop_empty(
            {
                "rule": each.name,
                "severity": each.severity,
                "outcome": each.outcome,
                "slices": partition_text(each.blocks, asset),
                "checked": each.checked,
                "failing": each.failing,
                "observed": shorten(each.observed),
                "samples": [{name: value[:MOST_SAMPLE] for name, value in row.items()} for row in each.samples],
            }
        )
        for each in islice((one for verdict in verdicts for one in verdict.by_partition), MOST_VERDICTS)
    ]


def _judged_runs(context: PlanningContext, asset: AssetSpec, past: ReportHistory) -> Iterator[JudgedRun]:
    """The newest runs of which verdicts are known, the newest first; of an outlet those of its own rules."""
    maker = context.asset(asset.maker) if asset.maker else asset
    for numbered in past.dataset_entries(maker.uri):
        entry = numbered.entry
        if isinstance(entry, SuccessEntry) and entry.asset == maker.name:
            verdicts = entry.verdicts if not asset.maker else _outlet_verdicts(entry.verdicts, asset)
            if verdicts:
                yield JudgedRun(entry.run, to_unix(numbered.at), verdicts)


def _outlet_verdicts(verdicts: Sequence[RuleVerdict], outlet: AssetSpec) -> tuple[RuleVerdict, ...]:
    """Those of the outlet's own rules, as it tells them itself."""
    return tuple(replace(each, outlet="") for each in verdicts if each.outlet == outlet.name)


def _rule(name: str, rule: ValidationRule | None) -> dict[str, Any]:
    """A rule as it is written; of one that is not any more its name."""
    if rule is None:
        return {"name": name, "gone": True}
    told = {
        "name": name,
        "severity": rule.severity,
        "asks": shorten(_text(rule.check.to_yaml())),
        "allow": str(rule.allow) if rule.allow is not None else "",
        "where": shorten(rule.where),
        "per": rule.check.scope,
    }
    return drop_empty(told)


def _text(asks: object) -> str:
    """What a check asks, as in YAML but in a line."""
    if isinstance(asks, dict):
        return ", ".join(str(name) if value is None else f"{name} {_text(value)}" for name, value in asks.items())
    return ", ".join(map(_text, asks)) if isinstance(asks, list | tuple) else str(asks)


def _withheld_rows(context: PlanningContext, asset: AssetSpec) -> Iterator[dict[str, Any]]:
    """What is withheld and rests, the newest first."""
    maker = context.asset(asset.maker) if asset.maker else asset
    state = context.state_of(maker)
    found = find_withheld(context, maker, state)
    for record, parts in reversed(found.records):
        yield {
            "run": record.run,
            "accept": accept_command(context, state, record, named=found.partitions_to_name(parts)),
            "at": record.at,
            "slices": partition_text(parts, maker) or instance_span(context, record),
            "count": partition_count(parts, maker),
            "rules": verdict_rows(record.verdicts, maker),
        }
