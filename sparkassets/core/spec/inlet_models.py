"""The models of an inlet: how an asset reads or awaits another."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Tag

from sparkassets.core.spec.rule_maps import RuleList
from sparkassets.core.spec.value_kinds import (
    Count,
    DurationText,
    Maybe,
    StrictMap,
    Text,
    ValueDescription,
    discriminate_by_kind,
    require_list,
)


class ReadMap(StrictMap):
    """Only what is new since the watermark."""

    after: Text = Field(description="Column whose highest processed value is the watermark.")
    overlap: Maybe[DurationText] = Field(
        default=None,
        description="From so far below the watermark on, for what comes late; with `write: upsert` alone.",
    )


class RequireMap(StrictMap):
    """A number of the mapped inlet partitions."""

    at_least: Count = Field(description="So many of them.")


_Lists = Annotated[list[Text], Tag("<list>")]


_OneDimension = dict[
    str,
    Annotated[
        _Lists | Annotated[dict[str, list[Text]], Tag("<map>")], discriminate_by_kind("a list of keys such as [de, nl]")
    ],
]


_Dimensions = dict[
    str,
    Annotated[
        Annotated[Text, Tag("<text>")] | _Lists | Annotated[_OneDimension, Tag("<map>")],
        discriminate_by_kind("a list of keys such as [de, nl], all, latest, a column of the inlet or a map of keys"),
    ],
]


class InletMap(StrictMap):
    """How one asset reads or awaits another."""

    window: Maybe[
        Annotated[
            Annotated[DurationText, Tag("<text>")]
            | Annotated[
                list[DurationText],
                Field(min_length=2, max_length=2),
                ValueDescription("two durations, such as [-6d, 0d]"),
                Tag("<list>"),
            ],
            discriminate_by_kind("a duration such as 7d, or two of them such as [-6d, 0d]"),
        ]
    ] = Field(
        default=None,
        description="7d: the 7 days up to the partition's end. [-6d, 0d]: from 6 days before its start to its end.",
    )
    require: Maybe[
        Annotated[
            Annotated[Literal["all", "any", "none"], Tag("<text>")] | Annotated[RequireMap, Tag("<map>")],
            discriminate_by_kind("all, any, none or {at_least: n}"),
        ]
    ] = Field(default=None, description="How many of the mapped inlet partitions must be there; all by default.")
    partitions: Maybe[
        Annotated[
            Annotated[Literal["all", "latest", "aligned"], Tag("<text>")]
            | Annotated[list[Text], Field(min_length=1), Tag("<list>")]
            | Annotated[_Dimensions, Tag("<map>")],
            discriminate_by_kind("all, latest, aligned, {from: column}, a map of keys or a list of partitions"),
        ]
    ] = Field(
        default=None,
        description=(
            "Which of its partitions one of the asset needs; by default those that overlap it and have its segments. "
            "all: every one. latest: the newest that is there. [2025-01-01, …]: these, for every partition. "
            "{emea: [de, nl]}: for each key those of the inlet. "
            "{region: …}: for that dimension all, latest, the column of the inlet that is meant, or a map of keys. "
            "{from: column}: the rows whose values of that column are the partition's, however the inlet is divided. "
            "aligned: what its run of the same tick, or of the last one before, has written."
        ),
    )
    fresh_within: Maybe[DurationText] = Field(default=None, description="Its last update may be no older than this.")
    tolerance: Maybe[DurationText] = Field(
        default=None, description="How long past due `require` is waited for; then what is there is taken."
    )
    settle: Maybe[DurationText] = Field(default=None, description="It must have been quiet for so long.")
    read: Maybe[
        Annotated[
            Annotated[Literal["changes"], Tag("<text>")] | Annotated[ReadMap, Tag("<map>")],
            discriminate_by_kind("changes or {after: column}"),
        ]
    ] = Field(
        default=None,
        description=(
            "Only what is new since the last run. changes: what was inserted, updated and deleted in a Delta table, by "
            "its change feed. {after: column}: the rows above the highest value that was read before."
        ),
    )
    validations: Annotated[RuleList, require_list("a list of maps such as {not_null: [id]}")] = Field(
        default=[], description="What its rows must be like before any work; no run begins with others."
    )
    on_update: Maybe[Literal["rerun", "ignore"]] = Field(
        default=None,
        description=(
            "Whether an update makes stale what was computed from it. ignore is the default where the asset has time "
            "for an inlet without time, or its latest, but not under full_refresh; and for an aligned one."
        ),
    )
    on_removed: Maybe[Literal["keep", "rerun"]] = Field(
        default=None,
        description=(
            "What becomes of what was computed from a partition that was removed: it keeps its rows and says so, or is "
            "computed again without it, which counts as there then. keep is the default for files, else rerun."
        ),
    )
