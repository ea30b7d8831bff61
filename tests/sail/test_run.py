"""A project on Sail: planned, claimed, computed without a JVM, committed by the driver and recorded."""

from datetime import date
from pathlib import Path

import pytest

from sparkassets import Project
from sparkassets.errors import RunError
from sparkassets.spark.capabilities import capabilities_of, require_commits, union_all
from tests.e2e.projects import rows, write

pytestmark = pytest.mark.sail

SHOP = {
    "project.yml": "project: shop\nengine: sail\nassets: [.]\n",
    "orders.yml": """
asset: orders
source: csv
path: landing/{day}.csv
partition: {by: day, column: day}
columns: {shop: string, amount: int}
""",
    "daily.yml": """
asset: daily
partition: {by: day, column: day}
sql: SELECT day, shop, sum(amount) AS total FROM {{ inlets.orders }} GROUP BY ALL
""",
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    write(tmp_path, SHOP)
    write(tmp_path, {"landing/2025-01-01.csv": "shop,amount\na,1\na,2\nb,5\n"})
    write(tmp_path, {"landing/2025-01-02.csv": "shop,amount\na,7\n"})
    return tmp_path


def test_days_of_csv_files_are_summed_and_recorded(shop):
    project = Project.load(shop)
    summary = project.run()
    assert [(each.asset, each.status) for each in summary.runs] == [("daily", "success")]
    first, second = date(2025, 1, 1), date(2025, 1, 2)
    assert rows(shop / "warehouse/daily", "day", "shop", "total") == [
        (first, "a", 3),
        (first, "b", 5),
        (second, "a", 7),
    ]
    assert not project.plan().runs


def test_files_with_another_header_are_refused(shop):
    write(shop, {"landing/2025-01-02.csv": "amount,shop\n7,a\n"})
    summary = Project.load(shop).run(check=False)
    assert "the header of" in summary.failures[0]
    assert "differs from that of the first file in column 1 of 2" in summary.failures[0]


def test_hundreds_of_frames_are_put_together(spark):
    frames = [spark.range(1).selectExpr(f"{n} AS n") for n in range(400)]
    assert union_all(frames).groupBy().sum("n").collect()[0][0] == sum(range(400))


def test_a_commit_that_only_spark_can_make_is_refused(spark):
    assert not capabilities_of(spark).commits
    with pytest.raises(RunError, match="daily: only Spark can make this change"):
        require_commits(spark, "daily")
