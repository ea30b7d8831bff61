"""Targets that a catalog knows by name keep what targets promise."""

from __future__ import annotations

import pytest

from sparkassets.core.writes import AppendWrite
from sparkassets.ports import RunComputation, RunOrder, Target
from tests.contracts.target_contract import PartitionsContract, TargetContract
from tests.integration import catalogs, orders
from tests.integration.orders import sql, target

pytestmark = [pytest.mark.spark, pytest.mark.deep]


class NamedTable:
    """A table of a catalog."""

    def __init__(self, engine, spark, schema: str) -> None:
        self.engine = engine
        self.spark = spark
        self.asset = catalogs.table("log_book", schema, write=AppendWrite(), **sql("SELECT 1 AS n"))

    def order(self) -> RunOrder:
        return orders.order(self.asset)

    def target(self, order: RunOrder) -> Target:
        return target(self.engine, order)

    def compute(self, order: RunOrder) -> RunComputation:
        return self.engine.compute(order, attempt=1)

    def rows(self) -> int:
        return len(catalogs.rows(self.spark, self.asset))


class NamedPartitions(NamedTable):
    """A table of a catalog by day, region and store."""

    def __init__(self, engine, spark, schema: str) -> None:
        super().__init__(engine, spark, schema)
        rows = sql("SELECT day, region, store, '{{ run_id }}' AS run FROM {{ partitions }}")
        asset = catalogs.table("log", schema, by="day", **rows)
        self.asset = orders.segmented(asset, region=["de", "nl"], store=["a", "b"])

    def order(self, *keys: str) -> RunOrder:
        return orders.order(self.asset, keys=keys)

    def partitions(self) -> list[tuple[str, str]]:
        return catalogs.rows(self.spark, self.asset, "concat_ws(',', day, region, store)", "run")


class TestInACatalog(TargetContract):
    @pytest.fixture
    def schema(self, spark, tmp_path):
        with catalogs.schema(spark, tmp_path) as name:
            yield name

    @pytest.fixture
    def table(self, engine, spark, schema):
        return NamedTable(engine, spark, schema)

    @pytest.fixture
    def by_partitions(self, engine, spark, schema):
        return NamedPartitions(engine, spark, schema)

    def test_a_run_takes_the_place_of_exactly_its_partitions(self, by_partitions):
        runs = [["2025-01-01..2025-01-02,*,*"], ["2025-01-02,nl,a", "2025-01-02,nl,b", "2025-01-03,de,*"]]
        PartitionsContract().test_a_run_takes_the_place_of_exactly_its_partitions(by_partitions, runs)

    def test_withheld_partitions_stay_what_they_were(self, by_partitions):
        before, run = ["2025-01-01..2025-01-03,*,*"], ["2025-01-01..2025-01-02,*,*"]
        withheld = ["2025-01-01,de,a", "2025-01-02,nl,b"]
        PartitionsContract().test_withheld_partitions_stay_what_they_were(by_partitions, before, run, withheld)
