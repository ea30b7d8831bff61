"""Judges each partition by measured numbers: published whole or without the rows that fail, or withheld."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.validations.checks import RowCountCheck
from sparkassets.core.validations.row_count_history import RowCountHistory, explain_row_count_change
from sparkassets.core.validations.rules import ValidationRule
from sparkassets.core.validations.verdicts import (
    MOST_COUNTS,
    PartitionRowCount,
    PastRowCounts,
    RuleOutcome,
    RuleTally,
    RuleVerdict,
    RunJudgement,
    limit_samples,
    limit_tallies,
    shorten_text,
)
from sparkassets.frozen import frozen


def judge_run(
    rules: Sequence[ValidationRule],
    tallies: Iterable[RuleTally],
    blocks: Sequence[PartitionSet],
    *,
    past: PastRowCounts | None = None,
    accepted: PartitionSet = NOTHING,
) -> RunJudgement:
    """Judges which partitions of a run are published.

    A partition without a tally of a rule has no rows. Comparisons with the past judge the partitions as if they had
    been computed one after the other: each published partition of the run counts for the ones after it.

    Args:
        rules: With names that are unique.
        tallies: At most one for each rule and partition, in any order. Rules that take rows away count the rows that
            they take; the others count the rows that are left.
        blocks: Each partition of the run, oldest first.
        past: Row counts of earlier publications.
        accepted: Partitions that are published whatever the rules say.
    """
    found = _findings(rules, tallies, blocks)
    withheld = PartitionSet.union([each.tally.block for each in found if each.withholds]) - accepted
    found, withheld = _compare_all_with_history(found, withheld, past or {}, accepted)
    counts = {rule.name: _counts(rule, found, withheld) for rule in rules if rule.history_length}
    return RunJudgement(withheld, tuple(_verdicts(found, accepted)), counts)


@frozen
class _RuleFinding:
    """The finding of one rule about a partition, or about the run.

    Attributes:
        bad: Whether more fails than the rule allows.
    """

    rule: ValidationRule
    tally: RuleTally
    bad: bool

    @property
    def withholds(self) -> bool:
        """Whether the block is not published by it."""
        return self.bad and self.rule.severity != "warn"

    def outcome(self, accepted: PartitionSet) -> RuleOutcome:
        """The outcome of the rule, where a person accepted these partitions."""
        if self.withholds:
            return "accepted" if accepted.covers(self.tally.block) else "withheld"
        if not self.bad and not self.tally.failing:
            return "passed"
        match self.rule.severity:
            case "drop":
                return "dropped"
            case "quarantine":
                return "quarantined"
            case "fail":
                return "warned"
            case "warn":
                return "warned" if self.bad else "passed"


def _findings(
    rules: Sequence[ValidationRule], tallies: Iterable[RuleTally], blocks: Sequence[PartitionSet]
) -> list[_RuleFinding]:
    """The findings of each rule in order, by partition in order."""
    measured: defaultdict[str, dict[PartitionSet, RuleTally]] = defaultdict(dict)
    for tally in tallies:
        measured[tally.rule][tally.block] = tally
    whole = [PartitionSet.union(blocks)]
    return [
        _finding(rule, measured[rule.name].get(block) or RuleTally(rule.name, block, 0))
        for rule in rules
        for block in (whole if rule.check.scope == "run" else blocks)
    ]


def _finding(rule: ValidationRule, tally: RuleTally) -> _RuleFinding:
    check = rule.check
    if isinstance(check, RowCountCheck):
        few = check.min is not None and tally.checked < check.min
        many = check.max is not None and tally.checked > check.max
        return _RuleFinding(rule, tally, few or many)
    return _RuleFinding(rule, tally, not rule.tolerates(tally.failing, tally.checked))


# --------------------------------------------------------------------------- against the past


def _compare_all_with_history(
    found: list[_RuleFinding], withheld: PartitionSet, past: PastRowCounts, accepted: PartitionSet
) -> tuple[list[_RuleFinding], PartitionSet]:
    """The findings, those compared with the past judged by it as well, and all that is withheld."""
    compared = [place for place, each in enumerate(found) if each.rule.history_length]
    names = {found[place].rule.name: found[place].rule for place in compared}
    lines = {
        name: RowCountHistory(past.get(name, ()), together=rule.check.scope == "run") for name, rule in names.items()
    }
    judged = list(found)
    for block, places in _by_block(found, compared).items():
        for place in places:
            judged[place] = _compare_with_history(found[place], lines[found[place].rule.name])
        if any(judged[place].withholds for place in places):
            withheld |= block - accepted
        if not withheld.overlaps(block):
            for place in places:
                lines[found[place].rule.name].add(PartitionRowCount(block, found[place].tally.checked))
    return judged, withheld


def _by_block(found: Sequence[_RuleFinding], places: Iterable[int]) -> Mapping[PartitionSet, list[int]]:
    """The positions of findings by partition, the whole run first, then by time."""
    groups: defaultdict[PartitionSet, list[int]] = defaultdict(list)
    for place in sorted(places, key=lambda place: _finding_order(found[place])):
        groups[found[place].tally.block].append(place)
    return groups


def _finding_order(finding: _RuleFinding) -> tuple[bool, tuple[int, int], tuple[str, ...]]:
    block = finding.tally.block
    return finding.rule.check.scope != "run", block.extent or (0, 0), block.sole[0]


def _compare_with_history(finding: _RuleFinding, history: RowCountHistory) -> _RuleFinding:
    check, tally = finding.rule.check, finding.tally
    change = check.change if isinstance(check, RowCountCheck) else None
    if change is None or finding.bad:
        return finding
    told = explain_row_count_change(change, tally.checked, history.before(tally.block, change.over))
    return _RuleFinding(finding.rule, replace(tally, observed=told), bad=True) if told else finding


def _counts(
    rule: ValidationRule, found: Sequence[_RuleFinding], withheld: PartitionSet
) -> tuple[PartitionRowCount, ...]:
    tallies = [each.tally for each in found if each.rule is rule and not withheld.overlaps(each.tally.block)]
    return tuple(PartitionRowCount(each.block, each.checked) for each in tallies[-MOST_COUNTS:])


# --------------------------------------------------------------------------- what is told


def _verdicts(found: Sequence[_RuleFinding], accepted: PartitionSet) -> Iterator[RuleVerdict]:
    """One for each rule and outcome."""
    groups: dict[tuple[str, RuleOutcome], list[_RuleFinding]] = {}
    for each in found:
        groups.setdefault((each.rule.name, each.outcome(accepted)), []).append(each)
    for (name, outcome), some in groups.items():
        tallies = [replace(each.tally, observed=_describe_observed(each)) for each in some]
        told = next((each.observed for each in tallies if each.observed), "")
        yield RuleVerdict(
            rule=name,
            severity=some[0].rule.severity,
            outcome=outcome,
            blocks=PartitionSet.union([each.block for each in tallies]),
            checked=sum(each.checked for each in tallies),
            failing=sum(each.failing for each in tallies),
            observed=shorten_text(told),
            samples=limit_samples(sample for each in tallies for sample in each.samples)[: some[0].rule.samples],
            details=limit_tallies(tallies) if outcome == "withheld" else (),
        )


def _describe_observed(finding: _RuleFinding) -> str:
    """The observation that is reported with a finding's numbers."""
    if finding.tally.observed or not finding.bad:
        return finding.tally.observed
    if isinstance(finding.rule.check, RowCountCheck):
        return f"{finding.tally.checked} rows"
    return "" if finding.rule.counts_rows else "it does not hold"
