"""Makes journal entries of a person's marks, or says why a mark is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkassets.core.events import check_clear_text
from sparkassets.core.journal.marks import MarkEntry, MarkKind
from sparkassets.core.journal.recovery_questions import RecoveryQuestion
from sparkassets.core.journal.state import AssetState
from sparkassets.core.journal.withheld_records import WithheldPartitions
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.phrases import listing
from sparkassets.core.planner.due.condition_causes import consume_everything, find_causes
from sparkassets.core.planner.due.due_ticks import find_due_ticks
from sparkassets.core.planner.due.instance_marks import mark_instance
from sparkassets.core.planner.due.outdated_code import outputs_of_other_code
from sparkassets.core.planner.due.pending_partitions import find_pending, resolve_partitions
from sparkassets.core.planner.due.withheld_partitions import WithheldStatus, accept_command, find_withheld
from sparkassets.core.planner.gates.incremental_reads import current_watermarks
from sparkassets.core.planner.gates.table_losses import loss_advice
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import PlanningContext, partitions_in_bounds
from sparkassets.core.planner.wording import label_partitions, name_partitions
from sparkassets.core.runs import RunConsumption, RunRequest, TablePosition
from sparkassets.core.spec.model import AssetSpec, ReadAfter, ReadChanges
from sparkassets.core.strategies import EveryInstance
from sparkassets.errors import InputError
from sparkassets.frozen import frozen, replace


def answer_with_mark(asset: AssetSpec, state: AssetState, mark: MarkEntry) -> MarkEntry:
    """The mark that answers what became of a run that an asset without partitions can no longer look for.

    ``done`` uses up what the run was claimed with, and no more, so that later events stay due. Of several possible runs
    it takes the oldest one's, so that nothing is lost. ``missing`` uses up nothing, so what the run was for stays due;
    an asset that appends, or has a run for each instance, is then not run for anything else.

    Raises:
        InputError: How far the run had read is no longer known, and the asset would append from there.
    """
    if mark.kind != "done":
        return replace(mark, only_answers=asset.appends or isinstance(asset.strategy, EveryInstance))
    question, request = _oldest_question(state)
    mark = replace(mark, made_present=EVERYTHING)
    if request.kind == "backfill" or not request.partitions.is_everything:
        return replace(mark, watermarks=_read_watermarks(asset, request, question)) if asset.appends else mark
    return replace(
        mark,
        consumption=request.consumption,
        events=tuple(request.events),
        cursor=request.cursor,
        watermarks=_read_watermarks(asset, request, question),
    )


def _oldest_question(state: AssetState) -> tuple[RecoveryQuestion, RunRequest]:
    """The question about the lost runs, and the request of the oldest of these runs; a claim must ask a question."""
    (question, *_) = (link.question for link in state.asking_claims if link.question is not None)
    (request, *_) = (link.entry.request for link in state.chain if link.entry.run == question.runs[0])
    return question, request


def _read_watermarks(asset: AssetSpec, request: RunRequest, question: RecoveryQuestion) -> Mapping[str, str]:
    """By inlet name, how far the lost run had read each incrementally read inlet.

    Raises:
        InputError: The position is no longer known, and the asset would append rows once more.
    """
    watermarks: dict[str, str] = {}
    for inlet in asset.inlets.values():
        pin = request.pins.get(inlet.name)
        if inlet.read is None or pin is None:
            continue
        if inlet.name in question.watermarks:
            watermarks[inlet.name] = question.watermarks[inlet.name]
        elif isinstance(inlet.read, ReadChanges) and pin.table_id is not None and pin.version is not None:
            watermarks[inlet.name] = str(TablePosition(pin.table_id, pin.version))
        elif isinstance(inlet.read, ReadAfter) and asset.appends:
            raise InputError(
                f"the position up to which {listing(question.runs)} read {inlet.name} is lost: the next run of "
                f"{asset.name} would append the same rows again",
                hint=(
                    f"delete the rows of that run from the table, then `sparkassets mark {asset.name} --missing "
                    "--reason …`"
                ),
            )
    return watermarks


REASON_CHARACTERS = 1000
"""Most characters of a mark's reason."""


@frozen
class MarkRequest:
    """A person's statement about partitions of an asset, as it is requested.

    Attributes:
        asset: The asset of the partitions.
        partitions: Everything for an asset without partitions.
        kind: What is stated: done, missing, skip or accept.
        reason: Why, in the person's words.
        by: Name of the person.
        interval: Data interval of the instance or withheld run that is meant, Unix seconds; for an asset without
            partitions. If both ends are equal, the instance that starts there.
        run: The withheld run that is meant; for an asset without partitions.
    """

    asset: AssetSpec
    partitions: PartitionSet
    kind: MarkKind
    reason: str
    by: str
    interval: tuple[int, int] | None = None
    run: str = ""

    @property
    def accepts_all(self) -> bool:
        """Whether it accepts all withheld partitions of the asset, whichever these are."""
        return self.kind == "accept" and self.partitions.is_everything and self.asset.partitioning.is_partitioned


def check_reason(text: str) -> str:
    """Returns the reason of a mark without surrounding space.

    Raises:
        InputError: It is empty or too long, cannot be written, or holds a credential.
    """
    stored = "marks are stored as clear text"
    return check_clear_text("reason", text.strip(), most=REASON_CHARACTERS, stored=stored)


def build_mark_entries(context: PlanningContext, marking: MarkRequest) -> list[MarkEntry]:
    """The entries that record a mark; empty where it changes nothing.

    A multi-asset's mark is recorded for each outlet too, as their consumers follow the outlets.

    Raises:
        InputError: The mark is refused, see `mark_asset` and `accept_withheld`.
    """
    entry = (accept_withheld if marking.kind == "accept" else mark_asset)(context, marking)
    if entry is None or entry.kind == "accept" or entry.only_answers or not marking.asset.outlets:
        return [] if entry is None else [entry]
    return [
        *(_build_outlet_entry(context, name, entry) for name in marking.asset.outlets),
        replace(entry, made_present=NOTHING),
    ]


def _build_outlet_entry(context: PlanningContext, name: str, writer_entry: MarkEntry) -> MarkEntry:
    """The entry of a mark for an outlet; the multi-asset's own entry uses up what was due.

    ``done`` makes present what the multi-asset's mark does, and what this outlet's own table lacks.
    """
    arrived, coverage = writer_entry.made_present, context.state_of(context.asset(name)).coverage
    if writer_entry.kind == "done" and not writer_entry.partitions.is_everything:
        arrived = writer_entry.made_present | (writer_entry.partitions - coverage)
    entry = MarkEntry(
        name,
        context.asset(name).uri,
        writer_entry.kind,
        writer_entry.partitions,
        writer_entry.reason,
        writer_entry.by,
        arrived,
    )
    return replace(entry, instance=writer_entry.instance)


def mark_asset(context: PlanningContext, marking: MarkRequest) -> MarkEntry | None:
    """The entry that marks the requested partitions, without those already marked so; None where none is left.

    Raises:
        InputError: Some partitions run, lie outside the asset's bounds, or cannot be done or missing.
    """
    asset, state = marking.asset, context.state_of(marking.asset)
    if state.stuck_loss is not None and not state.asking_claims:
        raise InputError(f"{asset.name}: {loss_advice(asset, state.stuck_loss)}")
    if not asset.partitioning.is_partitioned:
        return _mark_whole_asset(context, marking, state)
    partitions = resolve_partitions(context, asset, state, marking.partitions)
    questioned = partitions & _questioned_partitions(state)
    if (
        marking.kind == "missing"
        and asset.appends
        and (present := (partitions - questioned) | (partitions & state.coverage))
    ):
        raise _cannot_be_missing(asset, present)
    _refuse_running(context, asset, state, partitions)
    if outside := partitions - partitions_in_bounds(asset) - questioned:
        raise InputError(
            f"{name_partitions(asset.name, outside, asset.partitioning)} is outside the asset's start and end"
        )
    changed = _newly_marked(context, marking, state, partitions) | questioned
    if not changed:
        return None
    # what `done` makes present: all but what is present and did not fail since
    arrived = changed - (state.coverage - state.failed_partitions) if marking.kind == "done" else NOTHING
    return MarkEntry(asset.name, asset.uri, marking.kind, changed, marking.reason, marking.by, arrived)


def _questioned_partitions(state: AssetState) -> PartitionSet:
    """Partitions of lost runs whose outcome nobody can look up, so that a person has to state it."""
    return PartitionSet.union(link.question.partitions for link in state.asking_claims if link.question is not None)


def _cannot_be_missing(asset: AssetSpec, partitions: PartitionSet) -> InputError:
    """The refusal to mark ``partitions`` of an asset that appends as missing."""
    labels = label_partitions(partitions, asset.partitioning)
    message = f"asset {asset.name!r} appends: its rows cannot be recomputed"
    return InputError(f"{message}: {labels}" if labels else message)


def accept_withheld(context: PlanningContext, marking: MarkRequest) -> MarkEntry | None:
    """The entry that has withheld partitions published; None where all of them are accepted already.

    Raises:
        InputError: Some of the partitions are not withheld, or they run.
    """
    asset, state = marking.asset, context.state_of(marking.asset)
    withheld = find_withheld(context, asset, state)
    if state.asking_claims:
        raise InputError(
            f"{asset.name}: first state the outcome of {state.asking_claims[0].entry.run}",
            hint=f"`sparkassets explain {asset.name}` shows the commands",
        )
    accept = _accept_partitions if asset.partitioning.is_partitioned else _accept_run
    return accept(context, marking, state, withheld)


def _accept_partitions(
    context: PlanningContext, marking: MarkRequest, state: AssetState, withheld: WithheldStatus
) -> MarkEntry | None:
    """The acceptance of withheld partitions, with everything meaning all of them; None where all are accepted already.

    Raises:
        InputError: Some of the named partitions are not withheld or run, or none of the asset is withheld.
    """
    asset = marking.asset
    if not marking.partitions.is_everything:
        _refuse_running(context, asset, state, marking.partitions)
    partitions = (
        marking.partitions
        if marking.partitions.is_everything
        else resolve_partitions(context, asset, state, marking.partitions)
    )
    acceptable = withheld.withheld_partitions | withheld.accepted
    not_withheld = NOTHING if partitions.is_everything else partitions - acceptable
    if not_withheld or not acceptable:
        hint = "`sparkassets status` lists withheld runs and partitions"
        if withheld.retried_partitions.overlaps(not_withheld or EVERYTHING):
            hint = "it is due, and will be recomputed and validated anyway"
        raise InputError(f"{name_partitions(asset.name, not_withheld, asset.partitioning)} is not withheld", hint=hint)
    resting = partitions & withheld.withheld_partitions
    return MarkEntry(asset.name, asset.uri, "accept", resting, marking.reason, marking.by) if resting else None


def _accept_run(
    context: PlanningContext, marking: MarkRequest, state: AssetState, withheld: WithheldStatus
) -> MarkEntry | None:
    """The acceptance of a withheld run of an asset without partitions: the named one, or the only one.

    None where it is accepted already. Refused where several withheld runs, or none, fit what is named.
    """
    asset = marking.asset
    _refuse_unsettled(context, state)
    resting = [each for each, _ in withheld.records if _is_named(marking, each)]
    if len(resting) > 1:
        raise InputError(
            f"{len(resting)} runs of {_name_marked(context, marking)} are withheld: name one of them",
            hint=_accept_commands(context, state, resting),
        )
    if not resting:
        _refuse_unheld(context, marking, state, withheld)
        return None
    entry = MarkEntry(asset.name, asset.uri, "accept", EVERYTHING, marking.reason, marking.by)
    return replace(entry, run=resting[0].run if resting[0].is_instance else "")


def _refuse_unheld(context: PlanningContext, marking: MarkRequest, state: AssetState, withheld: WithheldStatus) -> None:
    """Refuses an acceptance that fits no withheld run; returns if such a run is accepted already."""
    standings = {standing for each, standing in withheld.tried if _is_named(marking, each)}
    if "accepted" in standings:
        return
    commands = _accept_commands(context, state, [each for each, _ in withheld.records])
    hint = "it is due, and will be recomputed and validated anyway" if standings else commands
    raise InputError(f"{_name_marked(context, marking)} is not withheld", hint=hint)


def _is_named(marking: MarkRequest, record: WithheldPartitions) -> bool:
    """Whether the withheld run has the interval and the run that the person named; True where they named neither."""
    return (marking.interval is None or record.interval == marking.interval) and marking.run in ("", record.run)


def _name_marked(context: PlanningContext, marking: MarkRequest) -> str:
    """The asset, and the interval and the run that a person named, for a sentence."""
    interval = "..".join(map(context.format_instant, marking.interval)) if marking.interval is not None else ""
    return " ".join(filter(None, [marking.asset.name, interval, marking.run]))


MOST_NAMED = 10
"""Commands that a refusal lists."""


def _accept_commands(context: PlanningContext, state: AssetState, records: Sequence[WithheldPartitions]) -> str:
    """The commands that accept each of ``records``, for a hint; the first `MOST_NAMED` of them."""
    if not records:
        return "`sparkassets status` lists withheld runs and partitions"
    commands = [f"`{accept_command(context, state, each)}`" for each in records[:MOST_NAMED]]
    more = len(records) - len(commands)
    return "; ".join([*commands, *([f"and {more} more, see `sparkassets status`"] if more else [])])


def _refuse_running(context: PlanningContext, asset: AssetSpec, state: AssetState, partitions: PartitionSet) -> None:
    """Refuses a mark of partitions that live runs compute, or unfinished ones in the same slot."""
    for link in (each for newest in context.live_claims(state) for each in state.chains[newest.run_slot]):
        if being_computed := partitions & asset.partitioning.cover(link.entry.partitions):
            since = context.format_instant(link.at)
            raise InputError(
                f"{name_partitions(asset.name, being_computed, asset.partitioning)} is running: "
                f"{link.entry.run} since {since}",
                hint="wait until the run has ended",
            )


def _newly_marked(
    context: PlanningContext, marking: MarkRequest, state: AssetState, partitions: PartitionSet
) -> PartitionSet:
    """The part of ``partitions`` for which the mark is news.

    For ``done`` these are all that are not current, and those that other writers, other code or removed inputs touched:
    the mark then says that they are right as they are.

    Raises:
        InputError: ``done`` is said of partitions whose interval is not over.
    """
    asset, inside = marking.asset, marking.asset.partitioning.inside
    if marking.kind == "skip":
        return partitions - state.skipped_partitions
    present, failed = inside(state.coverage), state.failed_partitions
    if marking.kind == "missing":
        return partitions & (
            present | failed | state.skipped_partitions | find_pending(context, asset, state).withheld.resting
        )
    if unfinished := partitions - context.finished_partitions(asset.partitioning):
        raise InputError(
            f"{label_partitions(unfinished, asset.partitioning)} of {asset.name!r} cannot be done: its "
            "interval is not over"
        )
    touched = [each.partitions for each in state.foreign_commits] + [
        each.partitions for each in outputs_of_other_code(asset, state)
    ]
    touched += [each.stamped_partitions() for each in state.kept.values()]
    pending = find_pending(context, asset, state)
    current = (
        present
        - pending.all_stale
        - pending.withheld.resting
        - failed
        - state.skipped_partitions
        - PartitionSet.union(touched)
    )
    return partitions - current


def _mark_whole_asset(context: PlanningContext, marking: MarkRequest, state: AssetState) -> MarkEntry | None:
    """The mark of an asset without partitions; None where it is no news.

    It uses up what is due, unless the asset is to run again.
    """
    asset, name, kind = marking.asset, marking.asset.name, marking.kind
    _refuse_unsettled(context, state)
    plain = MarkEntry(name, asset.uri, kind, EVERYTHING, marking.reason, marking.by)
    if marking.interval is not None:
        entry = mark_instance(context, asset, state, marking.interval, plain)
        return None if entry.instance is None else entry
    if state.asking_claims and kind != "skip":
        return answer_with_mark(asset, state, plain)
    if kind == "missing":
        _refuse_missing(asset)
        return None if _is_missing_already(state) else plain
    return _mark_current_causes(context, marking, state, plain)


def _mark_current_causes(
    context: PlanningContext, marking: MarkRequest, state: AssetState, plain: MarkEntry
) -> MarkEntry | None:
    """The mark with the events and ticks that are due now, which it uses up; None where there is nothing to skip."""
    asset, kind = marking.asset, marking.kind
    due_consumption = _due_consumption(context, asset, state)
    if (
        due_consumption is None
        and kind == "skip"
        and not (state.failed or state.redo_partitions or state.withheld or state.asking_claims)
    ):
        return None
    consumption, events, cursor = due_consumption or (RunConsumption(), (), None)
    arrived = EVERYTHING if kind == "done" else NOTHING
    watermarks = current_watermarks(context, asset)
    return replace(
        plain, made_present=arrived, consumption=consumption, events=events, cursor=cursor, watermarks=watermarks
    )


def _is_missing_already(state: AssetState) -> bool:
    """Whether an asset without partitions is missing already: never computed or marked, or marked to run again."""
    return bool(state.redo_partitions) or not (state.last or state.failed or state.marks or state.withheld)


def _refuse_unsettled(context: PlanningContext, state: AssetState) -> None:
    """Refuses a mark while a run lives, or while an unfinished one is not settled."""
    if any(chain[-1].question is None for chain in state.chains.values()):
        newest, live = state.chain[-1], bool(context.live_claims(state))
        state_text = f"is running since {context.format_instant(newest.at)}" if live else "never ended"
        hint = "wait until the run has ended" if live else "`sparkassets run` finds out and records its outcome"
        raise InputError(f"{state.name} cannot be marked: {newest.entry.run} {state_text}", hint=hint)


def _refuse_missing(asset: AssetSpec) -> None:
    """Refuses to mark an asset without partitions as missing if it appends or has a run for each instance."""
    if asset.appends:
        raise _cannot_be_missing(asset, EVERYTHING)
    if isinstance(asset.strategy, EveryInstance):
        raise InputError(
            f"asset {asset.name!r} runs once for each instance and cannot be missing as a whole",
            hint=f"`sparkassets backfill {asset.name} --interval A..B` recomputes one",
        )


_DueConsumption = tuple[RunConsumption, tuple[int, ...], tuple[int, int] | None]
"""What a run would use up: its consumption, the numbers of its events, and the timetable's interval, if any."""


def _due_consumption(context: PlanningContext, asset: AssetSpec, state: AssetState) -> _DueConsumption | None:
    """What a run would use up now: its consumption, the numbers of its events, and the timetable's interval.

    None where nothing is due, or the asset runs by hand.
    """
    if asset.schedule.timetable is not None:
        ticks = find_due_ticks(context, asset, asset.schedule.timetable, state)
        if isinstance(ticks, Waiting):
            return None
        return consume_everything(context, state), (), ticks[-1].cursor
    if asset.schedule.condition is None:
        return None
    causes = find_causes(context, asset.schedule.condition, state)
    if not causes.holds:
        return None
    return causes.uses.consumption, tuple(ref.seq for ref in causes.events), None
