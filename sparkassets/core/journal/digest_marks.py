"""Digests of notifications in the journal: how far each was sent, so that one driver sends each of them."""

from __future__ import annotations

from typing import Literal

from sparkassets.frozen import frozen, replace

DigestStep = Literal["claimed", "sent", "refused"]


@frozen
class DigestEntry:
    """A driver sets out to send a digest, has sent it, or its receiver did not accept it.

    Attributes:
        digest: Identifies the rule with one of its receivers.
        tick: For when it is sent, Unix seconds.
        through: Sequence number of the newest entry that it covers.
    """

    digest: str
    tick: int
    through: int
    step: DigestStep


@frozen
class DigestMark:
    """How far a digest was sent.

    Attributes:
        tick: For when the newest was sent, Unix seconds.
        through: Sequence number up to which it covers the journal.
        claimed_at: When a driver last set out to send the next one, Unix seconds; 0 where none did.
        is_open: Whether that driver has not recorded what became of it.
    """

    tick: int = 0
    through: int = 0
    claimed_at: int = 0
    is_open: bool = False

    def after(self, entry: DigestEntry, at: int) -> DigestMark:
        """The mark after an entry that was recorded at an instant, Unix seconds."""
        match entry.step:
            case "claimed":
                return replace(self, claimed_at=at, is_open=True)
            case "sent":
                return DigestMark(entry.tick, entry.through)
        return replace(self, is_open=False)
