"""The tutorials, followed to the letter: their commands print what the pages say."""

import re
import sys
from pathlib import Path

import pytest

from tests.documents import TUTORIALS, agrees, printed, steps, tutorial_blocks, write_block

pytestmark = pytest.mark.spark

STARTING = re.compile(r"^\S+ starting S\w+\n", re.MULTILINE)
"""There is a session already."""
FIRST, *OTHERS = TUTORIALS


@pytest.mark.parametrize("name", [FIRST, *(pytest.param(name, marks=pytest.mark.alike) for name in OTHERS)])
def test_every_command_prints_what_is_told(name, spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    for block in tutorial_blocks(name):
        if block.path is not None:
            write_block(block)
        for command, told in steps(block) if block.language == "console" else ():
            found, expected = (STARTING.sub("", text) for text in (printed(command), told))
            assert agrees(expected, found), f"$ {command}\n{found}"
