"""The queries of docs/operations.md run on a state as they stand there."""

import re
from pathlib import Path

import pytest

from sparkassets import Project
from sparkassets.core.journal.codec import encode
from sparkassets.state.delta_store import DeltaStore
from tests.builders import Story, asset, project, source
from tests.integration.test_examples import example

PAGE = Path(__file__).parents[2] / "docs/operations.md"
QUERIES = re.findall(r"```sql\n(SELECT .*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
pytestmark = pytest.mark.spark


def test_the_queries_answer(spark, tmp_path):
    folder = example("00_smallest", tmp_path)
    (folder / "landing" / "flights").mkdir(parents=True)
    (folder / "landing" / "flights" / "2025-03-01.csv").write_text("origin,dep_delay\nJFK,10\n")
    Project.load(folder, env={}).run(spark)
    events, runs, covered, segments = (spark.sql(query.replace(".demo", str(folder))).collect() for query in QUERIES)
    assert [row.asset for row in events] == ["daily_delays", "flights"]
    assert [(row.asset, row.kind, row.rows, row.error) for row in runs] == [("daily_delays", "success", "1", None)]
    assert [(row.asset, str(row.covered_from)) for row in covered] == [
        ("daily_delays", "2025-03-01 00:00:00"),
    ]
    assert segments == []


def test_the_time_of_segments_is_told(spark, tmp_path):
    stores = {"store": ("a", "b, c")}
    sources = [source("days", segments=stores), source("whole", by=None, segments=stores)]
    computed = [asset("sales", "days", segments=stores), asset("shops", "whole", by=None, segments=stores)]
    story = Story(project(*sources, *computed))
    story.observed("days", "2025-03-01..2025-03-02,*", "2025-03-04,b%2C c")
    story.observed("whole", "a")
    story.now = "2025-04-01"
    story.run_all()
    store = DeltaStore(str(tmp_path))
    store.create(project="test")
    store.append(story.rows, after=0)
    store.save_snapshot(encode(story.state), seq=story.state.seq)
    _, _, covered, segments = (spark.sql(each.replace(".demo/state", str(tmp_path))).collect() for each in QUERIES)
    assert [(row.asset, str(row.covered_from)[:10], str(row.covered_until)[:10]) for row in covered] == [
        ("sales", "2025-03-01", "2025-03-03"),
        ("sales", "2025-03-04", "2025-03-05"),
    ]
    assert [(row.asset, row.segment, str(row.covered_from)[:10], str(row.covered_until)[:10]) for row in segments] == [
        ("sales", "a", "2025-03-01", "2025-03-03"),
        ("sales", "b, c", "2025-03-01", "2025-03-03"),
        ("sales", "b, c", "2025-03-04", "2025-03-05"),
        ("shops", "a", "None", "None"),
    ]
