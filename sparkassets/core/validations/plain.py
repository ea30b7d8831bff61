"""Judgements as JSON, and back, in the marker of a commit; the journal has their verdicts likewise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sparkassets.core.partitions.plain import from_plain, parts_to, to_plain
from sparkassets.core.validations.figures import Judgement, Verdict


def verdicts_to(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """JSON that `verdicts_from` reads back; what is empty is left out."""
    return [to_plain(each) for each in verdicts]


def verdicts_from(plain: Iterable[Mapping[str, Any]]) -> tuple[Verdict, ...]:
    """The verdicts of `verdicts_to`."""
    return tuple(from_plain(each, Verdict) for each in with_rules(plain))


def judgement_to(judgement: Judgement) -> dict[str, Any]:
    """JSON that `judgement_from` reads back: ``withheld``, ``verdicts`` and, where any are kept, ``counts``."""
    return {"withheld": parts_to(judgement.withheld), "verdicts": [], **to_plain(judgement)}


def judgement_from(plain: Mapping[str, Any]) -> Judgement | None:
    """The judgement that is among the measures of a commit; None where nothing was judged."""
    if "withheld" not in plain:
        return None
    return from_plain({**plain, "verdicts": with_rules(plain["verdicts"])}, Judgement)


def with_rules(verdicts: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The JSON of verdicts, some of them of a time when what was measured of blocks did not tell the rule."""
    return [
        {**each, "by_block": [_with_rule(each["rule"], told) for told in each.get("by_block", ())]} for each in verdicts
    ]


def _with_rule(rule: str, told: list[Any]) -> list[Any]:
    return told if isinstance(told[0], str) else [rule, *told]
