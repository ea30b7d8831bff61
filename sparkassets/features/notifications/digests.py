"""Digests: one message a period for a receiver, with what went wrong since the one before and what still is.

A driver claims a digest in the journal before it sends it, and records afterwards that it is sent. So no two drivers
send the same, and none is lost with a killed driver: another sends it once the claim is old, and says that it may have
come before.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Final

from sparkassets.core.definitions.definition import digest as text_digest
from sparkassets.core.instants import format_zoned, from_unix, to_unix
from sparkassets.core.journal.digest_marks import DigestEntry, DigestMark, DigestStep
from sparkassets.core.journal.entries import FailureEntry, NumberedEntry
from sparkassets.core.journal.notified import LateEntry, PersonWaitEntry
from sparkassets.core.journal.state import AssetState, State
from sparkassets.core.planner.wording import label_partitions, plural
from sparkassets.core.spec.asset_services import NotifyRule
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.features.notifications.delivery import MessageDelivery
from sparkassets.features.notifications.notices import (
    AssetNotice,
    build_message,
    find_troubles,
    make_lateness_notice,
    make_wait_notice,
    text_without_numbers,
)
from sparkassets.frozen import frozen, replace

if TYPE_CHECKING:
    from sparkassets.ports import Clock
    from sparkassets.runtime.ledger import JournalLedger

LEASE_SECONDS: Final = 300
"""How long a driver that claimed a digest is left alone; it sends it in seconds."""
_KINDS: Final = ("failure", "unfenced", "late", "wait")
"""The kinds of entries that a digest reports."""
_AGAIN: Final = "A driver ended while it sent this digest, so you may have received it before."


@frozen
class ReceiverDigest:
    """The digest of one receiver of a rule.

    Attributes:
        name: Identifies it in the journal.
        rule: The rule with this receiver alone.
        assets: The assets that the rule is for.
    """

    name: str
    rule: NotifyRule
    assets: tuple[AssetSpec, ...]


def find_digests(project: ProjectSpec) -> list[ReceiverDigest]:
    """The digests of a project's rules, one for each receiver."""
    assets_by_rule: list[tuple[NotifyRule, list[AssetSpec]]] = []
    for asset in project.assets.values():
        for rule in asset.notify if not asset.written_by else ():
            if rule.digest is not None:
                _assets_of(rule, assets_by_rule).append(asset)
    return [
        ReceiverDigest(f"{receiver} {_digest_of(rule)}", alone, tuple(assets))
        for rule, assets in assets_by_rule
        for receiver, alone in rule.by_receiver()
    ]


def _digest_of(rule: NotifyRule) -> str:
    """A short digest of what a rule says, the same on every host."""
    times = rule.digest.text if rule.digest is not None else ""
    return text_digest("\n".join([*rule.on, rule.title, rule.template, times]))[:12]


def _assets_of(rule: NotifyRule, collected: list[tuple[NotifyRule, list[AssetSpec]]]) -> list[AssetSpec]:
    """The assets collected for a rule so far; rules are few, and cannot be keys of a map."""
    for other, assets in collected:
        if other == rule:
            return assets
    collected.append((rule, []))
    return collected[-1][1]


@frozen
class DigestSender:
    """Sends the digests that are due, at the end of an invocation.

    Attributes:
        environment: Holds the receivers' URLs, by the names that rules have.
    """

    project: ProjectSpec
    environment: Mapping[str, str]
    clock: Clock

    def send_due(self, ledger: JournalLedger) -> None:
        """Sends each digest whose tick has passed and that no other driver is sending."""
        for each in find_digests(self.project):
            self._send_if_due(each, ledger)

    def _send_if_due(self, each: ReceiverDigest, ledger: JournalLedger) -> None:
        """Claims a digest whose tick has passed, sends it, and records it as sent or refused.

        The claim is decided on the newest state: a driver that lost the race records nothing and sends nothing.
        """
        now = to_unix(self.clock.now())
        slot = each.rule.digest.last_at(from_unix(now)) if each.rule.digest is not None else None
        if slot is None:
            return
        tick, before = to_unix(slot.run_after), DigestMark()

        def claim(state: State) -> Sequence[DigestEntry]:
            nonlocal before
            before = state.digests.get(each.name, DigestMark())
            if each.name not in state.digests:  # the first period begins now
                return [DigestEntry(each.name, tick, state.seq, "sent")]
            if tick <= before.tick or now < before.claimed_at + LEASE_SECONDS:
                return []
            return [DigestEntry(each.name, tick, state.seq, "claimed")]

        for numbered in ledger.commit(claim):
            if isinstance(entry := numbered.entry, DigestEntry) and entry.step == "claimed":
                step: DigestStep = "sent" if self._send(each, before, ledger) else "refused"
                self._record(replace(entry, step=step), ledger, claimed_at=to_unix(numbered.at))

    def _record(self, entry: DigestEntry, ledger: JournalLedger, *, claimed_at: int) -> None:
        """Records what became of a digest, unless another driver has taken it over: then its claim is a later one."""
        ledger.commit(lambda state: [entry] if state.digests[entry.digest].claimed_at == claimed_at else [])

    def _send(self, each: ReceiverDigest, before: DigestMark, ledger: JournalLedger) -> bool:
        """Sends the digest, if there is anything to report; returns False only if no receiver accepted it."""
        entries = ledger.entries_after(before.through, _KINDS)
        found = (_find_notices(asset, ledger.state, entries, self._now) for asset in each.assets)
        notices = [notice for notice in chain.from_iterable(found) if notice.kind in each.rule.on]
        if not notices:
            return True
        message = build_message(each.rule, tuple(notices), self.project)
        since = f"Since {format_zoned(from_unix(before.tick), self.project.timezone)}:"
        text = "\n".join([*([_AGAIN] if before.is_open else []), since, message.text])
        delivery = MessageDelivery(self.environment, self.project)
        delivery.send(each.rule, replace(message, text=text))
        faults = [answer.fault for answer in delivery.wait()]
        for fault in filter(None, dict.fromkeys(faults)):
            with suppress(Warning):  # where warnings are errors
                warnings.warn(f"the digest for {each.name.split()[0]}: {fault}", RuntimeWarning, stacklevel=2)
        return not all(faults)

    @property
    def _now(self) -> int:
        return to_unix(self.clock.now())


def _find_notices(asset: AssetSpec, state: State, entries: Sequence[NumberedEntry], now: int) -> Iterator[AssetNotice]:
    """What is wrong with an asset, how often it failed of it in these entries, and what is no longer wrong."""
    known = state.assets.get(asset.name)
    if known is None or known.is_silenced(now):
        return
    own = [each.entry for each in entries if getattr(each.entry, "asset", None) == asset.name]
    yield from _failure_notices(asset, known, [each for each in own if isinstance(each, FailureEntry)])
    yield from _lateness_notices(asset, known, [each for each in own if isinstance(each, LateEntry)])
    if waits := [each for each in own if isinstance(each, PersonWaitEntry)]:
        yield make_wait_notice(asset, waits[-1])
    elif known.person_wait:
        yield make_wait_notice(asset, PersonWaitEntry(asset.name, known.person_wait))


def _failure_notices(asset: AssetSpec, known: AssetState, failures: Sequence[FailureEntry]) -> Iterator[AssetNotice]:
    """Yields what is wrong with an asset, with how often it failed of it, and which failures are over.

    Failures are counted by their text without numbers, as ports, times and counts differ each time.
    """
    counts = Counter(text_without_numbers(each.error) for each in failures)
    hints = {each.run: each.hint for each in failures}
    for trouble in find_troubles(known):
        count = counts.pop(text_without_numbers(trouble.text), 0)
        text = f"{trouble.text} ({plural(count, 'time')})" if count > 1 else trouble.text
        label = label_partitions(trouble.partitions, asset.partitioning)
        yield AssetNotice(trouble.kind, asset.name, label, text, hints.get(trouble.run, ""), trouble.run, asset.owner)
    for error, count in counts.items():
        failure = next(each for each in failures if text_without_numbers(each.error) == error)
        text = f"failed {plural(count, 'time')}, and no longer does: {failure.error}"
        yield AssetNotice("recovery", asset.name, text=text, owner=asset.owner)


def _lateness_notices(asset: AssetSpec, known: AssetState, entries: Sequence[LateEntry]) -> Iterator[AssetNotice]:
    """That an asset is late, or was; an asset that was late before these entries still is."""
    if entries:
        yield make_lateness_notice(asset, entries[-1])
    elif known.late:
        yield make_lateness_notice(asset, LateEntry(asset.name, known.late))
