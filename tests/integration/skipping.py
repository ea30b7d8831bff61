"""Rows of many types, and conditions by which Delta's readers skip files of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WIDE = """
SELECT id % 3 AS part, id AS n, IF(id % 7 = 0, NULL, id) AS some, CAST(id AS STRING) AS text,
  repeat(CAST(id DIV 1000 AS STRING), 5000) AS long, id % 2 = 0 AS flag, CAST(id / 100 AS DECIMAL(20, 4)) AS exact,
  IF(id DIV 1000 = 2, double('NaN'), id / 7) AS ratio, CAST(-id AS FLOAT) AS loss,
  DATE'2013-01-01' + CAST(id / 100 AS INT) AS day, timestamp_micros(1356998400000000 + id * 777777) AS at,
  CAST(timestamp_micros(id * 1001) AS TIMESTAMP_NTZ) AS local, IF(id < 2000, NULL, 1) AS late, map('k', id) AS m,
  struct(id AS x, struct(CAST(id AS STRING) AS y, array(id) AS list) AS deep) AS nested,
  named_struct('odd.name', id) AS `dotted.name`
FROM range({first}, {last}, 1, 1)
"""
FILTERS = (
    "n = 3321",
    "n < 1500 OR n > 3400",
    "NOT (n >= 1000)",
    "some IS NULL",
    "some > 3900",
    "late IS NULL",
    "text = '3321'",
    "text > '4'",
    "long = repeat('2', 5000)",
    "long > repeat('2', 49)",
    "exact = 0.01",
    "ratio > 500",
    "ratio = double('NaN')",
    "loss <= -3500",
    "day = DATE'2013-01-15'",
    "at < TIMESTAMP'2013-01-01 00:12:57.776999'",
    "at = timestamp_micros(1356998400000000 + 3999L * 777777)",
    "at >= TIMESTAMP'2013-01-01 00:49:00'",
    "local > TIMESTAMP_NTZ'1970-01-01 00:00:03.5'",
    "local = TIMESTAMP_NTZ'1970-01-01 00:00:00'",
    "nested.x = 2555",
    "`dotted.name`.`odd.name` < 100",
    "part = 1 AND n < 100",
    "part = 1 OR n < 100",
)


def files_read(session: SparkSession, table: Path, condition: str) -> set[str]:
    """The names of the files that Spark would read."""
    frame = session.read.format("delta").load(str(table)).where(condition)
    return {Path(each).name for each in frame.inputFiles()}
