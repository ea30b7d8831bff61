"""The fake target of the runtime's tests keeps what targets promise."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from sparkassets.core.partitions import EVERYTHING, Partitioning, PartitionSet, SegmentPartition, TimePartition
from sparkassets.core.writes import AppendWrite
from sparkassets.ports import RunOrder
from tests.builders import asset
from tests.contracts.target_contract import PartitionsContract, TargetContract
from tests.runtime.fakes import FakeEngine, FakeOutlets, FakeTarget, Result


class FakeTable:
    """A table in memory."""

    def __init__(self) -> None:
        self.engine = FakeEngine()
        self.asset = asset("log", by=None, write=AppendWrite())
        self.tokens = itertools.count(1)

    def order(self) -> RunOrder:
        token, at = next(self.tokens), datetime(2025, 1, 1, tzinfo=UTC)
        return RunOrder(self.asset, f"log-{token}", "journal/log", token, EVERYTHING, {}, {}, None, at, {})

    def target(self, order: RunOrder) -> FakeTarget:
        return FakeOutlets(self.engine).open_target(order.asset, app_id=order.app_id, enlist=lambda: None)

    def compute(self, order: RunOrder) -> Result:
        return self.engine.compute(order, attempt=1)

    def rows(self) -> int:
        return sum(bool(commit.order.partitions) for commit in self.engine.data("log"))


class FakePartitions(FakeTable):
    """A table in memory by day, region and store."""

    def __init__(self) -> None:
        super().__init__()
        dimensions = (SegmentPartition("region", ("de", "nl")), SegmentPartition("store", ("a", "b")))
        time = TimePartition("day", "UTC", column="day")
        self.asset = replace(asset("log"), partitioning=Partitioning(time, dimensions))

    def order(self, *keys: str) -> RunOrder:
        partitions = PartitionSet.union(map(self.asset.partitioning.parse, keys))
        return replace(super().order(), partitions=partitions)

    def partitions(self) -> list[tuple[str, str]]:
        found: dict[str, str] = {}
        for commit in self.engine.data("log"):
            found |= dict.fromkeys(self.asset.partitioning.keys(commit.order.partitions), commit.order.run)
        return sorted(found.items())


class TestFake(TargetContract, PartitionsContract):
    @pytest.fixture
    def table(self):
        return FakeTable()

    @pytest.fixture
    def by_partitions(self):
        return FakePartitions()
