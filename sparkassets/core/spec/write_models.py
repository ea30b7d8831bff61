"""The YAML of `write`, as models for pydantic."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, Tag

from sparkassets.core.spec.value_kinds import (
    Count,
    DurationText,
    Maybe,
    StrictMap,
    Text,
    ValueDescription,
    discriminate_by_kind,
    kind_of,
    require_list,
    require_map,
)


class HistoryMap(StrictMap):
    """Columns that a history adds."""

    valid_from: Text = Field(
        description="Start of a row's validity: a column of the result, or a new one with the value of `newest_by`."
    )
    valid_to: Text = Field(description="Name of the added column for the end of validity; NULL for the current row.")
    current: Text = Field(description="Name of the added column that is true for the current row.")


class UpsertMap(StrictMap):
    """Options of the write."""

    keys: Annotated[
        list[Annotated[str, ValueDescription("the name of a column")]],
        Field(json_schema_extra={"minItems": 1, "uniqueItems": True}),
        require_list("a list of columns such as [id]"),
    ] = Field(description="Key columns; unique within a partition.")
    newest_by: Maybe[
        Annotated[
            Annotated[Text, Tag("<text>")]
            | Annotated[
                list[Annotated[str, ValueDescription("the name of a column")]],
                Field(json_schema_extra={"minItems": 1, "uniqueItems": True}),
                Tag("<list>"),
            ],
            discriminate_by_kind("a column, or a list of columns"),
        ]
    ] = Field(
        default=None,
        description=(
            "Column or columns that order the rows of a key: the highest wins, both within a run and "
            "against the table, so late rows are ignored. A list is compared from left to right."
        ),
    )
    delete_when: Maybe[Text] = Field(
        default=None, description="SQL condition on the result's columns; a row for which it is true deletes its key."
    )
    keep_deletes: Maybe[DurationText] = Field(
        default=None,
        description=(
            "How long a deleted key is remembered, so that a late row does not bring it back; default: for ever."
        ),
    )
    history: Maybe[Annotated[HistoryMap, require_map("{valid_from: column, valid_to: column, current: column}")]] = (
        Field(default=None, description="Keep history (SCD 2): one row for each version of a key, with its validity.")
    )


class PublishMap(StrictMap):
    """Options of the write."""

    keep: Count = Field(
        description="How many of the newest iterations to keep; the newest one of each partition is always kept."
    )


class WriteMap(StrictMap):
    """A write with options."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    upsert: Maybe[Annotated[UpsertMap, require_map("{keys: [column]}")]] = Field(
        default=None, description="Merge rows by key: replace those with the same key, add the others."
    )
    publish: Maybe[Annotated[PublishMap, require_map("{keep: 10}")]] = Field(
        default=None,
        description=(
            "Write the run's rows, or the files that a function writes, as a new iteration beside the "
            "earlier ones; the path points to the newest."
        ),
    )


class RegisteredWriteMap(StrictMap):
    """A write mode that an installed package registered; the keys that are not here are its parameters."""

    model_config = ConfigDict(extra="allow")

    mode: Text = Field(description="Name in the entry point group `sparkassets.writes`.")


def _kind_of_write(value: object) -> str | None:
    return "<registered>" if isinstance(value, dict) and "mode" in value else kind_of(value)


def write_map(value: object) -> type[BaseModel]:
    """The model of a write, chosen by its keys."""
    return RegisteredWriteMap if _kind_of_write(value) == "<registered>" else WriteMap
