"""The models of what an asset computes when: schedule, deadline, partition and strategy."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, Tag

from sparkassets.core.spec.value_kinds import (
    Count,
    Degrees,
    DurationText,
    GrainText,
    InstantText,
    Maybe,
    SpanText,
    StrictMap,
    Text,
    TimesValue,
    ValueDescription,
    ZoneText,
    discriminate_by_kind,
    kind_of,
    require_map,
)
from sparkassets.core.suggestions import find_nearest
from sparkassets.core.timetables.parse import KINDS


class DeadlineMap(StrictMap):
    """When the newest of an asset has to be there."""

    by: Text = Field(description="Deadline: a time of day in the asset's time zone, such as 08:00, or a cron.")
    every: Maybe[DurationText] = Field(default=None, description="How often a time of day applies; default: 1d.")


_Texts = Annotated[list[Annotated[str, ValueDescription("text")]], Field(json_schema_extra={"minItems": 1})]


_Crons = Annotated[
    Annotated[str, Tag("<text>")] | Annotated[_Texts, Tag("<list>")],
    discriminate_by_kind("a cron such as '0 6 * * *', or a list of them"),
]


_Moments = Annotated[
    Annotated[str, Tag("<text>")] | Annotated[_Texts, Tag("<list>")],
    discriminate_by_kind("a cron such as '0 6 * * *', or a list of crons or of instants"),
]


_Delay = Annotated[Maybe[DurationText], Field(description="How much later runs start; their intervals do not move.")]
_Window = Annotated[Maybe[DurationText], Field(description="Length of each interval, up to its end.")]
_Catchup = Annotated[
    Maybe[Literal["all", "latest", "rollup"]],
    Field(
        description=(
            "Missed intervals: all runs each in order, latest only the newest, rollup one run that spans them all."
        )
    ),
]
_Timezone = Annotated[Maybe[ZoneText], Field(description="Time zone of the schedule; default: the asset's.")]
_Start = Annotated[Maybe[InstantText], Field(description="Earliest start of an interval, inclusive.")]
_End = Annotated[Maybe[InstantText], Field(description="Latest start of an interval, exclusive.")]
"""Keys of every timetable, built in or of a package."""


class ScheduleMap(StrictMap):
    """A timetable: one kind of rule with its modifiers."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": [kind]} for kind in KINDS if kind != "timetable"]}
    )

    cron: Maybe[_Crons] = Field(
        default=None,
        description="Intervals from each tick to the next: a preset such as @daily, or cron expressions.",
    )
    at: Maybe[_Moments] = Field(
        default=None,
        description=(
            "Exact times, whose intervals start and end at the same instant; or open or close of an "
            "exchange's sessions."
        ),
    )
    every: Maybe[SpanText] = Field(
        default=None,
        description=(
            "Length of the intervals. s, m, h: elapsed time from `start`, or from 1970-01-01; d, w, "
            "mo, y: calendar time; session: each session of the exchange in `calendar`, from open to "
            "close."
        ),
    )
    times: Maybe[TimesValue] = Field(
        default=None, description="Exact times: a map matches if all its keys do, a list if any of its maps does."
    )
    sun: Maybe[Literal["sunrise", "sunset", "dawn", "dusk", "noon"]] = Field(
        default=None, description="Exact times by the sun at a place; none on polar days and nights."
    )
    latitude: Maybe[Degrees] = Field(default=None, description="Latitude for `sun`, in degrees north.")
    longitude: Maybe[Degrees] = Field(default=None, description="Longitude for `sun`, in degrees east.")
    calendar: Maybe[Annotated[str, ValueDescription("a country such as DE or US-NY, or an exchange such as XNYS")]] = (
        Field(
            default=None,
            description="Open days: working days of a country or region, or sessions of an exchange.",
        )
    )
    roll: Maybe[Literal["skip", "back", "forward"]] = Field(
        default=None,
        description=(
            "What happens to ticks on closed days: skip them (the default), or move them back or forward "
            "to an open day."
        ),
    )
    interval: Maybe[DurationText] = Field(default=None, description="Length of the intervals of `cron`.")
    delay: _Delay = None
    window: _Window = None
    catchup: _Catchup = None
    timezone: _Timezone = None
    start: _Start = None
    end: _End = None


class RegisteredMap(StrictMap):
    """A timetable that an installed package registered; the keys that are not here are its parameters."""

    model_config = ConfigDict(extra="allow")

    timetable: Text = Field(description="Name in the entry point group `sparkassets.timetables`.")
    delay: _Delay = None
    window: _Window = None
    catchup: _Catchup = None
    timezone: _Timezone = None
    start: _Start = None
    end: _End = None


class PartitionMap(StrictMap):
    """A partition by time."""

    by: GrainText = Field(
        description="Length of the partitions; a cron: from each tick to the next; auto: the schedule's intervals."
    )
    column: Maybe[Text] = Field(default=None, description="Column that holds the partition's key.")
    timezone: Maybe[ZoneText] = Field(default=None, description="Time zone of the partitions; default: the asset's.")
    start: Maybe[InstantText] = Field(
        default=None, description="First partition: the first one that begins at or after it."
    )
    end: Maybe[InstantText] = Field(
        default=None, description="End, exclusive; default: the asset's. +2d: two days ahead of now."
    )
    offset: Maybe[DurationText] = Field(
        default=None,
        description="How much later days and longer partitions begin on the wall clock; their keys do not change.",
    )
    exclude: Maybe[
        Annotated[
            Annotated[str, Tag("<text>")]
            | Annotated[
                list[Annotated[str, ValueDescription("a cron, a day or a calendar")]],
                Field(json_schema_extra={"minItems": 1}),
                Tag("<list>"),
            ],
            discriminate_by_kind("a cron, a day such as 2025-12-24, a calendar such as DE or XNYS, or a list of these"),
        ]
    ] = Field(
        default=None,
        description=(
            "Partitions to leave out: those at ticks of a cron, single days, or days on which a calendar is closed."
        ),
    )


def _kind_of_segments(value: object) -> str | None:
    return "<text>" if value == "runtime" else kind_of(value) if isinstance(value, list) else None


class SegmentsMap(StrictMap):
    """A partition by segments."""

    segments: Annotated[
        Annotated[Literal["runtime"], Tag("<text>")]
        | Annotated[
            list[Annotated[str, ValueDescription("text")]],
            Field(json_schema_extra={"minItems": 1, "uniqueItems": True}),
            Tag("<list>"),
        ],
        discriminate_by_kind("a list of keys such as [de, nl], or runtime", _kind_of_segments),
    ] = Field(
        description="The segments, as texts; or runtime: segments are discovered in the data or added by command."
    )
    column: Maybe[Text] = Field(
        default=None,
        description=(
            "Column that holds the segment; segments of two assets match by it. It may be left out if "
            "no rows are replaced by segment; the dimension is then called `segment`."
        ),
    )


class DateRangeMap(StrictMap):
    """Options of the strategy."""

    lookback: Maybe[DurationText] = Field(default=None, description="How much before each gap to recompute, too.")
    max_partitions_per_run: Count = Field(
        default=366, description="Most partitions in one run, including the lookback."
    )


class SegmentOptionsMap(StrictMap):
    """Options of the strategy."""

    max_partitions_per_run: Count = Field(default=366, description="Most partitions in one run.")


class SegmentStrategyMap(StrictMap):
    """A strategy of segments alone, with options."""

    segments: Annotated[SegmentOptionsMap, require_map("a map of its options")] = Field(
        description="Compute missing and stale segments, in as few runs as the cap allows."
    )


class StrategyMap(StrictMap):
    """A strategy with options."""

    date_range: Annotated[DateRangeMap, require_map("a map of its options")] = Field(
        description="Compute missing and stale partitions of a range, in as few runs as the cap allows."
    )


def partition_map(value: object) -> type[BaseModel]:
    """The model of a dimension of partitions, chosen by its keys."""
    if not isinstance(value, dict) or "by" in value or "segments" in value:
        return SegmentsMap if isinstance(value, dict) and "segments" in value else PartitionMap
    meant = {find_nearest(str(key), ("by", "segments", *PartitionMap.model_fields)) for key in value}
    return SegmentsMap if "segments" in meant else PartitionMap


def strategy_map(value: object) -> type[BaseModel]:
    """The model of a strategy with options, chosen by its keys."""
    return SegmentStrategyMap if isinstance(value, dict) and "segments" in value else StrategyMap


def kind_of_partition(value: object) -> str | None:
    """The branch of a union that a partition takes: also ``<segments>``."""
    kind = kind_of(value)
    return "<segments>" if kind == "<map>" and partition_map(value) is SegmentsMap else kind


WITHOUT_OPTIONS: Final = ("full_refresh", "every_instance", "latest_only")
"""The strategies that are a name and nothing else."""


def kind_of_strategy(value: object) -> str | None:
    """The branch of a union that a strategy takes; None for options of one that has none."""
    kind = kind_of(value)
    if isinstance(value, dict) and any(name in value for name in WITHOUT_OPTIONS):
        return None
    return "<segments>" if kind == "<map>" and strategy_map(value) is SegmentStrategyMap else kind


DimensionValue = Annotated[
    Annotated[PartitionMap, Tag("<map>")] | Annotated[SegmentsMap, Tag("<segments>")],
    discriminate_by_kind("{by: day, column: day} or {segments: [de, nl], column: region}", kind_of_partition),
]


def kind_of_schedule(value: object) -> str | None:
    """The branch of a union that a schedule takes: also ``<condition>``, ``<registered>`` and ``<timetable>``."""
    kind = kind_of(value)
    if isinstance(value, dict):
        if value.keys() & {"any", "all", "uri", "without"}:
            return "<condition>"
        return "<registered>" if "timetable" in value else "<timetable>"
    return kind
