"""A run as docs/python.md has it, and the queries of docs/operations.md on its state."""

from pathlib import Path

import pytest

from tests.documents import blocks
from tests.integration.test_examples import example

QUERIES = [block.text for block in blocks("docs/operations.md", "sql")]
_, RUN = blocks("docs/python.md", "python")
pytestmark = pytest.mark.spark


def test_the_queries_answer(spark, tmp_path, monkeypatch):
    folder = example("00_smallest", tmp_path)
    (folder / "landing" / "flights").mkdir(parents=True)
    (folder / "landing" / "flights" / "2025-03-01.csv").write_text("origin,dep_delay\nJFK,10\n")
    monkeypatch.chdir(tmp_path)
    Path("conf").symlink_to(folder)
    done = {}
    exec(compile(RUN.text, "docs/python.md", "exec"), done)  # noqa: S102  our own page
    assert done["summary"].ok
    events, runs, covered = (spark.sql(query.replace(".demo", str(folder))).collect() for query in QUERIES)
    assert [row.asset for row in events] == ["daily_delays", "flights"]
    assert [(row.asset, row.kind, row.rows, row.error) for row in runs] == [("daily_delays", "success", "1", None)]
    assert [(row.asset, str(row.covered_from)) for row in covered] == [
        ("daily_delays", "2025-03-01 00:00:00"),
    ]
