"""A target that is merged into keeps what targets promise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sparkassets.core.writes import UpsertWrite
from tests.contracts.target_contract import PartitionsContract, TargetContract
from tests.integration.orders import sql
from tests.integration.test_target_contract import PathPartitions, PathTable

pytestmark = pytest.mark.spark


@pytest.fixture
def table(engine, spark, tmp_path):
    made = PathTable(engine, spark, tmp_path, commit="auto")
    write = UpsertWrite(("run",), newest_by=("n",), delete_when="false")
    made.asset = replace(made.asset, write=write, **sql("SELECT '{{ run_id }}' AS run, 1 AS n"))
    return made


def test_what_an_older_claim_has_prepared_to_merge_lands_no_more_after_a_fence(table):
    TargetContract().test_what_an_older_claim_has_prepared_lands_no_more_after_a_fence(table)


@pytest.mark.deep
class TestByKeys(TargetContract):
    pass


@pytest.mark.deep
class TestPartitionsByKeys(PartitionsContract):
    @pytest.fixture
    def by_partitions(self, engine, spark, tmp_path):
        made = PathPartitions(engine, spark, tmp_path, commit="auto")
        made.asset = replace(made.asset, write=UpsertWrite(("store",)))
        return made
