"""Folds what people were notified of, silences, and digests."""

from __future__ import annotations

from sparkassets.core.instants import to_unix
from sparkassets.core.journal.asset_records import AssetSilence
from sparkassets.core.journal.digest_marks import DigestEntry, DigestMark
from sparkassets.core.journal.entries import NumberedEntry
from sparkassets.core.journal.fold.workspace import FoldWorkspace
from sparkassets.core.journal.notified import LateEntry, PersonWaitEntry, SilenceEntry
from sparkassets.frozen import replace


def fold_lateness(work: FoldWorkspace, entry: LateEntry, _: NumberedEntry) -> None:
    """Records the deadline that people were notified of, or that the asset is no longer late."""
    work.assets[entry.asset] = replace(work.assets[entry.asset], late=0 if entry.over else entry.by)


def fold_person_wait(work: FoldWorkspace, entry: PersonWaitEntry, _: NumberedEntry) -> None:
    """Records the reason of which people were notified, or that the asset no longer waits for a person."""
    work.assets[entry.asset] = replace(work.assets[entry.asset], person_wait=entry.reason)


def fold_silence(work: FoldWorkspace, entry: SilenceEntry, numbered: NumberedEntry) -> None:
    """Records until when nobody is notified; a change while a silence lasts keeps its beginning."""
    asset, now = work.assets[entry.asset], to_unix(numbered.at)
    known = asset.silence
    since = known.since if known is not None and known.covers(now) else now
    silence = AssetSilence(since, entry.until, entry.reason, entry.by)
    work.assets[entry.asset] = replace(asset, silence=silence)


def fold_digest(work: FoldWorkspace, entry: DigestEntry, numbered: NumberedEntry) -> None:
    """Records how far a digest was sent."""
    mark = work.digests.get(entry.digest, DigestMark())
    work.digests[entry.digest] = mark.after(entry, to_unix(numbered.at))
