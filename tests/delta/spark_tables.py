"""Logs of Delta tables that ask something of their writers, as Spark makes them, for tests without Spark.

``.venv/bin/python -m tests.delta.spark_tables`` records them again in ``tests/vectors/delta_tables.json``.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDED = Path(__file__).parents[1] / "vectors" / "delta_tables.json"
TABLE = "delta.`{path}`"


def created(columns: str = "n INT", properties: str = "", *, more: str = "") -> str:
    """The statement that makes a table."""
    told = f" TBLPROPERTIES ({properties})" if properties else ""
    return f"CREATE TABLE {TABLE} ({columns}) USING delta{more}{told}"


def altered(change: str) -> str:
    """A statement that changes it."""
    return f"ALTER TABLE {TABLE} {change}"


STATEMENTS: Mapping[str, Sequence[str]] = {
    "plain": [created()],
    "deletion vectors": [created(properties="'delta.enableDeletionVectors' = 'true'")],
    "change feed": [created(properties="'delta.enableChangeDataFeed' = 'true'")],
    "change feed that ended": [
        created(properties="'delta.enableChangeDataFeed' = 'true'"),
        altered("SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'false')"),
    ],
    "append-only": [created(properties="'delta.appendOnly' = 'true'")],
    "column mapping": [created(properties="'delta.columnMapping.mode' = 'name'")],
    "row tracking": [created(properties="'delta.enableRowTracking' = 'true'")],
    "commit timestamps": [created(properties="'delta.enableInCommitTimestamps' = 'true'")],
    "checkpoints": [created(properties="'delta.checkpointPolicy' = 'v2'")],
    "type widening": [created(properties="'delta.enableTypeWidening' = 'true'")],
    "compaction": [created(properties="'delta.autoOptimize.autoCompact' = 'true'")],
    "clustering": [created(more=" CLUSTER BY (n)")],
    "constraint": [created(), altered("ADD CONSTRAINT few CHECK (n < 9)")],
    "generated": [created("n INT, m INT GENERATED ALWAYS AS (n + 1)")],
    "identity": [created("n INT, i BIGINT GENERATED ALWAYS AS IDENTITY")],
    "limited": [created("n INT, s VARCHAR(3)")],
    "default": [created("n INT DEFAULT 7", "'delta.feature.allowColumnDefaults' = 'supported'")],
    "variant": [created("n INT, v VARIANT")],
    "no time zone": [created("n INT, t TIMESTAMP_NTZ")],
    "nested": [created("n INT, s STRUCT<a: ARRAY<STRUCT<b: INT>>>")],
    "not null": [created("n INT NOT NULL, s STRUCT<a: INT NOT NULL>")],
}
"""What makes each table, by its name."""

_RANDOM = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NO_ID = "00000000-0000-0000-0000-000000000000"


def log_of(spark: SparkSession, path: str, statements: Sequence[str]) -> list[list[dict[str, Any]]]:
    """The actions of each commit of the table that these make there, without what differs from time to time."""
    for statement in statements:
        spark.sql(statement.format(path=path))
    logs = sorted(Path(path, "_delta_log").glob("*.json"))
    return [list(_lasting(log.read_text())) for log in logs]


def _lasting(text: str) -> Iterator[dict[str, Any]]:
    """The actions of one commit, but for who made it and when; identifiers are all the same, features sorted."""
    for line in _RANDOM.sub(_NO_ID, text).splitlines():
        action = json.loads(line)
        if "commitInfo" in action:
            continue
        action.get("metaData", {}).pop("createdTime", None)
        protocol = action.get("protocol", {})  # whose features are sets, which each version of Delta lists its own way
        for features in protocol.keys() & {"readerFeatures", "writerFeatures"}:
            protocol[features].sort()
        yield action


def recorded() -> dict[str, list[list[dict[str, Any]]]]:
    """The logs as they were recorded, by the tables' names."""
    found: dict[str, list[list[dict[str, Any]]]] = json.loads(RECORDED.read_text())["logs"]
    return found


def write_log(folder: Path, commits: Sequence[Sequence[Mapping[str, Any]]]) -> None:
    """Makes a table of a log."""
    log = folder / "_delta_log"
    log.mkdir(parents=True)
    for version, actions in enumerate(commits):
        (log / f"{version:020d}.json").write_text("\n".join(map(json.dumps, actions)))


def main() -> None:
    """Records all."""
    from sparkassets.spark.session import open_session

    session, _ = open_session({"sparkassets.small_data": "true"}, name="recording")
    with tempfile.TemporaryDirectory() as folder:
        logs = {
            name: log_of(session, f"{folder}/{number}", statements)
            for number, (name, statements) in enumerate(STATEMENTS.items())
        }
    about = "Logs that Spark's Delta writes, without who made them and when; recorded by tests/delta/spark_tables.py."
    RECORDED.write_text(json.dumps({"about": about, "logs": logs}, indent=1, ensure_ascii=False) + "\n")
    session.stop()


if __name__ == "__main__":
    main()
