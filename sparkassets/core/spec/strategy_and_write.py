"""Compiles the keys `strategy` and `write`, and checks an upsert against its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from sparkassets.core.entry_points import Factory, RegisteredError
from sparkassets.core.instants import Duration
from sparkassets.core.query_text import MOST_NESTED, find_excess_nesting
from sparkassets.core.spec.bodies import AssetBody
from sparkassets.core.spec.drafts import AssetDraft, ProjectDraft
from sparkassets.core.spec.model import InletSpec, ReadAfter, ReadChanges, Schedule, UnchangedPolicy
from sparkassets.core.spec.schedule_models import SegmentStrategyMap, StrategyMap
from sparkassets.core.spec.time_dimension import is_timed
from sparkassets.core.spec.value_kinds import one_or_more
from sparkassets.core.spec.write_models import HistoryMap, RegisteredWriteMap, UpsertMap, WriteMap
from sparkassets.core.spec.yaml_document import DocumentPlace
from sparkassets.core.strategies import DateRange, EveryInstance, FullRefresh, LatestOnly, SegmentBatches, Strategy
from sparkassets.core.suggestions import KnownColumns, did_you_mean, suggest_close
from sparkassets.core.writes import (
    ONE_WORD_WRITES,
    HistoryColumns,
    PublishWrite,
    ReplaceWrite,
    UpsertWrite,
    WriteMode,
    build_registered_write,
    is_unstored_column,
)


def compile_write(draft: AssetDraft, installed: Mapping[str, Factory]) -> WriteMode:
    """The write mode that `write` gives, `ReplaceWrite` without one; wrong options become problems of the draft.

    Args:
        draft: The asset.
        installed: Modes that packages registered, by name.
    """
    written, at = draft.keys.write, draft.at / "write"
    if isinstance(written, WriteMap):
        return _compile_write_map(draft, written, at)
    if isinstance(written, RegisteredWriteMap):
        try:
            return build_registered_write(written.mode, dict(written.model_extra or {}), installed=installed)
        except RegisteredError as error:
            at.add_refusal(error, name="mode")
            return ReplaceWrite()
    return ONE_WORD_WRITES[written or ReplaceWrite.name]


def _compile_write_map(draft: AssetDraft, written: WriteMap, at: DocumentPlace) -> WriteMode:
    """The mode of a map, `ReplaceWrite` where it names none; both at once are a problem, and the upsert holds."""
    if written.upsert is not None and written.publish is not None:
        at.add_problem("'upsert' and 'publish' exclude each other")
    if written.upsert is not None:
        return _compile_upsert(draft, written.upsert, at / "upsert")
    if written.publish is not None:
        return PublishWrite(written.publish.keep)
    if draft.are_reliable("write"):
        expected = "{upsert: {keys: [<column>]}} or {publish: {keep: 10}}"
        at.add_problem(f"'write' names no write mode; expected {expected}")
    return ReplaceWrite()


def _compile_upsert(draft: AssetDraft, options: UpsertMap, at: DocumentPlace) -> UpsertWrite:
    """The upsert of the options that stand at ``at``; what does not fit the asset becomes problems of the draft."""
    newest_by = one_or_more(options.newest_by)
    _check_column_list(draft, options.keys, at / "keys", are_stored=True)
    _check_column_list(draft, newest_by, at / "newest_by", are_stored=False)
    condition = options.delete_when
    if condition is not None and not condition.strip():
        (at / "delete_when").add_problem("'delete_when' is empty; expected a condition such as \"op = 'd'\"")
    elif condition is not None and find_excess_nesting(condition) is not None:
        (at / "delete_when").add_problem(f"'delete_when' nests more than {MOST_NESTED:,} brackets")
    retention = _compile_delete_retention(options, at / "keep_deletes")
    for dimension in draft.partitioning.columns:
        if is_unstored_column(dimension):
            message = f"an upsert does not store columns that begin with '_', such as the partition's {dimension!r}"
            (draft.at / "partition").add_problem(message, hint="rename the column")
    history = None if options.history is None else _compile_history(draft, options.history, options, at / "history")
    place = (at / "delete_when").location
    return UpsertWrite(tuple(options.keys), newest_by, options.delete_when, retention, history, place)


def _check_column_list(draft: AssetDraft, names: Sequence[str], at: DocumentPlace, *, are_stored: bool) -> None:
    """Refuses an empty list, a column listed twice or not declared, and a ``_`` column where they ``are_stored``.

    Columns whose names begin with ``_`` are not stored in the table.
    """
    if not names and at.exists:
        at.add_problem(f"{at.path[-1]!r} is an empty list; expected a column")
    lower_names = [*map(str.lower, names)]
    declared = {*map(str.lower, draft.keys.types)}
    for number, name in enumerate(names):
        place = at / number if isinstance(at.value, list) else at
        if name.lower() in lower_names[:number]:
            place.add_problem(f"the column {name!r} is listed twice")
        elif is_unstored_column(name):
            if are_stored:
                place.add_problem(f"the key {name!r} begins with '_': such columns are not stored", hint="rename it")
        elif declared and name.lower() not in declared:
            place.add_problem(f"'columns' lacks {name!r}", hint=did_you_mean(name, draft.keys.types))


def _compile_delete_retention(options: UpsertMap, at: DocumentPlace) -> Duration | None:
    """How long deletions are remembered, None for ever; a wrong or useless duration becomes a problem."""
    if options.keep_deletes is None:
        return None
    retention = Duration.parse(options.keep_deletes)
    if min(retention.months, retention.days, retention.seconds) < 0 or retention == Duration.parse("0s"):
        at.add_problem(f"'keep_deletes' is {options.keep_deletes!r}; expected a positive duration")
    if options.newest_by is None and options.history is None:
        at.add_key_problem("'keep_deletes' needs 'newest_by': without it no row counts as late")
    return retention


def _compile_history(draft: AssetDraft, columns: HistoryMap, upsert: UpsertMap, at: DocumentPlace) -> HistoryColumns:
    """The columns that a history adds; one that is taken or would not be stored becomes a problem."""
    if draft.partitioning.time is not None:
        message = "'history' excludes a partition by time: the rows of a key would be in several partitions"
        at.add_key_problem(message, hint="remove the partition, or partition by segments only")
    seen = {name.lower(): "a key" for name in upsert.keys}
    for key, name in (("valid_from", columns.valid_from), ("valid_to", columns.valid_to), ("current", columns.current)):
        if is_unstored_column(name):
            (at / key).add_problem(f"the column {name!r} begins with '_': such columns are not stored")
        elif name.lower() in seen:
            (at / key).add_problem(f"the column {name!r} is also {seen[name.lower()]}; expected a different name")
        seen.setdefault(name.lower(), f"{key!r}")
    return HistoryColumns(columns.valid_from, columns.valid_to, columns.current)


StrategyName = Literal["full_refresh", "every_instance", "latest_only", "date_range", "segments"]


def compile_strategy(
    draft: AssetDraft, inlets: Mapping[str, InletSpec], schedule: Schedule, *, writes: Mapping[str, Factory]
) -> tuple[Strategy, WriteMode]:
    """The strategy and the write mode, derived where they are not given; what does not fit becomes a problem.

    Args:
        draft: The asset.
        inlets: The asset's inlets.
        schedule: When it runs.
        writes: Write modes that packages registered, by name.
    """
    name = _choose_strategy_name(draft, inlets)
    write = compile_write(draft, writes)
    if draft.are_reliable("strategy", "partition", "inlets"):
        write_is_sure = draft.are_reliable("write")
        _check_inlet_reads(draft, name, inlets)
        _check_schedule(draft, name, inlets, schedule)
        if write_is_sure:
            _check_write(draft, name, write, inlets)
            _check_overlap(draft, write, inlets)
    match name:
        case "full_refresh":
            return FullRefresh(), write
        case "every_instance":
            return EveryInstance(), write
        case "latest_only":
            return LatestOnly(), write
        case "date_range":
            return _compile_date_range(draft), write
        case "segments":
            return _compile_segments(draft), write


def compile_unchanged(draft: AssetDraft, project: ProjectDraft, write: WriteMode | None) -> UnchangedPolicy:
    """Whether partitions that come out unchanged count as updates: always where a run appends or publishes.

    Otherwise as the asset says, or the project's defaults.
    """
    if write is None or not (write.only_adds or write.kept_iterations):
        return draft.keys.unchanged or project.keys.defaults.unchanged
    if draft.keys.unchanged == "skip":
        message = "'unchanged: skip' needs 'write: replace' or an upsert: added rows are always an update"
        (draft.at / "unchanged").add_problem(message, hint="leave it out")
    return "publish"


def _choose_strategy_name(draft: AssetDraft, inlets: Mapping[str, InletSpec]) -> StrategyName:
    """The name of the strategy: as given, else by the partitions, else by whether an inlet is read incrementally."""
    written = draft.keys.strategy
    if written is not None:
        return (
            written
            if isinstance(written, str)
            else "segments"
            if isinstance(written, SegmentStrategyMap)
            else "date_range"
        )
    if draft.partitioning.is_partitioned or not draft.are_reliable("partition"):
        return _strategy_for_partitions(draft)
    return "latest_only" if any(inlet.read for inlet in inlets.values()) else "full_refresh"


def _strategy_for_partitions(draft: AssetDraft) -> StrategyName:
    """The strategy that fits the asset's partitions: `segments` for segments alone, else `date_range`."""
    return "segments" if draft.partitioning.is_partitioned and draft.partitioning.time is None else "date_range"


def _check_inlet_reads(draft: AssetDraft, name: StrategyName, inlets: Mapping[str, InletSpec]) -> None:
    """Refuses a strategy without the partitions it needs, and inlets with `read` under any but `latest_only`."""
    at = draft.at / "strategy" if draft.keys.strategy else draft.at / "asset"
    reads = [each for each, inlet in inlets.items() if inlet.read]
    _check_partition(draft, at, name)
    if name != "latest_only":
        for inlet in reads:
            message = f"'read' needs strategy 'latest_only', but asset {draft.name!r} has {name!r}"
            (draft.at / "inlets" / inlet / "read").add_key_problem(message)


def _check_schedule(draft: AssetDraft, name: StrategyName, inlets: Mapping[str, InletSpec], schedule: Schedule) -> None:
    """Refuses a schedule that cannot drive the strategy."""
    if name == "latest_only":
        _check_latest(draft, inlets, schedule)
    elif name == "every_instance" and draft.partitioning.is_partitioned:
        _check_instances(draft, schedule)


def _check_latest(draft: AssetDraft, inlets: Mapping[str, InletSpec], schedule: Schedule) -> None:
    """Refuses `latest_only` without a watermark: no inlet has `read`, and the schedule has no intervals.

    Intervals must not run one by one either: the strategy runs once for all that was missed.
    """
    if any(inlet.read for inlet in inlets.values()) or not draft.are_reliable("schedule"):
        return
    timetable = schedule.timetable
    if timetable is None:
        at = draft.at / "strategy" if draft.keys.strategy else draft.at / "asset"
        hint = "write inlets: {<asset>: {read: changes}} or {<asset>: {read: {after: <column>}}}, or schedule: '@daily'"
        at.add_problem("strategy 'latest_only' needs an inlet with 'read', or a schedule with intervals", hint=hint)
    elif timetable.catchup == "all":
        hint = "write catchup: rollup, or strategy: every_instance"
        (draft.at / "schedule").add_problem("strategy 'latest_only' runs once for all missed intervals", hint=hint)


def _check_partition(draft: AssetDraft, at: DocumentPlace, name: StrategyName) -> None:
    """Refuses a strategy that needs other partitions than the asset has."""
    is_partitioned, fitting = draft.partitioning.is_partitioned, _strategy_for_partitions(draft)
    if name == "date_range" and draft.partitioning.time is None:
        granularity = "auto" if is_timed(draft.keys) else "day"
        hint = f"write partition: {{by: {granularity}, column: <column>}}"
        segments_hint = f"{draft.name!r} is partitioned only by segments: write 'segments', or leave it out"
        at.add_problem(
            "strategy 'date_range' needs a partition by time", hint=segments_hint if is_partitioned else hint
        )
    elif name == "segments" and not is_partitioned:
        hint = "write partition: {segments: [<key>, …], column: <column>}"
        at.add_problem("strategy 'segments' needs a partition by segments", hint=hint)
    elif name == "segments" and fitting != name:
        message = f"strategy 'segments' excludes time, but asset {draft.name!r} is partitioned by time"
        at.add_problem(message, hint=f"write {fitting!r}, or leave it out")
    elif is_partitioned and name == "latest_only":
        message = "strategy 'latest_only' follows a watermark and excludes partitions"
        at.add_problem(
            message, hint=f"write {fitting!r}, which computes missing and stale partitions, or partition: none"
        )


def _check_instances(draft: AssetDraft, schedule: Schedule) -> None:
    """Refuses ``catchup: rollup`` where each partition is an instance: one run cannot stand for several."""
    if schedule.timetable is not None and schedule.timetable.catchup == "rollup":
        hint = "write catchup: all or latest; strategy 'date_range' computes many partitions in one run"
        (draft.at / "schedule").add_problem("'catchup' cannot be 'rollup': each partition has its own run", hint=hint)


def _check_write(draft: AssetDraft, name: StrategyName, write: WriteMode, inlets: Mapping[str, InletSpec]) -> None:
    """Refuses a write mode that would lose or duplicate rows under the strategy.

    If no `write` is given and the default is unsafe, the author has to choose one.
    """
    is_partitioned = draft.partitioning.is_partitioned or not draft.are_reliable("partition")
    reason = write.why_not(name, partitioned=is_partitioned)
    if reason is None:
        return
    hint = _suggest_write(draft, name, partitioned=is_partitioned)
    if draft.keys.write is None:
        _refuse_missing_write(draft, name, inlets, hint=hint)
        return
    if draft.keys.strategy is None and name == "full_refresh":
        effect = "appends" if write.only_adds else "continues from there"
        hint += f"; an inlet with 'read: {{after: <column>}}' makes it 'latest_only', which {effect}"
    (draft.at / "write").add_problem(f"strategy {name!r} cannot {write.name!r}: {reason}", hint=hint)


def _suggest_write(draft: AssetDraft, name: StrategyName, *, partitioned: bool) -> str:
    """What to write for a strategy: a mode that fits, or, where each run is an instance, a partition."""
    fitting = next(
        word for word, each in ONE_WORD_WRITES.items() if each.why_not(name, partitioned=partitioned) is None
    )
    if name != "every_instance":
        return f"write 'write: {fitting}'"
    by_time = "write partition: {by: auto, column: <column>} for a run in each interval of the schedule"
    return f"write 'write: {fitting}', or {by_time if is_timed(draft.keys) else 'give the asset a partition'}"


def _refuse_missing_write(draft: AssetDraft, name: StrategyName, inlets: Mapping[str, InletSpec], *, hint: str) -> None:
    """Says what needs `write`: the strategy, or the inlet from whose changes it follows."""
    changing = next((inlet for inlet, spec in inlets.items() if isinstance(spec.read, ReadChanges)), None)
    if changing is None or draft.keys.strategy:
        at = draft.at / "strategy" if draft.keys.strategy else draft.at / "asset"
        at.add_problem(f"strategy {name!r} needs 'write'", hint=hint)
        return
    hint += ", or 'write: {upsert: {keys: [<column>]}}' to apply updates and deletes"
    (draft.at / "inlets" / changing / "read").add_problem(
        f"'read: changes' of inlet {changing!r} needs 'write'", hint=hint
    )


def _check_overlap(draft: AssetDraft, write: WriteMode, inlets: Mapping[str, InletSpec]) -> None:
    """Refuses `overlap`, which reads some rows twice, unless the write merges by keys: they would be stored twice."""
    if write.by_keys or draft.keys.write is None:
        return
    for name, inlet in inlets.items():
        if isinstance(inlet.read, ReadAfter) and inlet.read.overlap is not None:
            message = f"'overlap' reads rows a second time, and {write.name!r} would duplicate them"
            hint = "write 'write: {upsert: {keys: [<column>]}}', or leave 'overlap' out"
            (draft.at / "inlets" / name / "read" / "overlap").add_problem(message, hint=hint)


def _compile_segments(draft: AssetDraft) -> SegmentBatches:
    written = draft.keys.strategy
    return (
        SegmentBatches(written.segments.max_partitions_per_run)
        if isinstance(written, SegmentStrategyMap)
        else SegmentBatches()
    )


def _compile_date_range(draft: AssetDraft) -> DateRange:
    """The strategy with its options; a negative `lookback` becomes a problem."""
    written = draft.keys.strategy
    if not isinstance(written, StrategyMap):
        return DateRange()
    options = written.date_range
    lookback = Duration.parse(options.lookback) if options.lookback else None
    if lookback and min(lookback.months, lookback.days, lookback.seconds) < 0:
        at = draft.at / "strategy" / "date_range" / "lookback"
        at.add_problem(f"'lookback' is {options.lookback!r}; expected a duration of at least 0")
    return DateRange(lookback, options.max_partitions_per_run)


def check_upsert(draft: AssetDraft, body: AssetBody, write: WriteMode | None) -> None:
    """Refuses an upsert whose columns the SELECT does not yield, and a history without a column for its time.

    Checks nothing for code whose columns are unknown.
    """
    if not isinstance(write, UpsertWrite) or not draft.are_reliable("write"):
        return
    at = draft.at / "write" / "upsert"
    selected = body.sql.outline.columns if body.sql is not None else None
    if selected:
        known_columns = KnownColumns.of_select(draft.name, selected)
        _check_known(known_columns, write.keys, at / "keys", use="which is one of the keys")
        _check_known(known_columns, write.newest_by, at / "newest_by", use="which decides the newest row")
    columns = selected or (tuple(draft.keys.types) if body.sql is None else ())
    if write.history is not None and columns:
        _check_history(draft.name, columns, write, write.history, at / "history", is_table=not selected)


def _check_known(known_columns: KnownColumns, names: Sequence[str], at: DocumentPlace, *, use: str) -> None:
    """Adds a problem for each name that is not among the known columns; ``use`` says what it is needed for."""
    for number, name in enumerate(names):
        if refusal := known_columns.find_problem(name):
            (at / number if isinstance(at.value, list) else at).add_problem(f"{refusal[0]}, {use}", hint=refusal[1])


def _check_history(
    asset: str,
    columns: Sequence[str],
    write: UpsertWrite,
    history: HistoryColumns,
    at: DocumentPlace,
    *,
    is_table: bool,
) -> None:
    """Refuses a history without a time for its rows, and one whose added columns the SELECT already yields.

    ``is_table`` says that ``columns`` are the table's, which have the added ones.
    """
    names = {*map(str.lower, columns)}
    for key, added in (("valid_to", history.valid_to), ("current", history.current)) if not is_table else ():
        if added.lower() in names:
            message = f"the SELECT of asset {asset!r} yields the column {added!r}, which the history adds"
            (at / key).add_problem(message, hint="take it out of the SELECT, or give it another name here")
    has_time = history.valid_from.lower() in names
    if not has_time and not write.newest_by:
        message = (
            f"'history' needs the start of each row's validity: asset {asset!r} lacks the column {history.valid_from!r}"
        )
        hint = (
            suggest_close(history.valid_from, columns)
            or "add it, or write newest_by: <the column with the source's time>"
        )
        (at / "valid_from").add_problem(message, hint=hint)
