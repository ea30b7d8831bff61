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

    after: Text = Field(description="Column whose highest value read so far is the watermark.")
    overlap: Maybe[DurationText] = Field(
        default=None,
        description="How far below the watermark to read again, for late rows; only with `write: upsert`.",
    )


class RequireMap(StrictMap):
    """A number of the mapped inlet partitions."""

    at_least: Count = Field(description="Least number of partitions.")


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
        description=(
            "Inlet data that a partition needs. 7d: the 7 days up to the partition's end. [-6d, 0d]: from "
            "6 days before its start to its end."
        ),
    )
    require: Maybe[
        Annotated[
            Annotated[Literal["all", "any", "none"], Tag("<text>")] | Annotated[RequireMap, Tag("<map>")],
            discriminate_by_kind("all, any, none or {at_least: n}"),
        ]
    ] = Field(default=None, description="How many of the mapped inlet partitions must be there; default: all.")
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
            "Which inlet partitions a partition needs; default: those that overlap it and have its "
            "segments. all: every partition. latest: the newest one. [2025-01-01, …]: these, for "
            "every partition. {emea: [de, nl]}: inlet keys by key. {region: …}: for that dimension "
            "all, latest, the name of the inlet's column, or a map of keys. {from: column}: the rows "
            "whose values of that column belong to the partition, however the inlet is partitioned. "
            "aligned: what the inlet's run of the same or the previous tick wrote."
        ),
    )
    fresh_within: Maybe[DurationText] = Field(
        default=None, description="Require the inlet's last update to be at most this old."
    )
    tolerance: Maybe[DurationText] = Field(
        default=None,
        description="How long to wait for `require` after a run is due; then it runs with the data present.",
    )
    settle: Maybe[DurationText] = Field(
        default=None, description="Wait until the inlet has not been updated for this long."
    )
    read: Maybe[
        Annotated[
            Annotated[Literal["changes"], Tag("<text>")] | Annotated[ReadMap, Tag("<map>")],
            discriminate_by_kind("changes or {after: column}"),
        ]
    ] = Field(
        default=None,
        description=(
            "Read only data added since the last run. changes: rows inserted, updated and deleted in a Delta "
            "table, from its change feed. {after: column}: rows above the highest value read before."
        ),
    )
    validations: Annotated[RuleList, require_list("a list of maps such as {not_null: [id]}")] = Field(
        default=[], description="Rules that the inlet's rows must pass before a run starts."
    )
    on_update: Maybe[Literal["rerun", "ignore"]] = Field(
        default=None,
        description=(
            "Whether an update makes partitions computed from it stale. Default: rerun; ignore for an "
            "aligned inlet, and for a time-partitioned asset whose inlet has no time or is read as "
            "latest, unless the strategy is full_refresh."
        ),
    )
    on_removed: Maybe[Literal["keep", "rerun"]] = Field(
        default=None,
        description=(
            "What happens to partitions computed from an inlet partition that was removed: keep their "
            "rows and say so, or rerun without it. Default: keep for files, otherwise rerun."
        ),
    )
