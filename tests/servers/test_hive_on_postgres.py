"""Tables of a Hive metastore on a real database: two drivers at once, one that is killed, and the next that goes on."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyspark
import pytest

from sparkassets import Project
from sparkassets.spark.installation import JarFetch, find_java
from tests.e2e.projects import sell, stamps
from tests.e2e.test_hive import FIRST, SECOND, Lake
from tests.servers.postgres import USER, postgres

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(1800),
    pytest.mark.skipif("SPARKASSETS_MINIO" not in os.environ, reason="`make servers` runs it"),
]
DRIVER = """<ivy-module version="2.0">
  <info organisation="sparkassets" module="postgresql"/>
  <configurations><conf name="default"/></configurations>
  <dependencies><dependency org="org.postgresql" name="postgresql" rev="42.7.8" conf="default->master"/></dependencies>
</ivy-module>
"""


def driver_jar(folder: Path) -> Path:
    fetch = JarFetch("the driver of PostgreSQL", "postgresql", DRIVER, folder)
    (jar,) = fetch.jars(Path(pyspark.__file__).parent, find_java())
    return jar


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with postgres() as url:
        found = Lake(tmp_path, url)
        text = (tmp_path / "conf" / "project.yml").read_text()
        connection = "spark.hadoop.javax.jdo.option.Connection"
        more = {
            "spark.driver.extraClassPath": str(driver_jar(tmp_path / "driver")),
            f"{connection}DriverName": "org.postgresql.Driver",
            f"{connection}UserName": USER,
            f"{connection}Password": "unused",
            # tables as they are needed; a constraint would wait for the transaction that needs them
            "spark.hadoop.datanucleus.schema.autoCreateTables": "true",
            "spark.hadoop.datanucleus.schema.autoCreateColumns": "true",
            "spark.hadoop.datanucleus.schema.autoCreateConstraints": "false",
            "spark.hadoop.hive.metastore.schema.verification": "false",
        }
        text += "".join(f'  {key}: "{value}"\n' for key, value in more.items())
        (tmp_path / "conf" / "project.yml").write_text(text)
        yield found


def test_two_drivers_and_one_that_is_killed(lake: Lake) -> None:
    sell(lake.home / "landed" / "sales", *FIRST)
    with ThreadPoolExecutor(2) as threads:
        both = [run for runs in threads.map(lambda _: lake.run(), range(2)) for run in runs]
    both += lake.run()
    assert Counter(run["status"] for run in both) == {"success": 4}
    lake.holds(*FIRST)
    sell(lake.home / "landed" / "sales", *SECOND)
    lake.killed("ledger", "computed")
    lake.killed("daily", "written")
    runs = {run["asset"]: run for run in lake.run()}
    assert runs["ledger"]["reason"].startswith("takes over ledger-")
    assert runs["daily"]["adopted"]
    lake.holds(*FIRST, *SECOND)
    for table in ("ledger", "daily", "prices", "total"):
        recorded = [row.run for row in Project.load(lake.home / "conf").history.rows(asset=table, kinds=["success"])]
        assert recorded == [each["run"] for each in stamps(lake.home / "warehouse" / table)]
