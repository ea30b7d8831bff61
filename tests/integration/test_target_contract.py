"""The targets that Spark computes for keep what targets promise, whoever commits."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from sparkassets.core.writes import Append
from sparkassets.ports import Computation, RunOrder, Target
from tests.contracts.target_contract import TargetContract
from tests.integration import orders
from tests.integration.orders import sql, target

pytestmark = pytest.mark.spark


class PathTable:
    """A table at a path."""

    def __init__(self, engine, spark, folder: Path, *, commit: str) -> None:
        self.engine = engine
        self.spark = spark
        self.asset = orders.table("log", folder, write=Append(), commit=commit, **sql("SELECT 1 AS n"))

    def order(self) -> RunOrder:
        return orders.order(self.asset)

    def target(self, order: RunOrder) -> Target:
        return target(self.engine, order)

    def compute(self, order: RunOrder) -> Computation:
        return self.engine.compute(order, attempt=1)

    def rows(self) -> int:
        return len(orders.rows(self.spark, self.asset))


@pytest.mark.parametrize("commit", ["auto", "spark"])
class TestAtAPath(TargetContract):
    @pytest.fixture
    def table(self, engine, spark, tmp_path, commit):
        return PathTable(engine, spark, tmp_path, commit=commit)

    def test_it_is_committed_to_by_whom_the_asset_says(self, table, commit):
        self.write(table, table.order())
        self.write(table, table.order())
        writers = {each["engineInfo"].partition(":")[0] for each in DeltaTable(table.asset.storage.path).history()}
        assert ("delta-rs" in writers) == (commit == "auto")
        assert len(writers) == 1
