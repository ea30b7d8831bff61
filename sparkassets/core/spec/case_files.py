"""Files of tests as pydantic models: the given rows and events, and the expected result."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from sparkassets.core.spec.value_kinds import (
    Count,
    IdentifierText,
    InstantText,
    Maybe,
    Plain,
    Text,
    ValueDescription,
    discriminate_by_kind,
    require_list,
    require_map,
)

_Row = Annotated[dict[str, Any], ValueDescription("a row such as {day: 2025-01-01, amount: 3}")]
_Rows = Annotated[list[_Row], ValueDescription("a list of rows")]


def _kind_of_outcome(value: object) -> str | None:
    """The tag of the kind of an expected outcome; None for one that may not be there."""
    match value:
        case True:
            return "<true>"
        case False:
            return None
        case int():
            return "<count>"
        case str():
            return "<text>"
        case list():
            return "<list>"
    return None


_Withheld = Annotated[
    Annotated[Literal[True], Tag("<true>")] | Annotated[Text, Tag("<text>")] | Annotated[list[Text], Tag("<list>")],
    Discriminator(_kind_of_outcome, custom_error_type="expected", custom_error_message="partitions, or true"),
]
_Ran = Annotated[
    Annotated[Literal[True], Tag("<true>")]
    | Annotated[Count, Tag("<count>")]
    | Annotated[Text, Tag("<text>")]
    | Annotated[list[Text], Tag("<list>")],
    Discriminator(
        _kind_of_outcome,
        custom_error_type="expected",
        custom_error_message="partitions, true, or how many runs there are",
    ),
]


class _CaseMap(BaseModel):
    """No other keys, and no conversion of types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class GivenMap(_CaseMap):
    """Rows of an inlet, with more than the rows."""

    rows: Maybe[_Rows] = Field(default=None, description="The rows.")
    file: Maybe[Text] = Field(
        default=None, description="A .csv, .json or .parquet file with the rows, relative to this file."
    )
    columns: Annotated[dict[str, Text], ValueDescription("a map of columns and their types")] = Field(
        default={}, description="Types of columns that the inlet's asset does not declare."
    )
    after: Maybe[Plain] = Field(default=None, description="Watermark of an inlet that is read with one.")


class ExpectMap(_CaseMap):
    """What is expected, where it is more than rows."""

    rows: Maybe[_Rows] = Field(default=None, description="Expected rows, in any order.")
    outlets: Annotated[dict[str, _Rows], require_map("a map of outlets and their rows")] = Field(
        default={}, description="Expected rows of each outlet of a multi-asset."
    )
    error: Maybe[Text] = Field(
        default=None, description="The run is expected to fail with a message that contains this text."
    )
    withheld: Maybe[_Withheld] = Field(
        default=None, description="Partitions that validations are expected to withhold; true for all."
    )
    only: bool = Field(
        default=False, description="Whether the result may have no other columns than the expected rows."
    )
    tolerance: Annotated[int | float, ValueDescription("a number such as 0.001")] = Field(
        default=0, description="Allowed difference of numbers."
    )


class EventMap(_CaseMap):
    """An update that somebody announces."""

    asset: Maybe[IdentifierText] = Field(default=None, description="Asset that was updated.")
    uri: Maybe[Text] = Field(default=None, description="URI of a dataset that is not an asset.")
    partition: Maybe[Text] = Field(default=None, description="Updated partitions; default: all.")
    extra: Annotated[dict[str, Any], ValueDescription("a map")] = Field(
        default={}, description="Extra facts about the update."
    )


class StepMap(_CaseMap):
    """A moment: what came, and what runs then."""

    at: InstantText = Field(description="Time of the step.")
    events: Annotated[
        list[EventMap], require_list("a list of events such as {asset: orders, partition: 2025-01-01}")
    ] = Field(default=[], description="Updates that arrive before this step.")
    fails: Annotated[list[IdentifierText], ValueDescription("a list of assets")] = Field(
        default=[], description="Assets whose runs fail in this step."
    )
    runs: Maybe[Annotated[dict[str, _Ran], require_map("a map of assets and partitions")]] = Field(
        default=None,
        description="Everything that should run: for each asset its partitions, the number of runs, or true.",
    )
    waits: Annotated[dict[str, Text], require_map("a map of assets and parts of their reasons")] = Field(
        default={}, description="Assets that should wait afterwards, with a part of the reason."
    )


class CaseFile(_CaseMap):
    """A test of an asset, or of when assets run."""

    test: Text = Field(description="Its name.")
    description: Text = Field(default="", description="Description for people.")
    asset: Maybe[IdentifierText] = Field(default=None, description="Asset under test.")
    partition: Maybe[Text] = Field(default=None, description="Partitions to compute: KEY or A..B.")
    at: Maybe[InstantText] = Field(
        default=None, description="Time of the test; default: the end of the partitions, or 2025-01-01."
    )
    interval: Maybe[Text] = Field(default=None, description="Data interval of the run, A..B.")
    params: Maybe[Annotated[dict[str, Any], require_map("a map")]] = Field(
        default=None, description="Replaces the asset's `params`."
    )
    given: Annotated[
        dict[
            str,
            Annotated[
                Annotated[_Rows, Tag("<list>")] | Annotated[GivenMap, Tag("<map>")],
                discriminate_by_kind("a list of rows, or a map such as {file: flights.csv}"),
            ],
        ],
        require_map("a map of inlets and their rows"),
    ] = Field(default={}, description="Rows of the inlets, and of the asset itself before the run.")
    expect: Maybe[
        Annotated[
            Annotated[_Rows, Tag("<list>")] | Annotated[ExpectMap, Tag("<map>")],
            discriminate_by_kind("a list of rows, or a map such as {error: <text>}"),
        ]
    ] = Field(default=None, description="Expected rows, in any order.")
    steps: Annotated[list[StepMap], require_list("a list of moments such as {at: 2025-01-01T06:00, runs: {…}}")] = (
        Field(default=[], description="Moments in order, with what should run at each.")
    )
