"""Tests as values: of the rows of an asset, and of when assets run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any

from sparkassets.core.partitions import PartitionSet
from sparkassets.errors import FileLocation
from sparkassets.frozen import frozen

Row = Mapping[str, Any]
"""Column to value, as YAML has it: dates and times are text."""


@frozen
class GivenRows:
    """The rows of one inlet, or of the asset as it was before.

    Attributes:
        columns: Type by column, in order, as far as they are known.
        file: The file that holds them instead, absolute.
        after: The watermark that the inlet is read from.
    """

    location: FileLocation
    rows: Sequence[Row] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    file: str = ""
    after: str | None = None


@frozen
class ExpectedOutcome:
    """What is to come of a run.

    Attributes:
        tables: The rows of each table that is looked at, by its asset.
        error: Part of the message that the run fails with; empty where it is to succeed.
        withheld: What the validations hold back.
        only: Whether there are no other columns.
        tolerance: How far numbers may be off.
    """

    tables: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    error: str = ""
    withheld: PartitionSet | None = None
    only: bool = False
    tolerance: float = 0.0


@frozen
class RowCase:
    """A test of the rows of one asset.

    Attributes:
        asset: Whose run it is.
        blocks: That are computed.
        at: What time it is; aware, UTC.
        interval: The run's data interval, Unix seconds.
        params: In place of the asset's; None leaves these.
        given: By inlet; by the asset's own name what is there before.
    """

    name: str
    location: FileLocation
    description: str
    asset: str
    blocks: PartitionSet
    at: datetime
    interval: tuple[int, int] | None
    given: Mapping[str, GivenRows]
    expected: ExpectedOutcome
    params: Mapping[str, object] | None = None


@frozen
class CaseStep:
    """A moment of a test of when assets run.

    Attributes:
        at: What time it is; aware, UTC.
        events: What was updated by then, as lines of `events add --file` are.
        fails: The assets whose runs fail.
        runs: All that runs: of each asset its partitions, or how many runs, or None for any; None is not asked.
        waits: Part of the reason, by asset.
    """

    location: FileLocation
    at: datetime
    events: Sequence[Mapping[str, Any]] = ()
    fails: Sequence[str] = ()
    runs: Mapping[str, PartitionSet | int | None] | None = None
    waits: Mapping[str, str] = field(default_factory=dict)


@frozen
class TimeCase:
    """A test of when assets run; computes nothing."""

    name: str
    location: FileLocation
    description: str
    steps: Sequence[CaseStep]


Case = RowCase | TimeCase
