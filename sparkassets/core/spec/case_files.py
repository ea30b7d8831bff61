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
        default=None, description="A .csv, .json or .parquet file that holds them, from this file's folder."
    )
    columns: Annotated[dict[str, Text], ValueDescription("a map of columns and their types")] = Field(
        default={}, description="Types of columns, where the inlet's asset declares none."
    )
    after: Maybe[Plain] = Field(default=None, description="Its watermark, where it is read by one.")


class ExpectMap(_CaseMap):
    """What is expected, where it is more than rows."""

    rows: Maybe[_Rows] = Field(default=None, description="The rows, in any order.")
    outlets: Annotated[dict[str, _Rows], require_map("a map of outlets and their rows")] = Field(
        default={}, description="Of a multi-asset the rows of each of these."
    )
    error: Maybe[Text] = Field(default=None, description="The run fails, with a message that holds this.")
    withheld: Maybe[_Withheld] = Field(
        default=None, description="The partitions that the validations hold back; true is all of the run."
    )
    only: bool = Field(default=False, description="Whether there are no columns but those of the rows.")
    tolerance: Annotated[int | float, ValueDescription("a number such as 0.001")] = Field(
        default=0, description="How far numbers may be off."
    )


class EventMap(_CaseMap):
    """An update that somebody announces."""

    asset: Maybe[IdentifierText] = Field(default=None, description="Whose data was updated.")
    uri: Maybe[Text] = Field(default=None, description="The dataset, where no asset has it.")
    partition: Maybe[Text] = Field(default=None, description="What of it; without it all.")
    extra: Annotated[dict[str, Any], ValueDescription("a map")] = Field(
        default={}, description="What more is told of it."
    )


class StepMap(_CaseMap):
    """A moment: what came, and what runs then."""

    at: InstantText = Field(description="What time it is.")
    events: Annotated[
        list[EventMap], require_list("a list of events such as {asset: orders, partition: 2025-01-01}")
    ] = Field(default=[], description="What was updated until then.")
    fails: Annotated[list[IdentifierText], ValueDescription("a list of assets")] = Field(
        default=[], description="Assets whose runs fail at this moment."
    )
    runs: Maybe[Annotated[dict[str, _Ran], require_map("a map of assets and partitions")]] = Field(
        default=None, description="All that runs: of each asset its partitions, how many runs, or true."
    )
    waits: Annotated[dict[str, Text], require_map("a map of assets and parts of their reasons")] = Field(
        default={}, description="What waits after that, and a part of the reason."
    )


class CaseFile(_CaseMap):
    """A test of an asset, or of when assets run."""

    test: Text = Field(description="Its name.")
    description: Text = Field(default="", description="For people.")
    asset: Maybe[IdentifierText] = Field(default=None, description="Whose rows are looked at.")
    partition: Maybe[Text] = Field(default=None, description="The partitions that are computed: KEY or A..B.")
    at: Maybe[InstantText] = Field(
        default=None, description="What time it is; by default the end of the partitions, else 2025-01-01."
    )
    interval: Maybe[Text] = Field(default=None, description="The run's data interval, A..B.")
    params: Maybe[Annotated[dict[str, Any], require_map("a map")]] = Field(
        default=None, description="In place of the asset's."
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
    ] = Field(default={}, description="The rows of the inlets, and of the asset itself as it was before.")
    expect: Maybe[
        Annotated[
            Annotated[_Rows, Tag("<list>")] | Annotated[ExpectMap, Tag("<map>")],
            discriminate_by_kind("a list of rows, or a map such as {error: <text>}"),
        ]
    ] = Field(default=None, description="The rows that come out, in any order.")
    steps: Annotated[list[StepMap], require_list("a list of moments such as {at: 2025-01-01T06:00, runs: {…}}")] = (
        Field(default=[], description="When assets run: one moment after another.")
    )
