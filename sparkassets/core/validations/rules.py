"""Validation rules: a check, the rows that it applies to, and the severity for those that fail."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from hashlib import blake2b
from typing import Final, Literal

from sparkassets.core.validations.checks import Check, RowCountCheck, UniqueCheck
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
        allow: Up to so many it passes, as ``warned`` if any failed; None is none, and any number where rows are taken
            away: with it, more than that withhold the block.
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
        """Whether rows that fail are not published, while their block is."""
        return self.severity in ("drop", "quarantine")

    @property
    def counts_rows(self) -> bool:
        """Whether what fails is a number of rows, and not the whole block or run."""
        return self.check.scope == "row" or isinstance(self.check, UniqueCheck)

    @property
    def history_length(self) -> int:
        """How many earlier counts of rows it asks for; 0 for none."""
        return self.check.change.over if isinstance(self.check, RowCountCheck) and self.check.change is not None else 0

    def tolerates(self, failing: int, checked: int) -> bool:
        """Whether no more fails than may."""
        if not failing:
            return True
        if self.allow is None:
            return self.removes_rows
        return self.allow.allows(failing, checked)

    def to_yaml(self) -> dict[str, object]:
        """The rule as in YAML, without its name, its place and its samples."""
        more = {
            "severity": self.severity if self.severity != "fail" else None,
            "allow": str(self.allow) if self.allow is not None else None,
            "where": self.where or None,
            "per": self.check.scope,
        }
        return {self.check.kind: self.check.to_yaml(), **{key: value for key, value in more.items() if value}}


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
    told = [{"name": rule.name, **rule.to_yaml()} for rule in rules]
    text = json.dumps(told, sort_keys=True, ensure_ascii=False, default=str)
    return blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()
