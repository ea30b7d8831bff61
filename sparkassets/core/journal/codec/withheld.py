"""What is withheld in a snapshot, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sparkassets.core.journal.codec.values import interval_from, pins_from, pins_to
from sparkassets.core.journal.withheld import Records, Withheld
from sparkassets.core.partitions.plain import parts_from, parts_to
from sparkassets.core.validations import verdicts_from, verdicts_to


def records_to(records: Iterable[Withheld]) -> list[dict[str, Any]]:
    """Records as plain values."""
    return [
        {
            "blocks": parts_to(each.blocks),
            "run": each.run,
            "token": each.token,
            "seq": each.seq,
            "at": each.at,
            "caused": parts_to(each.caused),
            "judges": list(each.judges),
            "verdicts": verdicts_to(each.verdicts),
            "interval": each.interval,
            "invocation": each.invocation,
            **({"pins": pins_to(each.pins)} if each.pins else {}),
            **({"events": list(each.events)} if each.events else {}),
            **({"apart": True} if each.apart else {}),
            **({"said": each.said} if each.said else {}),
            **({"skipped": each.skipped} if each.skipped else {}),
        }
        for each in records
    ]


def records_from(plain: Iterable[Mapping[str, Any]]) -> Records:
    """The records of `records_to`."""
    return tuple(
        Withheld(
            blocks=parts_from(each["blocks"]),
            run=each["run"],
            token=each["token"],
            seq=each["seq"],
            at=each["at"],
            caused=parts_from(each["caused"]),
            judges=tuple(each["judges"]),
            verdicts=verdicts_from(each["verdicts"]),
            interval=interval_from(each["interval"]),
            invocation=each["invocation"],
            pins=pins_from(each.get("pins", {})),
            events=tuple(each.get("events", ())),
            apart=each.get("apart", False),
            said=each.get("said", ""),
            skipped=each.get("skipped", ""),
        )
        for each in plain
    )
