"""Small real projects on disk, and the `sparkassets` command as a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

COMMAND = Path(sys.executable).with_name("sparkassets")
ORDERS = [("Amsterdam", 3), ("Berlin", 2), ("Cairo", 2)]
"""What `best_shops` holds once the project that `init` writes has run."""


def write(folder: Path, files: Mapping[str, str]) -> Path:
    """Writes files by their paths below ``folder``; returns ``folder``."""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return folder


def environment(**more: str) -> dict[str, str]:
    """This process's, without what would let a child find the repository by accident."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | more


def called(*arguments: str, cwd: Path, command: Path = COMMAND, **more: str) -> subprocess.CompletedProcess[str]:
    """One invocation of the command, as text."""
    return subprocess.run(
        [command, *arguments], cwd=cwd, env=environment(**more), capture_output=True, text=True, check=False
    )


def sell(table: Path, *rows: tuple[int, str, int]) -> None:
    """Somebody else's commit: sales as (id, day, amount), appended to a Delta table."""
    ids, days, amounts = zip(*rows, strict=True)
    data = pa.table({"id": ids, "day": [date.fromisoformat(day) for day in days], "amount": amounts})
    write_deltalake(table, data, mode="append", partition_by=["day"])


def rows(table: Path, *columns: str) -> list[tuple[Any, ...]]:
    """What a Delta table holds, sorted."""
    read = pa.table(DeltaTable(table).scan().read_all())
    return sorted(zip(*(read.column(name).to_pylist() for name in columns), strict=True))


def stamps(table: Path, kind: str = "data") -> list[dict[str, Any]]:
    """What the commits of a table say of themselves, oldest first."""
    told = (json.loads(commit["userMetadata"]) for commit in reversed(DeltaTable(table).history()))
    return [marker for marker in told if marker["kind"] == kind]


def orders(home: Path) -> list[tuple[Any, ...]]:
    """What `best_shops` holds in the project that `init` wrote into ``<home>/conf``."""
    return rows(home / "conf" / "warehouse" / "best_shops", "shop", "orders")


def document(done: subprocess.CompletedProcess[str]) -> Any:
    """The document of an invocation with --json, which must have succeeded."""
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)
