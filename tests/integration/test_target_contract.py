"""The targets that Spark writes keep what targets promise."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkassets.core.writes import Append
from sparkassets.ports import Computation, RunOrder, Target
from tests.contracts.target_contract import TargetContract
from tests.integration import orders
from tests.integration.orders import sql, target

pytestmark = pytest.mark.spark


class PathTable:
    """A table at a path that Spark commits to."""

    def __init__(self, engine, spark, folder: Path) -> None:
        self.engine = engine
        self.spark = spark
        self.asset = orders.table("log", folder, write=Append(), **sql("SELECT 1 AS n"))

    def order(self) -> RunOrder:
        return orders.order(self.asset)

    def target(self, order: RunOrder) -> Target:
        return target(self.engine, order)

    def compute(self, order: RunOrder) -> Computation:
        return self.engine.compute(order, attempt=1)

    def rows(self) -> int:
        return len(orders.rows(self.spark, self.asset))


class TestAtAPath(TargetContract):
    @pytest.fixture
    def table(self, engine, spark, tmp_path):
        return PathTable(engine, spark, tmp_path)
