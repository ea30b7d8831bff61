"""The page about partitions by time: what its small projects print is what it says."""

from pathlib import Path

import pytest

from tests.documents import agrees, code_blocks, printed, steps

pytestmark = pytest.mark.usefixtures("engine")


def test_every_command_prints_what_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    compared = 0
    for block in code_blocks("docs/partitions.md"):
        if block.path is not None:
            Path(block.path).write_text(block.text)
        for command, told in steps(block) if block.language == "console" else ():
            found = printed(command)
            assert agrees(told, found), f"$ {command}\n{found}"
            compared += command.startswith("sparkassets")
    assert compared == 3
