"""Records of partitions that were computed and not published because validations failed, and how these change.

A withheld partition is not due until it has a new cause: data that its run did not have, other rules or code, or a
person who accepts it or asks for it again (docs/design/validations.md#withheld-partitions). The number of records has
a limit, whatever the number of partitions: older records are merged into one.

For an asset without partitions a record stands for one run. Where each interval or event has a run of its own
(``every_instance``) the records stand apart: an instance stays withheld whatever becomes of later ones, so each is
listed, tried again and accepted by itself. Where runs continue each other (``latest_only``) there is at most one
record: neither the watermark nor the cursor passes withheld rows, so the next run computes them together with newer
ones, and withholds or publishes both. For ``full_refresh`` the newest run stands for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.runs import InletPin
from sparkassets.core.validations import RuleVerdict, limit_tallies
from sparkassets.frozen import frozen, replace

MOST_RECORDS = 10
"""Records of one asset; older ones are merged."""

MOST_JUDGES = 8
"""Definitions that one record remembers; the newest."""


@frozen(stored_names={"acceptance": "said", "is_instance": "apart", "retried_partitions": "caused"})
class WithheldPartitions:
    """Partitions that one run computed and did not publish.

    Attributes:
        partitions: Everything for an asset without partitions.
        run: The newest run that withheld some of them.
        token: Its fence token.
        seq: Sequence number of its entry.
        at: When it was recorded, Unix seconds.
        retried_partitions: Partitions of ``partitions`` with a new cause since, which are tried again.
        judges: Definitions, of code and rules, that judged the same data, in their order.
        verdicts: Verdicts of the rules that failed.
        interval: Data interval of the run, Unix seconds.
        invocation: The driver that claimed the run.
        pins, events: For an asset without partitions, what the run read, and the numbers of the events that it answers.
        is_instance: The record is of one instance among several, each with its own record.
        acceptance: For such an instance, who accepted it and why; empty where nobody did.
        skipped: The reason that the code gave for computing nothing of these missing partitions; empty where rules
            withheld them.
    """

    partitions: PartitionSet
    run: str
    token: int
    seq: int
    at: int
    retried_partitions: PartitionSet = NOTHING
    judges: tuple[str, ...] = ()
    verdicts: tuple[RuleVerdict, ...] = ()
    interval: tuple[int, int] | None = None
    invocation: str = ""
    pins: Mapping[str, InletPin] = field(default_factory=dict)
    events: tuple[int, ...] = ()
    is_instance: bool = False
    acceptance: str = ""
    skipped: str = ""

    def resting_partitions(self, definition: str) -> PartitionSet:
        """The partitions without a new cause that this definition has judged already."""
        return self.partitions - self.retried_partitions if definition in self.judges else NOTHING

    @property
    def text(self) -> str:
        """The failed rules, or the reason that the code gave, for people."""
        return self.skipped or describe_withholding(self.verdicts, self.partitions)


MOST_RULES = 3
"""Rules that a sentence names."""


def describe_verdicts(verdicts: Sequence[RuleVerdict]) -> str:
    """The first few failed rules, for people."""
    texts = [verdict.text for verdict in verdicts[:MOST_RULES]]
    more = len(verdicts) - len(texts)
    return "; ".join([*texts, *([f"and {more} more"] if more else [])])


def describe_withholding(verdicts: Sequence[RuleVerdict], partitions: PartitionSet) -> str:
    """Why these partitions are withheld, for people: the rules that they fail.

    Partitions that fail no rule are withheld where others of the same commit fail one.
    """
    is_beside_failing = verdicts and not any(each.partitions.overlaps(partitions) for each in verdicts)
    return (
        f"written in one commit with failing partitions: {describe_verdicts(verdicts)}"
        if is_beside_failing
        else describe_verdicts(verdicts)
    )


def describe_other_outcomes(verdicts: Sequence[RuleVerdict], *, quarantine: str = "") -> list[str]:
    """Phrases on rules that found something and withheld nothing, such as ``warned: pattern(email): 2 of 12 rows``.

    ``quarantine`` is the place of quarantined rows; empty where there is none to name.
    """
    phrases = []
    for each in verdicts:
        if each.outcome in REPORTED_OUTCOMES:
            where = f", in {quarantine}" if each.outcome == "quarantined" and quarantine else ""
            phrases.append(f"{each.outcome}: {each.text}{where}")
    return phrases


REPORTED_OUTCOMES = ("warned", "dropped", "quarantined", "accepted")
"""Outcomes of rules that found something in partitions which are published all the same."""

WithheldRecords = tuple[WithheldPartitions, ...]


def withheld_after_run(
    records: WithheldRecords, partitions: PartitionSet, new_record: WithheldPartitions | None
) -> WithheldRecords:
    """The records after a run of ``partitions``; ``new_record`` is what it withheld, None where it withheld nothing.

    Earlier records of these partitions without a new cause judged the same data, so their judges are kept. Records of
    instances stay as they are.
    """
    instances = tuple(each for each in records if each.is_instance)
    other_records = tuple(each for each in records if not each.is_instance) if instances else records
    if new_record is None:
        return (*instances, *withheld_without(other_records, partitions)) if other_records else instances
    new_records = (
        replace(new_record, partitions=part, retried_partitions=new_record.retried_partitions & part, judges=judges)
        for judges, part in _partitions_by_judges(other_records, new_record)
    )
    return (*instances, *_limit_records([*withheld_without(other_records, partitions), *new_records]))


def _partitions_by_judges(
    records: WithheldRecords, new_record: WithheldPartitions
) -> Iterable[tuple[tuple[str, ...], PartitionSet]]:
    """Groups the newly withheld partitions by all definitions that have judged the same data.

    Data is the same where an earlier record has the partition without a new cause since.
    """
    rejudged = [
        (each, part)
        for each in records
        if (part := (each.partitions - each.retried_partitions) & new_record.partitions)
    ]
    newly_judged = new_record.partitions - PartitionSet.union(part for _, part in rejudged)
    partitions_by_judges: dict[tuple[str, ...], PartitionSet] = (
        {new_record.judges: newly_judged} if newly_judged else {}
    )
    for each, part in rejudged:
        judges = _newest_judges(each.judges, new_record.judges)
        partitions_by_judges[judges] = partitions_by_judges.get(judges, NOTHING) | part
    return partitions_by_judges.items()


def withheld_after_instance(
    records: WithheldRecords, run: InstanceIdentity, new_record: WithheldPartitions | None
) -> WithheldRecords:
    """The records after the run of an instance; ``new_record`` is its new record, None where it was published.

    Records of other instances stay. Records of the whole asset are from before ``every_instance``, and are dropped.
    """
    kept: list[WithheldPartitions] = []
    for each in records:
        if each.is_instance and not run.matches_record(each):
            kept.append(each)
        elif each.is_instance and new_record is not None:
            # without a new cause the earlier run judged the same data, so its judges count for the new record too
            new_record = (
                new_record
                if each.retried_partitions
                else replace(new_record, judges=_newest_judges(each.judges, new_record.judges))
            )
    return tuple(kept) if new_record is None else (*kept, new_record)


@frozen
class InstanceIdentity:
    """Identifies an instance among the runs of its asset.

    Attributes:
        interval: Its data interval, Unix seconds.
        events: Numbers of the events that it answers.
        again: The run that it repeats; empty where ``interval`` and ``events`` identify the instance.
    """

    interval: tuple[int, int] | None = None
    events: tuple[int, ...] = ()
    again: str = ""

    def matches_record(self, record: WithheldPartitions) -> bool:
        """Whether the record is of this instance; an instance with neither interval nor events matches no other."""
        if self.again:
            return record.run == self.again
        return (self.interval, self.events) == (record.interval, record.events) != (None, ())


def accept_instance(records: WithheldRecords, run: str, acceptance: str) -> WithheldRecords:
    """The records after a person accepted the instance that this run withheld."""
    return tuple(
        replace(each, acceptance=acceptance) if each.is_instance and each.run == run else each for each in records
    )


def withheld_without_interval(records: WithheldRecords, interval: tuple[int, int]) -> WithheldRecords:
    """The records without the instance of that interval, because a person marked it."""
    return tuple(each for each in records if not (each.is_instance and each.interval == interval))


def withheld_without(records: WithheldRecords, partitions: PartitionSet) -> WithheldRecords:
    """The records without ``partitions``."""
    return tuple(remaining for each in records if (remaining := _record_without(each, partitions)).partitions)


def add_causes(records: WithheldRecords, partitions: PartitionSet) -> WithheldRecords:
    """The records with a new cause for ``partitions``, which are tried again."""
    return tuple(
        replace(each, retried_partitions=each.retried_partitions | (each.partitions & partitions)) for each in records
    )


def _record_without(record: WithheldPartitions, partitions: PartitionSet) -> WithheldPartitions:
    """One record without ``partitions``, with the verdicts on the rest.

    All verdicts stay where none is about the rest: it is withheld because it shared a commit with what failed.
    """
    if not record.partitions.overlaps(partitions):
        return record
    remaining = record.partitions - partitions
    verdicts = tuple(each.restrict_to(remaining) for each in record.verdicts if each.partitions.overlaps(remaining))
    return replace(
        record,
        partitions=remaining,
        retried_partitions=record.retried_partitions - partitions,
        verdicts=verdicts or record.verdicts,
    )


def _newest_judges(judges: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    """The definitions of both lists without repetition, the newest last; at most `MOST_JUDGES`.

    Those of ``more`` judged later, so that a definition in both lists takes the place that it has in ``more``.
    """
    return tuple(dict.fromkeys([*(each for each in judges if each not in more), *more]))[-MOST_JUDGES:]


def _limit_records(records: Sequence[WithheldPartitions]) -> WithheldRecords:
    """The newest records, with all older ones merged into one, so that there are at most `MOST_RECORDS`.

    The merged record counts as judged only by definitions that judged every part of it. Else it is that of the newest
    of the older runs, but without a data interval, as it stands for several runs.
    """
    if len(records) <= MOST_RECORDS:
        return tuple(records)
    older, newer = records[: 1 - MOST_RECORDS], records[1 - MOST_RECORDS :]
    newest = older[-1]  # of the older ones, as records are in the order of their runs
    merged = replace(
        newest,
        partitions=PartitionSet.union(each.partitions for each in older),
        retried_partitions=PartitionSet.union(each.retried_partitions for each in older),
        judges=tuple(each for each in newest.judges if all(each in other.judges for other in older)),
        verdicts=_merge_verdicts([verdict for each in older for verdict in each.verdicts]),
        interval=None,
    )
    return (merged, *newer)


def _merge_verdicts(verdicts: Iterable[RuleVerdict]) -> tuple[RuleVerdict, ...]:
    """One verdict for each rule, with the samples of the newest."""
    merged: dict[str, RuleVerdict] = {}
    for each in verdicts:
        earlier = merged.pop(each.name, None)  # popped, so that the rule moves to the end, where the newest are
        if earlier is not None:
            partitions = each.partitions | earlier.partitions
            checked, failing = each.checked + earlier.checked, each.failing + earlier.failing
            tallies = limit_tallies([*earlier.tallies, *each.tallies])
            merged[each.name] = replace(each, partitions=partitions, checked=checked, failing=failing, details=tallies)
        else:
            merged[each.name] = each
    return tuple(merged.values())
