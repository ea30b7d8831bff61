"""Every write mode of the core has a counterpart in the Spark layer."""

from dataclasses import replace

import pytest

from sparkassets.core.runs import BranchPromotion
from sparkassets.core.writes import ONE_WORD_WRITES, UpsertWrite
from sparkassets.errors import RunError
from sparkassets.spark.writes import mode_of
from sparkassets.spark.writes.modes import PromotedUpsertMode, ReplaceMode
from tests.builders import asset, source
from tests.integration import orders

WRITTEN_HERE = {name: write for name, write in ONE_WORD_WRITES.items() if name != "self"}


@pytest.mark.parametrize("write", WRITTEN_HERE.values(), ids=WRITTEN_HERE)
def test_a_mode_of_the_core_has_one_in_the_spark_layer(write):
    assert type(mode_of(orders.order(asset("a", write=write)))).__module__.startswith("sparkassets.spark.writes.")


def test_a_source_is_not_written():
    with pytest.raises(RunError, match=r"^s is not written by sparkassets$"):
        mode_of(orders.order(source("s")))


def test_rows_of_a_branch_replace_whatever_mode_they_were_made_by():
    promotion = BranchPromotion("dev", "j", 1, {})
    modes = [
        mode_of(replace(orders.order(asset("a", write=each)), promotes=promotion)) for each in ONE_WORD_WRITES.values()
    ]
    assert {type(mode) for mode in modes} == {ReplaceMode}
    upsert = asset("a", write=UpsertWrite(("k",)))
    assert isinstance(mode_of(replace(orders.order(upsert), promotes=promotion)), PromotedUpsertMode)
