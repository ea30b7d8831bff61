"""Judgements as JSON, and back, in the marker of a commit; the journal has their verdicts likewise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sparkassets.core.partitions.json_form import encode_partitions, from_plain, to_plain
from sparkassets.core.validations.verdicts import RuleVerdict, RunJudgement


def verdicts_to(verdicts: Iterable[RuleVerdict]) -> list[dict[str, Any]]:
    """JSON that `verdicts_from` reads back; what is empty is left out."""
    return [to_plain(each) for each in verdicts]


def verdicts_from(plain: Iterable[Mapping[str, Any]]) -> tuple[RuleVerdict, ...]:
    """The verdicts of `verdicts_to`."""
    return tuple(from_plain(each, RuleVerdict) for each in with_rules(plain))


def judgement_to(judgement: RunJudgement) -> dict[str, Any]:
    """JSON that `judgement_from` reads back: ``withheld``, ``verdicts`` and, where any are kept, ``counts``."""
    return {"withheld": encode_partitions(judgement.withheld), "verdicts": [], **to_plain(judgement)}


def judgement_from(plain: Mapping[str, Any]) -> RunJudgement | None:
    """The judgement that is among the measures of a commit; None where nothing was judged."""
    if "withheld" not in plain:
        return None
    return from_plain({**plain, "verdicts": with_rules(plain["verdicts"])}, RunJudgement)


def with_rules(verdicts: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The JSON of verdicts, with the rule in each measurement; older verdicts were stored without it."""
    return [
        {**each, "details": [_with_rule(each["rule"], told) for told in each.get("details", each.get("by_block", ()))]}
        for each in verdicts
    ]


def _with_rule(rule: str, told: list[Any]) -> list[Any]:
    return told if isinstance(told[0], str) else [rule, *told]
