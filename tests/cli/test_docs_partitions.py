"""The page about partitions by time: what its small projects print is what it says."""

from pathlib import Path

import pytest

from tests.documents import agrees, partitions, printed, steps

pytestmark = pytest.mark.usefixtures("engine")


def test_every_command_prints_what_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    compared = 0
    for partition in partitions("docs/partitions.md"):
        if partition.path is not None:
            Path(partition.path).write_text(partition.text)
        for command, told in steps(partition) if partition.language == "console" else ():
            found = printed(command)
            assert agrees(told, found), f"$ {command}\n{found}"
            compared += command.startswith("sparkassets")
    assert compared == 3
