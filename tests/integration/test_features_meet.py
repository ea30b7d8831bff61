"""Tables as platforms make them meet what a project asks of them: columns that are added, and branches."""

from __future__ import annotations

import shutil

import pytest

from sparkassets import Project
from sparkassets.runtime.progress import RunFailedError
from tests.depth import deep
from tests.integration.test_table_features import FIRST, LAST, place

pytestmark = pytest.mark.spark
__all__ = ["place"]
DEFAULTS = "what a platform has by default"


@pytest.mark.parametrize(
    ("place", "feature"),
    [deep("path", DEFAULTS), deep("catalog", DEFAULTS), deep("path", "column mapping by id")],
    indirect=["place"],
)
def test_a_column_is_added(place, feature):
    place.make(feature, "raw", "daily", "keyed", "lines")
    place.add("raw", *FIRST)
    project = place.project()
    assert project.run(place.spark, select=["daily"]).ok
    assets = place.folder / "conf" / "assets"
    (assets / "daily.yml").write_text((assets / "daily.yml").read_text() + "schema: add_columns\n")
    (assets / "daily.sql").write_text("SELECT id, day, amount, amount * 2 AS twice FROM {{ inlets.raw }}")
    place.add("raw", LAST)
    assert Project.load(place.folder / "conf", env={}).run(place.spark, select=["daily"]).ok
    assert place.rows("daily") == [*FIRST, LAST]
    found = {row.id: row.twice for row in place.sql("daily", "SELECT id, twice FROM {0}").collect()}
    assert found == {1: None, 2: None, 3: None, 4: 80}


@pytest.mark.parametrize(
    ("place", "feature"), [deep("path", DEFAULTS), deep("path", "deletion vectors")], indirect=["place"]
)
def test_a_branch_of_a_table_of_which_rows_are_deleted(place, feature):
    place.make(feature, "raw", "daily", "keyed", "lines")
    place.add("raw", *FIRST, LAST)
    project = place.project()
    assert project.run(place.spark, select=["daily", "keyed"]).ok
    place.sql("raw", "DELETE FROM {0} WHERE id = 3")
    assert project.run(place.spark, select=["daily", "keyed"]).ok
    shutil.copytree(place.folder / "conf", place.folder / "dev")
    for name in ("daily", "keyed"):
        changed_sql = "SELECT id, day, amount * 100 AS amount FROM {{ inlets.raw }}"
        (place.folder / "dev" / "assets" / f"{name}.sql").write_text(changed_sql)
    dev = Project.load(place.folder / "dev", env={})
    before = place.rows("daily"), place.rows("keyed")
    assert dev.branches.open("b").run(place.spark, select=["daily", "keyed"]).ok
    assert (place.rows("daily"), place.rows("keyed")) == before
    changed = [(1, "2025-01-01", 1000), (2, "2025-01-02", 2000), (4, "2025-01-03", 4000)]
    assert place.rows("_branches/b/daily") == place.rows("_branches/b/keyed") == changed
    with pytest.raises(RunFailedError, match="keyed waits for a person: its rows continue those in the table"):
        dev.branches.promote("b", place.spark)
    assert (place.rows("daily"), place.rows("keyed")) == (changed, before[1])
    assert dev.branches.promote("b", place.spark, rebuild=True).ok
    assert place.rows("keyed") == changed


WHERE = [deep("path", DEFAULTS), deep("catalog", DEFAULTS), deep("path", "deletion vectors")]


@pytest.mark.parametrize(("place", "feature"), WHERE, indirect=["place"])
def test_what_others_do_to_files_alone_is_no_news(place, feature):
    place.make(feature, "raw", "daily", "keyed", "lines")
    place.add("raw", *FIRST, LAST)
    project = place.project()
    assert project.run(place.spark).ok
    place.sql("raw", "DELETE FROM {0} WHERE id = 3")
    assert project.run(place.spark, select=["daily", "keyed"]).ok
    for table in ("raw", "daily", "keyed"):
        for statement in ("OPTIMIZE {0}", "REORG TABLE {0} APPLY (PURGE)", "VACUUM {0}"):
            place.sql(table, statement)
    assert project.run(place.spark, select=["daily", "keyed"]).runs == ()
    place.add("raw", (5, "2025-01-03", 50))
    assert {run.asset for run in project.run(place.spark, select=["daily", "keyed"]).runs} == {"daily", "keyed"}
    assert place.rows("daily") == [*FIRST[:2], LAST, (5, "2025-01-03", 50)]


@pytest.mark.parametrize(("place", "feature"), WHERE, indirect=["place"])
def test_a_table_goes_back_or_is_made_anew(place, feature):
    place.make(feature, "raw", "daily", "keyed", "lines")
    place.add("raw", *FIRST)
    project = place.project()

    def run(*assets):
        assert project.run(place.spark, select=list(assets)).ok
        assert project.run(place.spark, select=list(assets)).runs == ()

    run("daily")
    there = place.sql("raw", "DESCRIBE HISTORY {0}").collect()[0].version
    place.sql("raw", "UPDATE {0} SET amount = 99 WHERE id = 1")
    run("daily")
    assert place.rows("daily")[0] == (1, "2025-01-01", 99)
    place.sql("raw", f"RESTORE TABLE {{0}} TO VERSION AS OF {there}")
    run("daily")
    assert place.rows("daily") == FIRST
    first = place.sql("daily", "DESCRIBE HISTORY {0}").collect()[-1].version
    place.sql("daily", f"RESTORE TABLE {{0}} TO VERSION AS OF {first}")
    assert place.rows("daily") == []
    run("daily")
    assert place.rows("daily") == FIRST
    place.drop("daily")
    run("daily")
    assert place.rows("daily") == FIRST
    place.drop("raw")
    place.make(feature, "raw")
    place.add("raw", *FIRST[:2], LAST)
    run("daily")
    assert set(place.rows("daily")) >= {*FIRST[:2], LAST}


@pytest.mark.parametrize(("place", "feature"), WHERE[:2], indirect=["place"])
def test_a_column_of_the_source_has_another_name(place, feature):
    place.make(feature, "raw", "daily", "keyed", "lines")
    place.add("raw", *FIRST)
    project = place.project()
    assert project.run(place.spark, select=["daily"]).ok
    place.sql("raw", "ALTER TABLE {0} RENAME COLUMN amount TO price")
    place.sql("raw", "UPDATE {0} SET price = 99 WHERE id = 1")
    with pytest.raises(RunFailedError, match="amount"):
        project.run(place.spark, select=["daily"])
    assert place.rows("daily") == FIRST
    place.sql("raw", "ALTER TABLE {0} RENAME COLUMN price TO amount")
    assert project.run(place.spark, select=["daily"]).ok
    assert place.rows("daily") == [(1, "2025-01-01", 99), *FIRST[1:]]


@pytest.mark.parametrize(("place", "feature"), WHERE, indirect=["place"])
def test_rows_are_taken_away_by_rules(place, feature):
    place.make(feature, "raw", "daily", "keyed", "lines")
    place.add("raw", *FIRST, LAST)
    project = place.project()
    for name in ("daily", "keyed"):
        spec = place.folder / "conf" / "assets" / f"{name}.yml"
        spec.write_text(spec.read_text() + "validations:\n  - {sql: amount <> 20, severity: quarantine}\n")
    project = Project.load(place.folder / "conf", env={})
    assert project.run(place.spark, select=["daily", "keyed"]).ok
    assert place.rows("daily") == place.rows("keyed") == [FIRST[0], FIRST[2], LAST]
    place.sql("raw", "UPDATE {0} SET amount = 21 WHERE id = 2")
    assert project.run(place.spark, select=["daily", "keyed"]).ok
    whole = [FIRST[0], (2, "2025-01-02", 21), FIRST[2], LAST]
    assert place.rows("daily") == place.rows("keyed") == whole
