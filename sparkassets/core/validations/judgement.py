"""Judges a run by its rules, by what was measured and by the row counts before."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from sparkassets.core.partitions import NOTHING, PartitionSet, Segment
from sparkassets.core.validations.checks import RowCountChange, RowCountCheck
from sparkassets.core.validations.rules import (
    MOST_COUNTS,
    PartitionRowCount,
    PastRowCounts,
    RuleOutcome,
    RuleTally,
    RuleVerdict,
    RunJudgement,
    ValidationRule,
    first_observed,
    join_samples,
    limit_tallies,
    shorten_text,
)
from sparkassets.frozen import frozen


class RowCountHistory:
    """The row counts of earlier publications by one rule, as the row count of a partition is compared with them.

    A partition with a time is compared with the earlier partitions of the same segments, in the order of their times.
    Any other partition is compared with its own earlier counts.

    Args:
        counts: The counts, in the order in which they were published.
        judges_runs: Whether the rule judges whole runs, so that all counts are of the same thing.
    """

    def __init__(self, counts: Iterable[PartitionRowCount] = (), *, judges_runs: bool = False) -> None:
        self._judges_runs = judges_runs
        self._timed: defaultdict[Segment, list[tuple[int, int]]] = defaultdict(list)
        self._untimed: defaultdict[Segment, list[int]] = defaultdict(list)
        for each in counts:
            self.add(each)

    def add(self, counted: PartitionRowCount) -> None:
        """Adds a published count; it replaces the earlier count of a partition with a time."""
        segment, start = self._locate(counted.partition)
        if start is None:
            self._untimed[segment].append(counted.rows)
            return
        slots = self._timed[segment]
        place = bisect_left(slots, (start,))
        if place < len(slots) and slots[place][0] == start:
            slots[place] = (start, counted.rows)
        else:
            insort(slots, (start, counted.rows))

    def before(self, partition: PartitionSet, most: int) -> list[int]:
        """The latest counts to compare a partition with, at most ``most``, oldest first."""
        segment, start = self._locate(partition)
        if start is None:
            return self._untimed[segment][-most:]
        slots = self._timed[segment]
        place = bisect_left(slots, (start,))
        return [rows for _, rows in slots[max(0, place - most) : place]]

    def _locate(self, partition: PartitionSet) -> tuple[Segment, int | None]:
        """The segments and the start of a partition; no start without time, and neither for a rule of whole runs."""
        if self._judges_runs:
            return (), None
        extent = partition.extent
        return partition.sole_partition[0], extent and extent[0]


def explain_row_count_change(change: RowCountChange, rows: int, counts: list[int]) -> str:
    """Why so many rows are too few or too many beside what was before; empty where they are neither.

    Where nothing was there before, or the median is 0, nothing can be compared.

    >>> from decimal import Decimal
    >>> explain_row_count_change(RowCountChange(Decimal("-0.5"), None), 450, [900, 1000, 1100])
    '450 rows, -55% of 1000 (the median of the last 3)'
    >>> explain_row_count_change(RowCountChange(Decimal("-0.5"), None), 500, [900, 1000, 1100])
    ''
    """
    median = _median(counts)
    if not median:
        return ""
    is_too_low = change.least is not None and rows < median * (1 + change.least)
    is_too_high = change.most is not None and rows > median * (1 + change.most)
    if not is_too_low and not is_too_high:
        return ""
    share = (rows / median - 1) * 100
    compared = f"the median of the last {len(counts)}" if len(counts) > 1 else "the last"
    return f"{rows} rows, {share:+.0f}% of {median.normalize():f} ({compared})"


def _median(counts: list[int]) -> Decimal:
    """The middle count, or the mean of the two middle ones; 0 without counts.

    >>> _median([3, 1, 8]), _median([1, 2]), _median([])
    (Decimal('3'), Decimal('1.5'), Decimal('0'))
    """
    from decimal import Decimal

    if not counts:
        return Decimal(0)
    ordered, middle = sorted(counts), len(counts) // 2
    return Decimal(ordered[middle]) if len(counts) % 2 else Decimal(ordered[middle - 1] + ordered[middle]) / 2


def judge_run(
    rules: Sequence[ValidationRule],
    tallies: Iterable[RuleTally],
    partitions: Sequence[PartitionSet],
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
        partitions: Each partition of the run, oldest first.
        past: Row counts of earlier publications.
        accepted: Partitions that are published whatever the rules say.
    """
    findings = _make_findings(rules, tallies, partitions)
    withheld = PartitionSet.union([each.tally.partition for each in findings if each.withholds]) - accepted
    findings, withheld = _compare_all_with_history(findings, withheld, past or {}, accepted)
    counts = {rule.name: _select_counts(rule, findings, withheld) for rule in rules if rule.history_length}
    return RunJudgement(withheld, tuple(_make_verdicts(findings, accepted)), counts)


@frozen
class _RuleFinding:
    """What one rule found about a partition, or about the whole run.

    Attributes:
        is_broken: Whether the rule is broken, after its allowance.
    """

    rule: ValidationRule
    tally: RuleTally
    is_broken: bool

    @property
    def withholds(self) -> bool:
        """Whether the rule alone keeps the partition from being published."""
        return self.is_broken and self.rule.severity != "warn"

    def outcome(self, accepted: PartitionSet) -> RuleOutcome:
        """The outcome to report; ``accepted`` are the partitions that a person publishes in spite of the rules."""
        if self.withholds:
            return "accepted" if accepted.covers(self.tally.partition) else "withheld"
        if not self.is_broken and not self.tally.failing:
            return "passed"
        match self.rule.severity:
            case "drop":
                return "dropped"
            case "quarantine":
                return "quarantined"
            case "fail":
                return "warned"
            case "warn":
                return "warned" if self.is_broken else "passed"


def _make_findings(
    rules: Sequence[ValidationRule], tallies: Iterable[RuleTally], partitions: Sequence[PartitionSet]
) -> list[_RuleFinding]:
    """A finding for each rule and partition, in their order; for a rule of the run one for all partitions.

    A partition that was not measured has no rows.
    """
    tallies_by_rule: defaultdict[str, dict[PartitionSet, RuleTally]] = defaultdict(dict)
    for tally in tallies:
        tallies_by_rule[tally.rule][tally.partition] = tally
    run_partitions = [PartitionSet.union(partitions)]
    return [
        _make_finding(rule, tallies_by_rule[rule.name].get(partition) or RuleTally(rule.name, partition, 0))
        for rule in rules
        for partition in (run_partitions if rule.check.scope == "run" else partitions)
    ]


def _make_finding(rule: ValidationRule, tally: RuleTally) -> _RuleFinding:
    """The finding from the measurements alone, before any comparison with the past."""
    check = rule.check
    if isinstance(check, RowCountCheck):
        too_few = check.min is not None and tally.checked < check.min
        too_many = check.max is not None and tally.checked > check.max
        return _RuleFinding(rule, tally, too_few or too_many)
    return _RuleFinding(rule, tally, not rule.tolerates(tally.failing, tally.checked))


# --------------------------------------------------------------------------- against the past


def _compare_all_with_history(
    findings: list[_RuleFinding], withheld: PartitionSet, past: PastRowCounts, accepted: PartitionSet
) -> tuple[list[_RuleFinding], PartitionSet]:
    """The findings after comparison with earlier row counts, and all partitions that are withheld then.

    Goes through the partitions by time: one that is published counts as the past of those after it.
    """
    compared = [place for place, each in enumerate(findings) if each.rule.history_length]
    names = {findings[place].rule.name: findings[place].rule for place in compared}
    histories = {
        name: RowCountHistory(past.get(name, ()), judges_runs=rule.check.scope == "run") for name, rule in names.items()
    }
    judged = list(findings)
    for partition, places in _group_by_partition(findings, compared).items():
        for place in places:
            judged[place] = _compare_with_history(findings[place], histories[findings[place].rule.name])
        if any(judged[place].withholds for place in places):
            withheld |= partition - accepted
        if not withheld.overlaps(partition):
            for place in places:
                histories[findings[place].rule.name].add(PartitionRowCount(partition, findings[place].tally.checked))
    return judged, withheld


def _group_by_partition(findings: Sequence[_RuleFinding], places: Iterable[int]) -> Mapping[PartitionSet, list[int]]:
    """The positions of findings by partition, the whole run first, then by time."""
    groups: defaultdict[PartitionSet, list[int]] = defaultdict(list)
    for place in sorted(places, key=lambda place: _finding_order(findings[place])):
        groups[findings[place].tally.partition].append(place)
    return groups


def _finding_order(finding: _RuleFinding) -> tuple[bool, tuple[int, int], tuple[str, ...]]:
    """The key to sort findings by: those about the whole run first, then by time, then by segments."""
    partition = finding.tally.partition
    return finding.rule.check.scope != "run", partition.extent or (0, 0), partition.sole_partition[0]


def _compare_with_history(finding: _RuleFinding, history: RowCountHistory) -> _RuleFinding:
    """The finding, broken if its row count is too far from the earlier ones; unchanged if it is broken already."""
    check, tally = finding.rule.check, finding.tally
    change = check.change if isinstance(check, RowCountCheck) else None
    if change is None or finding.is_broken:
        return finding
    reason = explain_row_count_change(change, tally.checked, history.before(tally.partition, change.history_length))
    return _RuleFinding(finding.rule, replace(tally, observed=reason), is_broken=True) if reason else finding


def _select_counts(
    rule: ValidationRule, findings: Sequence[_RuleFinding], withheld: PartitionSet
) -> tuple[PartitionRowCount, ...]:
    """The row counts of published partitions to store for later comparisons, of many the latest."""
    tallies = [each.tally for each in findings if each.rule is rule and not withheld.overlaps(each.tally.partition)]
    return tuple(PartitionRowCount(each.partition, each.checked) for each in tallies[-MOST_COUNTS:])


# --------------------------------------------------------------------------- what is told


def _make_verdicts(findings: Sequence[_RuleFinding], accepted: PartitionSet) -> Iterator[RuleVerdict]:
    """One verdict for each rule and outcome, with the sums over the partitions that share them."""
    groups: dict[tuple[str, RuleOutcome], list[_RuleFinding]] = {}
    for each in findings:
        groups.setdefault((each.rule.name, each.outcome(accepted)), []).append(each)
    for (name, outcome), group in groups.items():
        tallies = [replace(each.tally, observed=_describe_observed(each)) for each in group]
        yield RuleVerdict(
            rule=name,
            severity=group[0].rule.severity,
            outcome=outcome,
            partitions=PartitionSet.union([each.partition for each in tallies]),
            checked=sum(each.checked for each in tallies),
            failing=sum(each.failing for each in tallies),
            observed=shorten_text(first_observed(tallies)),
            samples=join_samples(tallies)[: group[0].rule.samples],
            details=limit_tallies(tallies) if outcome == "withheld" else (),
        )


def _describe_observed(finding: _RuleFinding) -> str:
    """The observation to report; for a broken rule without one, the row count or that it does not hold."""
    if finding.tally.observed or not finding.is_broken:
        return finding.tally.observed
    if isinstance(finding.rule.check, RowCountCheck):
        return f"{finding.tally.checked} rows"
    return "" if finding.rule.counts_rows else "it does not hold"
