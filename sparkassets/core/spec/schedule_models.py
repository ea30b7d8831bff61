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

    by: Text = Field(description="By this time of day, such as 08:00, on the asset's clock; or by each tick of a cron.")
    every: Maybe[DurationText] = Field(
        default=None, description="How often it has to be there by a time of day; 1d by default."
    )


_Texts = Annotated[list[Annotated[str, ValueDescription("text")]], Field(json_schema_extra={"minItems": 1})]


_Crons = Annotated[
    Annotated[str, Tag("<text>")] | Annotated[_Texts, Tag("<list>")],
    discriminate_by_kind("a cron such as '0 6 * * *', or a list of them"),
]


_Moments = Annotated[
    Annotated[str, Tag("<text>")] | Annotated[_Texts, Tag("<list>")],
    discriminate_by_kind("a cron such as '0 6 * * *', or a list of crons or of instants"),
]


_Delay = Annotated[Maybe[DurationText], Field(description="Runs start so much later; same interval.")]
_Window = Annotated[Maybe[DurationText], Field(description="The interval is so long, up to its end.")]
_Catchup = Annotated[
    Maybe[Literal["all", "latest", "rollup"]],
    Field(description="Each missed interval in order, only the newest, or one run that spans them all."),
]
_Timezone = Annotated[Maybe[ZoneText], Field(description="Whose wall clock it follows; the asset's by default.")]
_Start = Annotated[Maybe[InstantText], Field(description="No interval begins before it; one may begin at it.")]
_End = Annotated[Maybe[InstantText], Field(description="No interval begins at it or after.")]
"""Keys of every timetable, built in or of a package."""


class ScheduleMap(StrictMap):
    """A timetable: one kind of rule with its modifiers."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": [kind]} for kind in KINDS if kind != "timetable"]}
    )

    cron: Maybe[_Crons] = Field(default=None, description="From each tick to the next; @daily and its like, or crons.")
    at: Maybe[_Moments] = Field(
        default=None,
        description="Exact times: each start and end of its own interval; open or close of an exchange's sessions.",
    )
    every: Maybe[SpanText] = Field(
        default=None,
        description=(
            "s, m, h: elapsed time from `start`, else 1970-01-01; d, w, mo, y: calendar time; "
            "session: from the opening to the close of each session of the exchange in `calendar`."
        ),
    )
    times: Maybe[TimesValue] = Field(
        default=None, description="Exact times: a list is any of its maps, a map is all of its keys."
    )
    sun: Maybe[Literal["sunrise", "sunset", "dawn", "dusk", "noon"]] = Field(
        default=None, description="Exact times: of the sun at a place; none on polar days and nights."
    )
    latitude: Maybe[Degrees] = Field(default=None, description="Of `sun`, degrees north.")
    longitude: Maybe[Degrees] = Field(default=None, description="Of `sun`, degrees east.")
    calendar: Maybe[Annotated[str, ValueDescription("a country such as DE or US-NY, or an exchange such as XNYS")]] = (
        Field(
            default=None,
            description="Open days: working days of a country or a part of one, or sessions of an exchange.",
        )
    )
    roll: Maybe[Literal["skip", "back", "forward"]] = Field(
        default=None, description="Drops ticks on closed days (default), or moves them to the open day before or after."
    )
    interval: Maybe[DurationText] = Field(default=None, description="How long the intervals of `cron` last.")
    delay: _Delay = None
    window: _Window = None
    catchup: _Catchup = None
    timezone: _Timezone = None
    start: _Start = None
    end: _End = None


class RegisteredMap(StrictMap):
    """A timetable that an installed package registered; the keys that are not here are its parameters."""

    model_config = ConfigDict(extra="allow")

    timetable: Text = Field(description="Its name in the entry point group `sparkassets.timetables`.")
    delay: _Delay = None
    window: _Window = None
    catchup: _Catchup = None
    timezone: _Timezone = None
    start: _Start = None
    end: _End = None


class PartitionMap(StrictMap):
    """A partition by time."""

    by: GrainText = Field(
        description="How long each is; a cron: from each of its ticks to the next; auto: as the schedule's intervals."
    )
    column: Maybe[Text] = Field(default=None, description="Column that holds the partition.")
    timezone: Maybe[ZoneText] = Field(default=None, description="Whose days and hours; the asset's by default.")
    start: Maybe[InstantText] = Field(
        default=None, description="No partition before it is wanted; one belongs when it begins at it or after."
    )
    end: Maybe[InstantText] = Field(
        default=None, description="None is wanted from there on; the asset's by default. +2d: so much ahead of now is."
    )
    offset: Maybe[DurationText] = Field(
        default=None, description="Days and longer slots begin so much later on the wall clock; their keys stay."
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
        description="What is no partition: those whose keys are ticks of a cron, days, days that a calendar is closed.",
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
    ] = Field(description="The keys that are wanted, as texts; or runtime: those that come to be known.")
    column: Maybe[Text] = Field(
        default=None,
        description=(
            "Column that holds them, by which the segments of two assets match. Where no rows are replaced by segment "
            "it may be left out: the dimension is then called `segment`."
        ),
    )


class DateRangeMap(StrictMap):
    """Options of the strategy."""

    lookback: Maybe[DurationText] = Field(
        default=None, description="So much before every gap is computed again too, once."
    )
    max_partitions_per_run: Count = Field(
        default=366, description="What is due beyond that, lookback included, is another run."
    )


class SegmentOptionsMap(StrictMap):
    """Options of the strategy."""

    max_partitions_per_run: Count = Field(default=366, description="What is due beyond that is another run.")


class SegmentStrategyMap(StrictMap):
    """A strategy of segments alone, with options."""

    segments: Annotated[SegmentOptionsMap, require_map("a map of its options")] = Field(
        description="The missing and stale segments, as few runs as the cap allows."
    )


class StrategyMap(StrictMap):
    """A strategy with options."""

    date_range: Annotated[DateRangeMap, require_map("a map of its options")] = Field(
        description="What is missing or stale in a range of time, as few runs as the cap allows."
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
