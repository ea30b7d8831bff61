"""Announces events from a process of its own: ``python -m tests.runtime.adder STATE NAME COUNT``.

In commits of one to nine. Every event has an id, and every fifth commit is sent twice, as outside systems do.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime

from sparkassets.app.events import record_events
from sparkassets.core.journal.announcements import parse_announcement
from sparkassets.runtime.ledger import JournalLedger
from sparkassets.state.delta_store import DeltaStore
from tests.builders import asset, project, source

PROJECT = project(source("s"), asset("days", "s"), asset("all", by=None, schedule="s"))


class Clock:
    """This machine's time."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return 0.0


def main(state: str, name: str, count: str) -> None:
    store = DeltaStore(state)
    ledger = JournalLedger(store, project=PROJECT.name, driver=name, clock=Clock())
    ledger.open()
    first = batch = 0
    while first < int(count):
        batch += 1
        numbers = range(first, min(first + batch % 9 + 1, int(count)))
        events = [
            parse_announcement(PROJECT, "s", partition=f"2025-01-{n % 28 + 1:02}", extra={"n": n}, id=f"{name}-{n}")
            for n in numbers
        ]
        for _ in range(2 if batch % 5 == 0 else 1):
            record_events(ledger, store, events, before=lambda _: [])
        first = numbers.stop


if __name__ == "__main__":
    main(*sys.argv[1:])
