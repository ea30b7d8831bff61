"""What a person's mark says of an asset without partitions, whose runs nobody can look for any more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sparkassets.core.journal.marks import MarkEntry
from sparkassets.core.journal.recovery_questions import RecoveryQuestion
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.phrases import listing
from sparkassets.core.runs import RunRequest, TablePosition
from sparkassets.core.spec.model import AssetSpec, ReadAfter, ReadChanges
from sparkassets.core.strategies import EveryInstance
from sparkassets.errors import InputError


def answer_with_mark(asset: AssetSpec, state: AssetState, said: MarkEntry) -> MarkEntry:
    """The mark of an asset one of whose runs cannot be looked for.

    ``done`` uses up what that run was claimed with, and no more: what came since is due. Where it may be one of
    several, the oldest one's, so that nothing is lost. ``missing`` uses up nothing: what the run was for is due still,
    and so an asset that only adds, or has a run for each instance, is not to be run for anything else.

    Raises:
        InputError: How far the run had come is not known any more, and the asset would append from there.
    """
    if said.kind != "done":
        return replace(said, only_answers=_only_adds(asset) or isinstance(asset.strategy, EveryInstance))
    question, request = _oldest_question(state)
    said = replace(said, came=EVERYTHING)
    if request.kind == "backfill" or not request.blocks.is_everything:
        return replace(said, watermarks=_read_watermarks(asset, request, question)) if _only_adds(asset) else said
    return replace(
        said,
        consumption=request.consumption,
        events=tuple(request.events),
        cursor=request.cursor,
        watermarks=_read_watermarks(asset, request, question),
    )


def _oldest_question(state: AssetState) -> tuple[RecoveryQuestion, RunRequest]:
    """What is asked, and what the oldest of the runs in question was for."""
    (question, *_) = (link.asks for link in state.asking_claims if link.asks is not None)
    (request, *_) = (link.entry.request for link in state.chain if link.entry.run == question.runs[0])
    return question, request


def _read_watermarks(asset: AssetSpec, request: RunRequest, question: RecoveryQuestion) -> Mapping[str, str]:
    """How far the run had read what it reads the changes of."""
    found: dict[str, str] = {}
    for inlet in asset.inlets.values():
        pin = request.pins.get(inlet.name)
        if inlet.read is None or pin is None:
            continue
        if inlet.name in question.watermarks:
            found[inlet.name] = question.watermarks[inlet.name]
        elif isinstance(inlet.read, ReadChanges) and pin.table_id is not None and pin.version is not None:
            found[inlet.name] = str(TablePosition(pin.table_id, pin.version))
        elif isinstance(inlet.read, ReadAfter) and _only_adds(asset):
            raise InputError(
                f"how far {listing(question.runs)} had read {inlet.name} is not known any more, so the next run of "
                f"{asset.name} would append its rows once more",
                hint=f"delete its rows from the table, then `sparkassets mark {asset.name} --missing --reason …`",
            )
    return found


def _only_adds(asset: AssetSpec) -> bool:
    return asset.write is not None and not asset.write.recomputable
