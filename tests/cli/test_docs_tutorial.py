"""The tutorials without Spark: whatever is decided, from the plan to the backfill, is printed as the page says.

What runs print, rows included, is compared where there is Spark: tests/integration/test_docs_tutorial.py.
"""

import re
from pathlib import Path

import pytest

from sparkassets.core.partitions import PartitionSet
from tests.builders import days
from tests.documents import agrees, code_blocks, printed, steps

COMPUTES = re.compile(r"sparkassets (run|backfill(?!.*--dry-run))")


UNCHANGED = {"sales": PartitionSet.by_segment({("paris",): days("2025-01-02").time})}
"""What comes out as it was when it is computed again, which an engine that computes nothing must be told."""


@pytest.mark.parametrize("name", ["docs/tutorial.md", "docs/segments.md"])
def test_every_decision_is_printed_as_told(name, engine, tmp_path, monkeypatch):
    engine.same |= UNCHANGED
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    compared = 0
    for block in code_blocks(name):
        if block.path is not None:
            Path(block.path).write_text(block.text)
        for command, told in steps(block) if block.language == "console" else ():
            if "look.py" in command:
                continue
            found = printed(command)
            if not COMPUTES.match(command):
                assert agrees(without_sizes(told), found), f"$ {command}\n{found}"
                compared += command.startswith("sparkassets")
    assert compared > 5


def without_sizes(told):
    """What a page tells, where no table was written and no run took any time."""
    return re.sub(r"… kB| \(… s to … s\)", "…", re.sub(r"\d+ rows", "… rows", told))
