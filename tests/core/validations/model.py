"""What is published by rules, by a plain model, row by row; and what would be measured of the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from sparkassets.core.partitions import PartitionSet
from sparkassets.core.validations import NotNullCheck, RangeCheck, RowCountCheck, RuleTally, UniqueCheck, ValidationRule

Row = Mapping[str, Any]


@dataclass
class Published:
    """What a reader finds after a run; of partitions by their places."""

    rows: dict[int, list[Row]]
    dropped: dict[int, list[Row]]
    quarantined: dict[int, list[Row]]
    withheld: set[int]


def is_bad(rule: ValidationRule, row: Row) -> bool:
    """Whether a row fails a rule of rows."""
    match rule.check:
        case NotNullCheck(columns):
            return any(row[name] is None for name in columns)
        case RangeCheck(column, low, high):
            value = row[column]
            return value is not None and ((low is not None and value < low) or (high is not None and value > high))
    raise AssertionError(rule)


def looked_at(rule: ValidationRule, rows: Sequence[Row]) -> list[Row]:
    """The rows that a rule's ``where`` leaves: here it is the name of a column that is true."""
    return [row for row in rows if not rule.where or row[rule.where]]


def _failing(rule: ValidationRule, rows: Sequence[Row]) -> list[Row]:
    if isinstance(rule.check, UniqueCheck):
        keys = [tuple(row[name] for name in rule.check.columns) for row in rows]
        times = Counter(key for key in keys if None not in key)
        return [row for row, key in zip(rows, keys, strict=True) if times[key] > 1]
    return [row for row in rows if is_bad(rule, row)]


def published(
    rules: Sequence[ValidationRule], partitions: Sequence[Sequence[Row]], past: Mapping[str, Sequence[int]]
) -> Published:
    """What is published of successive partitions, where the rules that compare found that many rows before."""
    found = Published({}, {}, {}, set())
    before = {name: list(counts) for name, counts in past.items()}
    whole_bad = _whole_bad(rules, partitions)
    for place, rows in enumerate(partitions):
        left, bad = list(rows), whole_bad
        for rule in (rule for rule in rules if rule.severity in ("drop", "quarantine")):
            among = looked_at(rule, left)
            gone = [row for row in among if is_bad(rule, row)]
            left = [row for row in left if not any(row is one for one in gone)]
            taken = found.dropped if rule.severity == "drop" else found.quarantined
            taken.setdefault(place, []).extend(gone)
            bad |= rule.allow is not None and len(gone) > rule.allow.rows + rule.allow.share * len(among)
        counts: dict[str, int] = {}
        for rule in (rule for rule in rules if rule.severity in ("fail", "warn")):
            among = looked_at(rule, left)
            fails = False
            if isinstance(rule.check, RowCountCheck):
                counts[rule.name] = len(among)
                fails = _too_far(rule.check, len(among), before.get(rule.name, []))
            elif rule.check.scope != "run":
                failing = len(_failing(rule, among))
                most = rule.allow.rows + rule.allow.share * len(among) if rule.allow else 0
                fails = failing > most
            bad |= fails and rule.severity == "fail"
        if bad:
            found.withheld.add(place)
            found.dropped.pop(place, None)
            found.quarantined.pop(place, None)
            continue
        found.rows[place] = left
        for name, count in counts.items():
            before.setdefault(name, []).append(count)
    return found


def _whole_bad(rules: Sequence[ValidationRule], partitions: Sequence[Sequence[Row]]) -> bool:
    """Whether a rule of the whole run fails."""
    left = [row for rows in partitions for row in rows]
    for rule in (rule for rule in rules if rule.severity in ("drop", "quarantine")):
        left = [row for row in left if not (row in looked_at(rule, left) and is_bad(rule, row))]
    wide = [rule for rule in rules if rule.severity == "fail" and rule.check.scope == "run"]
    return any(_failing(rule, looked_at(rule, left)) for rule in wide)


def _too_far(check: RowCountCheck, count: int, before: Sequence[int]) -> bool:
    if (check.min is not None and count < check.min) or (check.max is not None and count > check.max):
        return True
    latest = before[-check.change.history_length :] if check.change else []
    if not latest or not median(latest):
        return False
    share = count / median(latest) - 1
    least, most = check.change.least, check.change.most
    return (least is not None and share < least) or (most is not None and share > most)


def tallies(
    rules: Sequence[ValidationRule], partitions: Sequence[Sequence[Row]], of: Callable[[int], PartitionSet]
) -> list[RuleTally]:
    """What is measured of the rows, in one pass over each partition; nothing is told of one without rows."""
    found = []
    rests = []
    for place, rows in enumerate(partitions):
        left = list(rows)
        for rule in (rule for rule in rules if rule.removes_rows):
            among = looked_at(rule, left)
            gone = [row for row in among if is_bad(rule, row)]
            left = [row for row in left if not any(row is one for one in gone)]
            found.append(RuleTally(rule.name, of(place), len(among), len(gone)))
        rests.append(left)
    whole = PartitionSet.union([of(place) for place in range(len(partitions))])
    for rule in (rule for rule in rules if not rule.removes_rows):
        wide = rule.check.scope == "run"
        for partition, rows in [(whole, [row for rest in rests for row in rest])] if wide else enumerate(rests):
            among = looked_at(rule, rows)
            failing = 0 if isinstance(rule.check, RowCountCheck) else len(_failing(rule, among))
            found.append(RuleTally(rule.name, partition if wide else of(partition), len(among), failing))
    return [each for each in found if each.checked]
