"""Every write mode of the core has a file in the Spark layer."""

import pytest

from sparkassets.core.writes import WRITES
from sparkassets.errors import RunError
from sparkassets.spark.writes import mode_of
from tests.builders import asset, source

WRITTEN_HERE = {name: write for name, write in WRITES.items() if name != "self"}


@pytest.mark.parametrize("write", WRITTEN_HERE.values(), ids=WRITTEN_HERE)
def test_a_mode_is_in_the_file_of_its_name(write):
    assert type(mode_of(asset("a", write=write))).__module__ == f"sparkassets.spark.writes.{write.name}"


def test_a_source_is_not_written():
    with pytest.raises(RunError, match=r"^s is not written here$"):
        mode_of(source("s"))
