"""The queries of docs/operations.md run on a state as they stand there."""

import re
from pathlib import Path

import pytest

from sparkassets import Project
from tests.integration.test_examples import example

PAGE = Path(__file__).parents[2] / "docs/operations.md"
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
pytestmark = pytest.mark.spark


def test_the_queries_answer(spark, tmp_path):
    folder = example("00_smallest", tmp_path)
    (folder / "landing" / "flights").mkdir(parents=True)
    (folder / "landing" / "flights" / "2025-03-01.csv").write_text("origin,dep_delay\nJFK,10\n")
    Project.load(folder, env={}).run(spark)
    events, runs, covered = (spark.sql(query.replace(".demo", str(folder))).collect() for query in QUERIES)
    assert [row.asset for row in events] == ["daily_delays", "flights"]
    assert [(row.asset, row.kind, row.rows, row.error) for row in runs] == [("daily_delays", "success", "1", None)]
    assert [(row.asset, str(row.covered_from)) for row in covered] == [
        ("daily_delays", "2025-03-01 00:00:00"),
    ]
