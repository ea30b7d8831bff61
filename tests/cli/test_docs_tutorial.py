"""The tutorials without Spark: whatever is decided, from the plan to the backfill, is printed as the page says.

What runs print, rows included, is compared where there is Spark: tests/integration/test_docs_tutorial.py.
"""

import re
import sys
from pathlib import Path

import pytest

from sparkassets.core.partitions import PartitionSet
from sparkassets.core.runs import TablePosition
from tests.builders import days
from tests.documents import TUTORIALS, agrees, printed, steps, tutorial_blocks, write_block

COMPUTES = re.compile(r"sparkassets (run|backfill(?!.*--dry-run)|status|iterations)")
"""Commands that print what an engine made."""

READS_TABLES = re.compile(r"python3 (look|vacuum)\.py|sparkassets show")

UNCHANGED = {"sales": PartitionSet.by_segment({("paris",): days("2025-01-02").time})}
"""What comes out as it was when it is computed again, which an engine that computes nothing must be told."""


WITHOUT_SPARK = [name for name in TUTORIALS if name != "docs/cookbook/spark-submit.md"]
"""A job that writes its own table needs Spark."""


@pytest.mark.parametrize("name", WITHOUT_SPARK)
def test_every_decision_is_printed_as_told(name, engine, tmp_path, monkeypatch):
    engine.same |= UNCHANGED
    engine.hooks["customers", "compute"] = lambda order: engine.measures.update(customers=changes_read(order))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    compared = 0
    for block in tutorial_blocks(name):
        if block.path is not None:
            write_block(block)
        for command, told in steps(block) if block.language == "console" else ():
            if READS_TABLES.match(command):
                continue
            found = printed(command)
            if not COMPUTES.match(command):
                assert agrees(without_sizes(told), found), f"$ {command}\n{found}"
                compared += command.startswith("sparkassets")
    assert compared > 1


def changes_read(order):
    """What a run that reads changes measures: how far it came in each inlet."""
    return {"watermarks": {name: str(TablePosition(pin.table_id, pin.version)) for name, pin in order.pins.items()}}


def without_sizes(told):
    """What a page tells, where no table was written and no run took any time."""
    return re.sub(r"… kB| \(… s to … s\)", "…", re.sub(r"\d+ rows", "… rows", told))
