"""Tests of assets: what is given, and what is expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from typing import Any, Final

from sparkassets.core.partitions import PartitionSet
from sparkassets.errors import FileLocation
from sparkassets.frozen import frozen

Row = Mapping[str, Any]
"""Column to value, as YAML has it: dates and times are text."""


@frozen
class GivenRows:
    """Given rows of one inlet, or of the asset's own table before the run.

    Attributes:
        columns: Type by column, in order, as far as they are known.
        file: Absolute path of a file that holds the rows instead.
        after: The watermark that the inlet is read from.
    """

    location: FileLocation
    rows: Sequence[Row] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    file: str = ""
    after: str | None = None


@frozen
class ExpectedOutcome:
    """The expected outcome of a run.

    Attributes:
        tables: The expected rows of each table that is compared, by its asset.
        error: Part of the expected error message; empty for a success.
        withheld: The partitions that validations withhold.
        only: Whether further columns are refused.
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
        asset: The asset that runs.
        partitions: The partitions that are computed.
        at: What time it is; aware, UTC.
        interval: The run's data interval, Unix seconds.
        params: Parameters in place of the asset's own; None keeps its own.
        given: Rows by inlet; under the asset's own name, the rows of its table before the run.
    """

    name: str
    location: FileLocation
    description: str
    asset: str
    partitions: PartitionSet
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
        events: Updates up to then, in the format of `events add --file`.
        fails: The assets whose runs fail.
        runs: All expected runs, by asset: partitions, a number of runs, or None for any; None checks nothing.
        waits: Part of the expected reason for waiting, by asset.
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


DEFAULT_NOW: Final = datetime(2025, 1, 1, tzinfo=UTC)
"""The time of a case that names none."""
