"""The targets that Spark computes for keep what targets promise, whoever commits."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest
from deltalake import DeltaTable

from sparkassets.core.writes import AppendWrite
from sparkassets.errors import RunError
from sparkassets.ports import RunComputation, RunOrder, Target
from sparkassets.spark.engine import SparkTargetFactory
from tests.contracts.target_contract import PartitionsContract, TargetContract, data, fence
from tests.depth import deep
from tests.integration import orders
from tests.integration.orders import sql, target

pytestmark = pytest.mark.spark


class PathTable:
    """A table at a path."""

    def __init__(self, engine, spark, folder: Path, *, commit: str) -> None:
        self.engine = engine
        self.spark = spark
        self.asset = orders.table("log", folder, write=AppendWrite(), commit=commit, **sql("SELECT 1 AS n"))

    def order(self) -> RunOrder:
        return orders.order(self.asset)

    def target(self, order: RunOrder) -> Target:
        return target(self.engine, order)

    def compute(self, order: RunOrder) -> RunComputation:
        return self.engine.compute(order, attempt=1)

    def rows(self) -> int:
        return len(orders.rows(self.spark, self.asset))


class PathPartitions(PathTable):
    """A table at a path by day, region and store."""

    def __init__(self, engine, spark, folder: Path, *, commit: str) -> None:
        super().__init__(engine, spark, folder, commit=commit)
        rows = sql("SELECT day, region, store, '{{ run_id }}' AS run FROM {{ partitions }}")
        asset = orders.table("log", folder, by="day", commit=commit, **rows)
        self.asset = orders.segmented(asset, region=["de", "nl"], store=["a", "b"])

    def order(self, *keys: str) -> RunOrder:
        return orders.order(self.asset, keys=keys)

    def partitions(self) -> list[tuple[str, str]]:
        return orders.rows(self.spark, self.asset, "concat_ws(',', day, region, store)", "run")


CONTRACT = TargetContract()
WHERE_SPARK_COMMITS = (
    CONTRACT.test_what_an_older_claim_has_prepared_lands_no_more_after_a_fence,
    CONTRACT.test_of_two_fences_at_once_the_table_holds_the_higher_after_a_second_look,
    CONTRACT.test_a_lower_version_is_skipped_in_silence,
)
"""What of the contract is Spark's own to keep; `make deep` tries the rest with it, too."""


@pytest.fixture
def table(engine, spark, tmp_path, commit):
    return PathTable(engine, spark, tmp_path, commit=commit)


@pytest.mark.alike
@pytest.mark.parametrize("commit", ["auto", deep("spark")])
class TestAtAPath(TargetContract):
    def test_what_attempts_staged_in_vain_is_removed_by_its_name(self, table):
        dead, newer = table.order(), table.order()
        self.write(table, dead, attempt=2)
        home = Path(table.asset.storage.path)
        named = [(dead.run, dead.token), (dead.run, newer.token + 1), ("log-of-another", dead.token)]
        staged = [home / f"{run}.{token}.{attempt}" for run, token in named for attempt in (1, 3)]
        for folder in staged:
            (folder / "_temporary").mkdir(parents=True)
        self.fence(table, newer)
        (committed,) = table.target(newer).find_commits([dead.run])
        table.target(newer).remove_staged([dead.run], upto=newer.token, keep=committed)
        assert [folder.exists() for folder in staged] == [False, False, True, True, True, True]
        assert table.rows() == 1


@pytest.mark.spark_alone  # commits itself
@pytest.mark.parametrize("commit", ["spark"])
@pytest.mark.parametrize("promised", WHERE_SPARK_COMMITS, ids=lambda each: each.__name__)
def test_what_spark_commits(table, promised):
    promised(table)


@pytest.mark.parametrize("commit", ["auto", pytest.param("spark", marks=pytest.mark.spark_alone)])  # commits itself
class TestWhoCommits:
    def test_it_is_committed_to_by_whom_the_asset_says(self, table, commit):
        CONTRACT.write(table, table.order())
        CONTRACT.write(table, table.order())
        writers = {each["engineInfo"].partition(":")[0] for each in DeltaTable(table.asset.storage.path).history()}
        assert ("delta-rs" in writers) == (commit == "auto")
        assert len(writers) == 1

    def test_spark_is_enlisted_before_it_commits_and_commits_nothing_where_that_fails(self, table, commit):
        def refuse() -> None:
            raise RunError("its claim has expired")

        order = table.order()
        bound = SparkTargetFactory(table.engine).open_target(order.asset, app_id=order.app_id, enlist=refuse)
        computation = table.compute(order)
        refused = pytest.raises(RunError, match=r"^its claim has expired$") if commit == "spark" else nullcontext()
        with refused:
            bound.fence(computation, stamp=fence(order))
        with refused:
            bound.write(computation, stamp=data(order))
        assert DeltaTable.is_deltatable(table.asset.storage.path) == (commit == "auto")


@pytest.mark.alike
@pytest.mark.parametrize("commit", ["auto", deep("spark")])
class TestPartitionsAtAPath(PartitionsContract):
    @pytest.fixture
    def by_partitions(self, engine, spark, tmp_path, commit):
        return PathPartitions(engine, spark, tmp_path, commit=commit)
