"""Validation rules, the verdicts on them, and the judgement of a run, also as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from decimal import Decimal
from itertools import chain, islice
from typing import Any, Final, Literal

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.partitions.json_form import encode_partitions, from_plain, to_plain
from sparkassets.core.validations.checks import Check, RowCountCheck, UniqueCheck
from sparkassets.digests import blake2b
from sparkassets.errors import FileLocation
from sparkassets.frozen import frozen

Severity = Literal["fail", "warn", "drop", "quarantine"]
"""What a failure does: withhold the partition, warn and publish, drop the failing rows, or move them to quarantine."""

NOWHERE: Final = FileLocation("")


@frozen
class FailureAllowance:
    """How many rows may fail.

    Attributes:
        share: Of the rows that were looked at, from 0 to 1; an exact number.
        rows: As a number; 0 beside a share.
    """

    share: Decimal | int = 0
    rows: int = 0

    def allows(self, failing: int, checked: int) -> bool:
        """Whether this number of failing rows is allowed.

        >>> from decimal import Decimal
        >>> FailureAllowance(Decimal("0.001")).allows(1, 1000), FailureAllowance(Decimal("0.001")).allows(1, 999)
        (True, False)
        """
        return failing <= self.rows + self.share * checked

    def __str__(self) -> str:
        from decimal import Decimal

        return f"{format((Decimal(self.share) * 100).normalize(), 'f')}%" if self.share else str(self.rows)


@frozen
class ValidationRule:
    """One validation of an asset or an inlet.

    Rules that take rows away do so first, in their order: a row goes by the first of them that it fails. All others
    judge what is left.

    Attributes:
        name: Unique among the rules beside it, such as ``not_null(dep_time)``.
        allow: How many rows may fail: up to that number the rule passes, as ``warned`` if any failed; more withhold the
            partition. None allows none, or any number where rows are taken away.
        where: A condition in SQL: only rows for which it is true are judged. Empty for all.
        samples: How many failing rows are shown and stored for a verdict and for a partition; none by default.
        place: Where it is written; rules that differ in it alone behave the same.
    """

    name: str
    check: Check
    severity: Severity = "fail"
    allow: FailureAllowance | None = None
    where: str = ""
    samples: int = 0
    place: FileLocation = NOWHERE

    @property
    def removes_rows(self) -> bool:
        """Whether rows that fail are not published, while their partition is."""
        return self.severity in ("drop", "quarantine")

    @property
    def counts_rows(self) -> bool:
        """Whether what fails is a number of rows, and not the whole partition or run."""
        return self.check.scope == "row" or isinstance(self.check, UniqueCheck)

    @property
    def history_length(self) -> int:
        """How many earlier counts of rows it asks for; 0 for none."""
        return (
            self.check.change.history_length
            if isinstance(self.check, RowCountCheck) and self.check.change is not None
            else 0
        )

    def tolerates(self, failing: int, checked: int) -> bool:
        """Whether no more rows fail than are allowed; without ``allow`` none, or any number where rows are removed."""
        if not failing:
            return True
        if self.allow is None:
            return self.removes_rows
        return self.allow.allows(failing, checked)

    def to_yaml(self) -> dict[str, object]:
        """The rule as in YAML, without its name, its place and its samples."""
        options = {
            "severity": self.severity if self.severity != "fail" else None,
            "allow": str(self.allow) if self.allow is not None else None,
            "where": self.where or None,
            "per": self.check.scope,
        }
        return {self.check.kind: self.check.to_yaml(), **{key: value for key, value in options.items() if value}}


def row_removing_rules(rules: Sequence[ValidationRule]) -> tuple[ValidationRule, ...]:
    """The rules that take rows away, in their order."""
    return tuple(rule for rule in rules if rule.removes_rows)


def rules_digest(rules: Sequence[ValidationRule]) -> str:
    """Digest of what the rules judge, in 16 characters; empty for no rules.

    >>> rules_digest(())
    ''
    """
    if not rules:
        return ""
    plain_rules = [{"name": rule.name, **rule.to_yaml()} for rule in rules]
    text = json.dumps(plain_rules, sort_keys=True, ensure_ascii=False, default=str)
    return blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()


RuleOutcome = Literal["passed", "warned", "withheld", "dropped", "quarantined", "accepted"]
"""What a rule did to partitions; a person published ``accepted`` ones although the rule fails."""

FailingRow = Mapping[str, str]
"""Some values of a row that fails, by column, as text."""

MOST_SAMPLES: Final = 5
MOST_VALUE: Final = 200
MOST_VALUES: Final = 12
MOST_COUNTS: Final = 400
MOST_MEASURED: Final = 100
"""Most withheld partitions of one verdict that have figures of their own."""
MASKED: Final = "•••"
"""Stands for the values of columns that are not to be shown."""


@frozen(array_like=True)
class RuleTally:
    """Measurements of one partition by one rule, or of all partitions for a rule over the whole run.

    Attributes:
        rule: The rule's name.
        checked: Rows that the rule looked at: those that its ``where`` leaves, and that no earlier rule took away.
        failing: Rows among them that fail; for a check of partitions, 1 where the partition fails.
        observed: An observation to report, such as the newest value.
        samples: Some rows that fail.
    """

    rule: str
    partition: PartitionSet
    checked: int
    failing: int = 0
    observed: str = ""
    samples: tuple[FailingRow, ...] = ()


@frozen(array_like=True)
class PartitionRowCount:
    """How many rows a published partition had by one rule; for a rule of the run, its partitions together."""

    partition: PartitionSet
    rows: int


PastRowCounts = Mapping[str, Sequence[PartitionRowCount]]
"""By the names of the rules that compare with it, what was published, in the order of time or else of its runs."""


def qualified_rule_name(asset: str, rule: str) -> str:
    """The name of a rule within a run, where outlets and inlets may have rules of the same names.

    ``asset`` is the outlet or inlet that has the rule; empty for a rule of the run's own asset.
    """
    return f"{asset}: {rule}" if asset else rule


@frozen
class RuleVerdict:
    """The outcome of one rule, for all partitions of a run that share it.

    Attributes:
        checked, failing: Sums over these partitions.
        observed: The first observation among these partitions.
        samples: At most `MOST_SAMPLES` failing rows.
        outlet: The outlet whose rows the rule judged; empty for an asset without outlets.
        inlet: The inlet whose rows the rule judged; empty for rows that were written.
        details: The measurements of single partitions, where several are withheld; at most `MOST_MEASURED`.
    """

    rule: str
    severity: Severity
    outcome: RuleOutcome
    partitions: PartitionSet
    checked: int = 0
    failing: int = 0
    observed: str = ""
    samples: tuple[FailingRow, ...] = ()
    outlet: str = ""
    inlet: str = ""
    details: tuple[RuleTally, ...] = ()

    @property
    def by_partition(self) -> tuple[RuleVerdict, ...]:
        """A verdict for each partition with measurements of its own, then one for all others together."""
        if not self.details:
            return (self,)
        rest = self.restrict_to(self.partitions - self._detailed_partitions)
        return (*map(self._from_tally, self.details), *([rest] if rest.partitions else []))

    def restrict_to(self, parts: PartitionSet) -> RuleVerdict:
        """The verdict for ``parts`` alone; numbers of other partitions are subtracted where they were kept."""
        if parts.covers(self.partitions):
            return self
        own_tallies = tuple(each for each in self.details if parts.covers(each.partition))
        # `details` may lack partitions beyond `MOST_MEASURED`: their numbers stay in the sums
        remaining = self.partitions & parts
        if len(own_tallies) == 1 and own_tallies[0].partition == remaining:
            return self._from_tally(own_tallies[0])
        others = [each for each in self.details if each not in own_tallies]
        restricted = replace(
            self,
            partitions=remaining,
            checked=self.checked - sum(each.checked for each in others),
            failing=self.failing - sum(each.failing for each in others),
            details=own_tallies,
        )
        if not own_tallies:
            return restricted
        return replace(restricted, samples=join_samples(own_tallies), observed=first_observed(own_tallies))

    @property
    def tallies(self) -> tuple[RuleTally, ...]:
        """The measurements by partition where they were kept, else one measurement for all partitions together."""
        return self.details or (
            RuleTally(self.rule, self.partitions, self.checked, self.failing, self.observed, self.samples),
        )

    @property
    def _detailed_partitions(self) -> PartitionSet:
        return PartitionSet.union(each.partition for each in self.details)

    def _from_tally(self, tally: RuleTally) -> RuleVerdict:
        verdict = replace(self, partitions=tally.partition, checked=tally.checked, failing=tally.failing, details=())
        return replace(verdict, observed=tally.observed, samples=tally.samples)

    @property
    def name(self) -> str:
        """The rule, of a multi-asset with its outlet, of an inlet with that.

        >>> RuleVerdict("not_null(a)", "fail", "passed", NOTHING, outlet="train").name
        'train: not_null(a)'
        """
        return qualified_rule_name(self.outlet or self.inlet, self.rule)

    @property
    def text(self) -> str:
        """The verdict in words, without its partitions.

        >>> RuleVerdict("not_null(a)", "fail", "withheld", NOTHING, checked=900, failing=12).text
        'not_null(a): 12 of 900 rows'
        """
        counted = f"{self.failing} of {self.checked} rows" if self.failing else f"{self.checked} rows"
        return f"{self.name}: {self.observed or counted}"


@frozen
class RunJudgement:
    """Which partitions of a run are withheld, and the verdicts of its rules.

    Attributes:
        withheld: Partitions that are not published; their old rows stay.
        verdicts: The verdicts, in the order of the rules.
        counts: Row counts of published partitions, to compare later runs with; by `RuleVerdict.name`.
    """

    withheld: PartitionSet = NOTHING
    verdicts: tuple[RuleVerdict, ...] = ()
    counts: Mapping[str, tuple[PartitionRowCount, ...]] = field(default_factory=dict)

    def with_withheld(self, parts: PartitionSet) -> RunJudgement:
        """The judgement that also withholds these partitions, because another outlet withholds them."""
        counts = {
            rule: tuple(each for each in row_counts if not each.partition & parts)
            for rule, row_counts in self.counts.items()
        }
        return replace(self, withheld=self.withheld | parts, counts=counts)

    def with_outlet(self, name: str) -> RunJudgement:
        """The judgement with its rules named by their outlet: other outlets may have rules of the same names."""
        verdicts = tuple(replace(each, outlet=name) for each in self.verdicts)
        return replace(
            self,
            verdicts=verdicts,
            counts={qualified_rule_name(name, rule): row_counts for rule, row_counts in self.counts.items()},
        )

    def merge(self, other: RunJudgement) -> RunJudgement:
        """The judgement of both: a partition that either withholds is withheld."""
        one, two = self.with_withheld(other.withheld), other.with_withheld(self.withheld)
        return RunJudgement(one.withheld, (*one.verdicts, *two.verdicts), {**one.counts, **two.counts})

    def verdicts_with(self, *outcomes: RuleOutcome) -> tuple[RuleVerdict, ...]:
        """The verdicts with one of these outcomes."""
        return tuple(each for each in self.verdicts if each.outcome in outcomes)


def limit_tallies(tallies: Sequence[RuleTally]) -> tuple[RuleTally, ...]:
    """The measurements to store: of the first partitions, with fewer sample rows each the more there are.

    None for a single partition: its verdict has the same numbers.
    """
    if len(tallies) < 2:  # noqa: PLR2004  those of one are the verdict's own
        return ()
    first_tallies = tallies[:MOST_MEASURED]
    most = max(1, MOST_MEASURED // len(first_tallies))
    return tuple(
        replace(each, observed=shorten_text(each.observed), samples=limit_samples(each.samples)[:most])
        for each in first_tallies
    )


def shorten_text(text: str) -> str:
    """The text, cut to `MOST_VALUE` characters.

    >>> len(shorten_text("x" * 999)) == MOST_VALUE
    True
    """
    return text if len(text) <= MOST_VALUE else f"{text[: MOST_VALUE - 1]}…"


def limit_samples(samples: Iterable[FailingRow]) -> tuple[FailingRow, ...]:
    """The first few, each with its first few columns and short values."""
    return tuple(
        {shorten_text(name): shorten_text(value) for name, value in islice(sample.items(), MOST_VALUES)}
        for sample in islice(samples, MOST_SAMPLES)
    )


def join_samples(tallies: Iterable[RuleTally]) -> tuple[FailingRow, ...]:
    """The first few failing rows of all tallies together."""
    return limit_samples(chain.from_iterable(each.samples for each in tallies))


def first_observed(tallies: Iterable[RuleTally]) -> str:
    """The first observation of them; empty where none has one."""
    return next((each.observed for each in tallies if each.observed), "")


def verdicts_to(verdicts: Iterable[RuleVerdict]) -> list[dict[str, Any]]:
    """JSON that `verdicts_from` reads back; what is empty is left out."""
    return [to_plain(each) for each in verdicts]


def verdicts_from(plain: Iterable[Mapping[str, Any]]) -> tuple[RuleVerdict, ...]:
    """The verdicts of `verdicts_to`."""
    return tuple(from_plain(each, RuleVerdict) for each in with_current_names(plain))


def judgement_to(judgement: RunJudgement) -> dict[str, Any]:
    """JSON that `judgement_from` reads back: ``withheld``, ``verdicts`` and, where any are kept, ``counts``."""
    return {"withheld": encode_partitions(judgement.withheld), "verdicts": [], **to_plain(judgement)}


def judgement_from(plain: Mapping[str, Any]) -> RunJudgement | None:
    """The judgement that is among the measures of a commit; None where nothing was judged."""
    if "withheld" not in plain:
        return None
    return from_plain({**plain, "verdicts": with_current_names(plain["verdicts"])}, RunJudgement)


def with_current_names(verdicts: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The JSON of verdicts with the present names, and with the rule in each measurement, as older code stored it."""
    renamed = ({_RENAMED_FIELDS.get(name, name): value for name, value in each.items()} for each in verdicts)
    return [
        {**each, "details": [_with_rule(each["rule"], measured) for measured in each.get("details", ())]}
        for each in renamed
    ]


_RENAMED_FIELDS: Final = {"blocks": "partitions", "by_block": "details"}
"""Present names of fields by their names in journals of format 4 and in stamps of that time."""


def _with_rule(rule: str, measured: list[Any]) -> list[Any]:
    """A stored measurement, which begins with its rule today and with its partition in older journals."""
    return measured if isinstance(measured[0], str) else [rule, *measured]
