"""What the validations of an asset ask, what they said of its newest runs, and what is withheld by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from sparkassets.core.documents.report.past import Past
from sparkassets.core.documents.report.rows import counted, known, named, short
from sparkassets.core.instants import unix
from sparkassets.core.journal.entries import SuccessEntry
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.withheld import accepting, held, span_of
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.validations import Rule, Verdict, rule_of
from sparkassets.frozen import frozen

MOST_JUDGED = 90
"""Runs of an asset whose verdicts are told, the newest."""
MOST_VERDICTS = 30
"""Verdicts of one run that are told one by one."""
MOST_SAMPLE = 200
"""Characters of a value of a row."""


@frozen
class Judged:
    """What the rules said of one run; ``at`` is when it was recorded, Unix seconds."""

    run: str
    at: int
    verdicts: tuple[Verdict, ...]


def validations_document(context: PlanningContext, asset: AssetSpec, past: Past) -> dict[str, Any] | None:
    """The rules, by run what each of them said, and what is withheld now; None where there is nothing to tell.

    ``runs`` are oldest first, each with ``[place of the rule, outcome, failing, checked]``.
    """
    written = {
        rule_of(name if asset.outlets else "", rule.name): rule
        for name in asset.written
        for rule in context.asset(name).rules
    }
    asked = {rule_of(inlet.name, rule.name): rule for inlet in asset.inlets.values() for rule in inlet.rules}
    judged = [*islice(_judged(context, asset, past), MOST_JUDGED)]
    names = list(dict.fromkeys([*written, *(each.name for one in judged for each in one.verdicts)]))
    withheld = [*_withheld(context, asset)]
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


def verdict_rows(verdicts: Sequence[Verdict], asset: AssetSpec | None) -> list[dict[str, Any]]:
    """What rules said, with some of the rows that fail; of each slice that is withheld for itself."""
    return [
        known(
            {
                "rule": each.name,
                "severity": each.severity,
                "outcome": each.outcome,
                "slices": named(each.blocks, asset),
                "checked": each.checked,
                "failing": each.failing,
                "observed": short(each.observed),
                "samples": [{name: value[:MOST_SAMPLE] for name, value in row.items()} for row in each.samples],
            }
        )
        for each in islice((one for verdict in verdicts for one in verdict.apart), MOST_VERDICTS)
    ]


def _judged(context: PlanningContext, asset: AssetSpec, past: Past) -> Iterator[Judged]:
    """The newest runs of which verdicts are known, the newest first; of an outlet those of its own rules."""
    maker = context.asset(asset.maker) if asset.maker else asset
    for numbered in past.told(maker.uri):
        entry = numbered.entry
        if isinstance(entry, SuccessEntry) and entry.asset == maker.name:
            verdicts = entry.verdicts if not asset.maker else _own(entry.verdicts, asset)
            if verdicts:
                yield Judged(entry.run, unix(numbered.at), verdicts)


def _own(verdicts: Sequence[Verdict], outlet: AssetSpec) -> tuple[Verdict, ...]:
    """Those of the outlet's own rules, as it tells them itself."""
    return tuple(replace(each, outlet="") for each in verdicts if each.outlet == outlet.name)


def _rule(name: str, rule: Rule | None) -> dict[str, Any]:
    """A rule as it is written; of one that is not any more its name."""
    if rule is None:
        return {"name": name, "gone": True}
    told = {
        "name": name,
        "severity": rule.severity,
        "asks": short(_text(rule.check.written())),
        "allow": str(rule.allow) if rule.allow is not None else "",
        "where": short(rule.where),
        "per": rule.check.scope,
    }
    return known(told)


def _text(asks: object) -> str:
    """What a check asks, as in YAML but in a line."""
    if isinstance(asks, dict):
        return ", ".join(str(name) if value is None else f"{name} {_text(value)}" for name, value in asks.items())
    return ", ".join(map(_text, asks)) if isinstance(asks, list | tuple) else str(asks)


def _withheld(context: PlanningContext, asset: AssetSpec) -> Iterator[dict[str, Any]]:
    """What is withheld and rests, the newest first."""
    maker = context.asset(asset.maker) if asset.maker else asset
    state = context.state_of(maker)
    found = held(context, maker, state)
    for record, parts in reversed(found.records):
        yield {
            "run": record.run,
            "accept": accepting(context, state, record, named=found.to_name(parts)),
            "at": record.at,
            "slices": named(parts, maker) or span_of(context, record),
            "count": counted(parts, maker),
            "rules": verdict_rows(record.verdicts, maker),
        }
