"""What of an asset was computed and is not published, as its validations failed, and what becomes of that.

A withheld block is not due until it has a new cause: data that its run did not have, other rules or other code, or
somebody who accepts it or asks for it again. Records are few, whatever the number of blocks: older ones are told
together.

Of an asset without partitions a record is of one run. Where each interval or event has a run of its own
(``every_instance``) these records stand apart: what was withheld of one instance is still to come, whatever becomes of
later ones, so that each is told, tried again and accepted by itself. Where runs go on from each other (``latest_only``)
there is never more than one: what is withheld is neither behind the watermark nor passed over by the next interval, so
the next run computes it together with what came since, and withholds or publishes both. Of a ``full_refresh`` the
newest run stands for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.runs import InletPin
from sparkassets.core.validations import RuleVerdict, limit_tallies
from sparkassets.frozen import frozen

MOST_TOLD = 10
"""Records of one asset that are told apart; the newest."""

MOST_JUDGES = 8
"""Definitions of one record that are known; the newest."""


@frozen
class WithheldPartitions:
    """Blocks that one run computed and did not publish.

    Attributes:
        blocks: Everything for an asset without partitions.
        run: The newest that withheld some of them.
        token: Its fence token.
        seq: Number of the entry that tells it.
        at: When that was recorded, Unix seconds.
        caused: Those of the blocks that have a new cause since, so that they are tried again.
        judges: By what code and which rules the same data was judged, in their order.
        verdicts: Of the rules that failed.
        interval: Data interval of the run, Unix seconds.
        invocation: Of the driver that claimed it.
        pins, events: Of an asset without partitions: what the run read, and the numbers of the events that it answers.
        apart: It is one instance of several, which stand beside one another.
        said: Of such an instance, who accepted it and why; empty where nobody did.
        skipped: What the code said that computed nothing of these blocks, which are not there; empty where rules
            withheld them.
    """

    blocks: PartitionSet
    run: str
    token: int
    seq: int
    at: int
    caused: PartitionSet = NOTHING
    judges: tuple[str, ...] = ()
    verdicts: tuple[RuleVerdict, ...] = ()
    interval: tuple[int, int] | None = None
    invocation: str = ""
    pins: Mapping[str, InletPin] = field(default_factory=dict)
    events: tuple[int, ...] = ()
    apart: bool = False
    said: str = ""
    skipped: str = ""

    def resting_partitions(self, definition: str) -> PartitionSet:
        """Those of the blocks for which nothing is new, by an asset of that definition."""
        return self.blocks - self.caused if definition in self.judges else NOTHING

    @property
    def text(self) -> str:
        """Which rules failed, or what the code said, for people."""
        return self.skipped or describe_withholding(self.verdicts, self.blocks)


MOST_RULES = 3
"""Rules that a sentence names."""


def describe_verdicts(verdicts: Sequence[RuleVerdict]) -> str:
    """Which rules failed, for people, the first few of them."""
    texts = [verdict.text for verdict in verdicts[:MOST_RULES]]
    more = len(verdicts) - len(texts)
    return "; ".join([*texts, *([f"and {more} more"] if more else [])])


def describe_withholding(verdicts: Sequence[RuleVerdict], blocks: PartitionSet) -> str:
    """Why these blocks are withheld, for people: of those that fail no rule that others of their one commit do."""
    beside = verdicts and not any(each.blocks.overlaps(blocks) for each in verdicts)
    return (
        f"in one commit with others, of which {describe_verdicts(verdicts)}" if beside else describe_verdicts(verdicts)
    )


def describe_other_outcomes(verdicts: Sequence[RuleVerdict], *, beside: str = "") -> list[str]:
    """What rules did to a run besides withholding, a phrase each: ``warned: pattern(email): 2 of 12 rows``.

    ``beside`` is where rows in quarantine are.
    """
    found = []
    for each in verdicts:
        if each.outcome in TOLD_BESIDES:
            where = f", in {beside}" if each.outcome == "quarantined" and beside else ""
            found.append(f"{each.outcome}: {each.text}{where}")
    return found


TOLD_BESIDES = ("warned", "dropped", "quarantined", "accepted")
"""What became of blocks that are published although a rule found something."""

WithheldRecords = tuple[WithheldPartitions, ...]


def withheld_after_run(
    before: WithheldRecords, blocks: PartitionSet, item: WithheldPartitions | None
) -> WithheldRecords:
    """What is withheld when a run of ``blocks`` is in: ``item`` of them, judged as its own definition does.

    Whatever held them before, without a cause since, judged the same data. Instances stand for themselves.
    """
    instances = tuple(each for each in before if each.apart)
    rest = tuple(each for each in before if not each.apart) if instances else before
    if item is None:
        return (*instances, *withheld_without(rest, blocks)) if rest else instances
    found = (
        replace(item, blocks=part, caused=item.caused & part, judges=judges)
        for judges, part in _partitions_by_judges(rest, item)
    )
    return (*instances, *_limit_records([*withheld_without(rest, blocks), *found]))


def _partitions_by_judges(
    before: WithheldRecords, item: WithheldPartitions
) -> Iterable[tuple[tuple[str, ...], PartitionSet]]:
    """The blocks of what is withheld, by all that judged the same data of them."""
    again = [(each, part) for each in before if (part := (each.blocks - each.caused) & item.blocks)]
    fresh = item.blocks - PartitionSet.union(part for _, part in again)
    merged: dict[tuple[str, ...], PartitionSet] = {item.judges: fresh} if fresh else {}
    for each, part in again:
        judges = _newest_judges(each.judges, item.judges)
        merged[judges] = merged.get(judges, NOTHING) | part
    return merged.items()


def withheld_after_instance(
    before: WithheldRecords, run: InstanceIdentity, item: WithheldPartitions | None
) -> WithheldRecords:
    """What is withheld when the run of an instance is in; ``item`` where it is withheld, be it once more.

    That of other instances stays. What is told of the whole asset was before each instance had a run of its own.
    """
    kept: list[WithheldPartitions] = []
    for each in before:
        if each.apart and not run.matches_record(each):
            kept.append(each)
        elif each.apart and item is not None:
            item = item if each.caused else replace(item, judges=_newest_judges(each.judges, item.judges))
    return tuple(kept) if item is None else (*kept, item)


@frozen
class InstanceIdentity:
    """By what the run of an instance is told from others of its asset.

    Attributes:
        interval: Its data interval, Unix seconds.
        events: Numbers of the events that it answers.
        again: The run that it does again; empty where it is told by the others.
    """

    interval: tuple[int, int] | None = None
    events: tuple[int, ...] = ()
    again: str = ""

    def matches_record(self, record: WithheldPartitions) -> bool:
        """Whether it is the instance of which the record tells; one with neither interval nor events is its own."""
        if self.again:
            return record.run == self.again
        return (self.interval, self.events) == (record.interval, record.events) != (None, ())


def accept_instance(before: WithheldRecords, run: str, said: str) -> WithheldRecords:
    """What is withheld when somebody accepts the instance that this run withheld."""
    return tuple(replace(each, said=said) if each.apart and each.run == run else each for each in before)


def withheld_without_interval(before: WithheldRecords, interval: tuple[int, int]) -> WithheldRecords:
    """What is withheld when somebody says what the instances of that interval are."""
    return tuple(each for each in before if not (each.apart and each.interval == interval))


def withheld_without(before: WithheldRecords, blocks: PartitionSet) -> WithheldRecords:
    """What is withheld still when ``blocks`` are not any more."""
    return tuple(left for each in before if (left := _record_outside(each, blocks)).blocks)


def add_causes(before: WithheldRecords, blocks: PartitionSet) -> WithheldRecords:
    """What is withheld when there is something new for ``blocks``."""
    return tuple(replace(each, caused=each.caused | (each.blocks & blocks)) for each in before)


def _record_outside(item: WithheldPartitions, blocks: PartitionSet) -> WithheldPartitions:
    if not item.blocks.overlaps(blocks):
        return item
    left = item.blocks - blocks
    verdicts = tuple(each.restrict_to(left) for each in item.verdicts if each.blocks.overlaps(left))
    return replace(item, blocks=left, caused=item.caused - blocks, verdicts=verdicts or item.verdicts)


def _newest_judges(judges: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*(each for each in judges if each not in more), *more]))[-MOST_JUDGES:]


def _limit_records(records: Sequence[WithheldPartitions]) -> WithheldRecords:
    """The newest as they are, the others as one: what judged all of them judged that."""
    if len(records) <= MOST_TOLD:
        return tuple(records)
    older, told = records[: 1 - MOST_TOLD], records[1 - MOST_TOLD :]
    newest = older[-1]
    merged = replace(
        newest,
        blocks=PartitionSet.union(each.blocks for each in older),
        caused=PartitionSet.union(each.caused for each in older),
        judges=tuple(each for each in newest.judges if all(each in other.judges for other in older)),
        verdicts=_merge_verdicts([verdict for each in older for verdict in each.verdicts]),
        interval=None,
    )
    return (merged, *told)


def _merge_verdicts(verdicts: Iterable[RuleVerdict]) -> tuple[RuleVerdict, ...]:
    """One verdict a rule, with the samples of the newest."""
    found: dict[str, RuleVerdict] = {}
    for each in verdicts:
        before = found.pop(each.name, None)
        if before is not None:
            blocks = each.blocks | before.blocks
            checked, failing = each.checked + before.checked, each.failing + before.failing
            tallies = limit_tallies([*before.tallies, *each.tallies])
            found[each.name] = replace(each, blocks=blocks, checked=checked, failing=failing, by_block=tallies)
        else:
            found[each.name] = each
    return tuple(found.values())
