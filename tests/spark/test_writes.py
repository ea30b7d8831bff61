"""Every write mode of the core has a counterpart in the Spark layer."""

import pytest

from sparkassets.core.writes import WRITES
from sparkassets.errors import RunError
from sparkassets.spark.writes import mode_of
from tests.builders import asset, source

WRITTEN_HERE = {name: write for name, write in WRITES.items() if name != "self"}


@pytest.mark.parametrize("write", WRITTEN_HERE.values(), ids=WRITTEN_HERE)
def test_a_mode_of_the_core_has_one_in_the_spark_layer(write):
    assert type(mode_of(asset("a", write=write))).__module__.startswith("sparkassets.spark.writes.")


def test_a_source_is_not_written():
    with pytest.raises(RunError, match=r"^s is not written by sparkassets$"):
        mode_of(source("s"))
