"""Verdicts and judgements as JSON, and back: in the marker of a commit and in the journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sparkassets.core.partitions.plain import parts_from, parts_to
from sparkassets.core.validations.figures import Counted, Judgement, Tally, Verdict


def verdicts_to(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """JSON that `verdicts_from` reads back; what is empty is left out."""
    return [_verdict_to(each) for each in verdicts]


def verdicts_from(plain: Iterable[Mapping[str, Any]]) -> tuple[Verdict, ...]:
    """The verdicts of `verdicts_to`."""
    return tuple(
        Verdict(
            rule=each["rule"],
            severity=each["severity"],
            outcome=each["outcome"],
            blocks=parts_from(each["blocks"]),
            checked=each.get("checked", 0),
            failing=each.get("failing", 0),
            observed=each.get("observed", ""),
            samples=tuple(each.get("samples", ())),
            outlet=each.get("outlet", ""),
            inlet=each.get("inlet", ""),
            by_block=tuple(_tally_from(each["rule"], told) for told in each.get("by_block", ())),
        )
        for each in plain
    )


def counts_to(counts: Mapping[str, Sequence[Counted]]) -> dict[str, list[Any]]:
    """JSON that `counts_from` reads back."""
    return {rule: [[parts_to(each.block), each.rows] for each in some] for rule, some in counts.items()}


def counts_from(plain: Mapping[str, Iterable[Any]]) -> dict[str, tuple[Counted, ...]]:
    """The counts of `counts_to`."""
    return {rule: tuple(Counted(parts_from(block), rows) for block, rows in some) for rule, some in plain.items()}


def judgement_to(judgement: Judgement) -> dict[str, Any]:
    """JSON that `judgement_from` reads back: ``withheld``, ``verdicts`` and, where any are kept, ``counts``."""
    told = {"withheld": parts_to(judgement.withheld), "verdicts": verdicts_to(judgement.verdicts)}
    return {**told, **({"counts": counts_to(judgement.counts)} if judgement.counts else {})}


def judgement_from(plain: Mapping[str, Any]) -> Judgement | None:
    """The judgement that is among the measures of a commit; None where nothing was judged."""
    if "withheld" not in plain:
        return None
    counts = counts_from(plain.get("counts", {}))
    return Judgement(parts_from(plain["withheld"]), verdicts_from(plain["verdicts"]), counts)


def _tally_to(tally: Tally) -> list[Any]:
    samples = [dict(sample) for sample in tally.samples]
    return [parts_to(tally.block), tally.checked, tally.failing, tally.observed, samples]


def _tally_from(rule: str, plain: Sequence[Any]) -> Tally:
    block, checked, failing, observed, samples = plain
    return Tally(rule, parts_from(block), checked, failing, observed, tuple(samples))


def _verdict_to(verdict: Verdict) -> dict[str, Any]:
    more = {
        "checked": verdict.checked,
        "failing": verdict.failing,
        "observed": verdict.observed,
        "samples": [dict(sample) for sample in verdict.samples],
        "outlet": verdict.outlet,
        "inlet": verdict.inlet,
        "by_block": [_tally_to(each) for each in verdict.by_block],
    }
    return {
        "rule": verdict.rule,
        "severity": verdict.severity,
        "outcome": verdict.outcome,
        "blocks": parts_to(verdict.blocks),
        **{key: value for key, value in more.items() if value},
    }
