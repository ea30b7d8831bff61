"""How often a session is asked what a table of a catalog is, and what it says of one that it cannot reach."""

from __future__ import annotations

import pytest

from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.errors import SourceError
from sparkassets.spark.open_tables import find_catalog_table

SALES, ITEMS = (StorageLocation.of_table(("shop", name)) for name in ("sales", "items"))


class Row(dict):
    """One of an answer."""

    def asDict(self):  # noqa: N802  as Spark has it
        return dict(self)


class Session:
    """Answers what it is asked of tables by the times of their commits, and remembers that."""

    def __init__(self, **tables: list[int]) -> None:
        self.tables = tables
        self.asked: list[str] = []

    def sql(self, statement: str):
        self.asked.append(statement)
        self.answer = self.tables[statement.split("`")[3]], "HISTORY" in statement
        return self

    def collect(self):
        times, of_commits = self.answer
        if of_commits:
            return [Row(version=n, timestamp=at, operation="WRITE") for n, at in reversed([*enumerate(times)])]
        return [
            Row(
                format="delta",
                id=f"t{times[0]}",
                partitionColumns=[],
                clusteringColumns=[],
                properties={"n": times[-1]},
                tableFeatures=[],
            )
        ]

    def details(self) -> int:
        """How often it was asked for details since."""
        asked, self.asked = self.asked, []
        return sum("DETAIL" in each for each in asked)


def test_what_a_table_is_is_asked_once_for_each_newest_commit():
    session = Session(sales=[10], items=[10])
    for _ in range(3):
        assert find_catalog_table(session, SALES).properties == {"n": 10}
    assert session.details() == 1
    assert find_catalog_table(session, ITEMS).table_id == "t10"
    assert session.details() == 1
    session.tables["sales"] = [10, 20]
    assert (find_catalog_table(session, SALES).version, find_catalog_table(session, SALES).properties) == (1, {"n": 20})
    assert session.details() == 1


def test_a_table_that_was_made_anew_is_another_at_the_same_version():
    session = Session(sales=[10])
    assert find_catalog_table(session, SALES).table_id == "t10"
    session.tables["sales"] = [30]
    assert find_catalog_table(session, SALES).table_id == "t30"


def test_another_session_asks_for_itself():
    for session in (Session(sales=[10]), Session(sales=[10])):
        assert find_catalog_table(session, SALES).version == 0
        assert session.details() == 1


class Lost:
    """A session that knows no catalogs."""

    def sql(self, statement: str):
        raise ValueError(f"[REQUIRES_SINGLE_PART_NAMESPACE] spark_catalog requires one part: {statement}")


def test_a_catalog_that_the_session_does_not_know_is_named():
    with pytest.raises(SourceError, match=r"the session has no catalog 'main', where main\.gold\.sales should be"):
        find_catalog_table(Lost(), StorageLocation.of_table(("main", "gold", "sales")))
