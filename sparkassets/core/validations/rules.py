"""A rule: what is asked of rows, of which of them, and what becomes of those that fail."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from hashlib import blake2b
from typing import Final, Literal

from sparkassets.core.validations.checks import Check, RowCount, Unique
from sparkassets.errors import Location
from sparkassets.frozen import frozen

Severity = Literal["fail", "warn", "drop", "quarantine"]
"""What becomes of what fails: the block is withheld, it is told and published, or the rows are taken out or away."""

NOWHERE: Final = Location("")


@frozen
class Allowance:
    """How many rows may fail.

    Attributes:
        share: Of the rows that were looked at, from 0 to 1; an exact number.
        rows: As a number; 0 beside a share.
    """

    share: Decimal | int = 0
    rows: int = 0

    def holds(self, failing: int, checked: int) -> bool:
        """Whether so many are not too many.

        >>> from decimal import Decimal
        >>> Allowance(Decimal("0.001")).holds(1, 1000), Allowance(Decimal("0.001")).holds(1, 999)
        (True, False)
        """
        return failing <= self.rows + self.share * checked

    def __str__(self) -> str:
        from decimal import Decimal

        return f"{format((Decimal(self.share) * 100).normalize(), 'f')}%" if self.share else str(self.rows)


@frozen
class Rule:
    """One validation of an asset or an inlet.

    Rules that take rows away do so first, in their order: a row goes by the first of them that it fails. All others
    judge what is left.

    Attributes:
        name: Unique among the rules beside it, such as ``not_null(dep_time)``.
        allow: Up to so many it passes, as ``warned`` if any failed; None is none, and any number where rows are taken
            away: with it, more than that withhold the block.
        where: A condition in SQL: only rows for which it is true are looked at. Empty for all.
        samples: How many rows that fail are shown and kept, of a verdict and of a block; none unless somebody asks.
        place: Where it is written; two that differ by that alone are equal in what they do.
    """

    name: str
    check: Check
    severity: Severity = "fail"
    allow: Allowance | None = None
    where: str = ""
    samples: int = 0
    place: Location = NOWHERE

    @property
    def takes_rows(self) -> bool:
        """Whether rows that fail are not published, while their block is."""
        return self.severity in ("drop", "quarantine")

    @property
    def counts_rows(self) -> bool:
        """Whether what fails is a number of rows, and not the whole block or run."""
        return self.check.scope == "row" or isinstance(self.check, Unique)

    @property
    def over(self) -> int:
        """How many earlier counts of rows it asks for; 0 for none."""
        return self.check.change.over if isinstance(self.check, RowCount) and self.check.change is not None else 0

    def tolerates(self, failing: int, checked: int) -> bool:
        """Whether no more fails than may."""
        if not failing:
            return True
        if self.allow is None:
            return self.takes_rows
        return self.allow.holds(failing, checked)

    def written(self) -> dict[str, object]:
        """What it judges, as in YAML: without its name, its place, and how many rows it shows."""
        more = {
            "severity": self.severity if self.severity != "fail" else None,
            "allow": str(self.allow) if self.allow is not None else None,
            "where": self.where or None,
            "per": self.check.scope,
        }
        return {self.check.kind: self.check.written(), **{key: value for key, value in more.items() if value}}


def taking(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Those that take rows away, in their order."""
    return tuple(rule for rule in rules if rule.takes_rows)


def digest_of(rules: Sequence[Rule]) -> str:
    """What tells rules from others that judge otherwise, in 16 characters; empty for none.

    >>> digest_of(())
    ''
    """
    if not rules:
        return ""
    told = [{"name": rule.name, **rule.written()} for rule in rules]
    text = json.dumps(told, sort_keys=True, ensure_ascii=False, default=str)
    return blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()
