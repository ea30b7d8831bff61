"""The tutorial, followed to the letter: its commands print what the page says."""

import sys
from pathlib import Path

import pytest

from tests.documents import agrees, blocks, printed, steps

pytestmark = pytest.mark.spark


def test_every_command_prints_what_is_told(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    for block in blocks("docs/tutorial.md"):
        if block.path is not None:
            Path(block.path).write_text(block.text)
        for command, told in steps(block) if block.language == "console" else ():
            found = printed(command).replace("starting Spark\n", "")  # there is a session already
            expected = told.replace("starting Spark\n", "")
            assert agrees(expected, found), f"$ {command}\n{found}"
