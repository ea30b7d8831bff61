"""What plan, status and explain say of tables that are not as runs left them."""

import pytest

from sparkassets.core.journal.table_findings import ForeignCommit, TableFinding
from sparkassets.core.partitions import EVERYTHING
from sparkassets.errors import SourceError
from tests.builders import days
from tests.runtime.fakes import FakeTargets

CHANGED = TableFinding(
    "changed",
    table_id="t",
    version=1,
    mark="content:x",
    commits=(ForeignCommit(1, "DELETE", 1736000000, days("2025-01-02")),),
)


class Unchanging(FakeTargets):
    """Finds the same at every look."""

    def __init__(self, found):
        super().__init__()
        self.found = found

    def detect_changes(self, asset, known):
        if asset.name != "daily_revenue":
            return None
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


@pytest.fixture
def left(engine, shop, run_cli, monkeypatch):
    """The project after a run, and what is found of `daily_revenue` from then on."""
    assert run_cli("run", "--json")[0] == 0

    def find(found):
        monkeypatch.setattr("sparkassets.wiring.catalogs.DeltaTargetObserver", lambda: Unchanging(found))

    return find


def test_what_another_writer_changed_is_noticed(left, run_cli, run_json):
    left(CHANGED)
    code, out, _ = run_cli("plan")
    assert code == 0
    assert "noticed:" in out
    document = run_json("plan")
    (note,) = document["notes"]
    assert note["asset"] == "daily_revenue"
    assert note["note"].startswith("changed by another writer: DELETE in version 1 at 2025-01-04T14:13")
    assert note["partitions"] == {"ranges": ["2025-01-02..2025-01-02"], "count": 1}
    assert [run["asset"] for run in document["runs"]] == ["best_shops"]
    (status,) = [each for each in run_json("status") if each["asset"] == "daily_revenue"]
    assert status["notes"][0].startswith("2025-01-02: changed by another writer: DELETE")
    assert "daily_revenue: 2025-01-02: changed by another writer: DELETE" in run_cli("status")[1]
    assert "changed by another writer: DELETE" in run_cli("explain", "daily_revenue")[1]


def test_a_table_that_is_gone_is_due_again(left, run_json, run_cli):
    left(TableFinding("gone", "its table at /w/daily_revenue was deleted", EVERYTHING))
    document = run_json("plan")
    assert [(run["asset"], run["reason"]) for run in document["runs"]] == [
        ("daily_revenue", "2 partitions missing; its table at /w/daily_revenue was deleted")
    ]
    assert "its table at /w/daily_revenue was deleted" in run_cli("status")[1]
    assert "its output was deleted" in run_cli("explain", "daily_revenue")[1]


def test_a_table_that_cannot_be_read_is_told_and_the_command_goes_on(left, run_json, run_cli):
    left(SourceError("cannot read the Delta table at '/w/daily_revenue': no access"))
    waits = {each["asset"]: each["reason"] for each in run_json("plan")["waiting"]}
    assert waits["daily_revenue"] == "cannot read the Delta table at '/w/daily_revenue': no access"
    assert "no access" in run_cli("status")[1]


def test_what_of_a_source_is_left_out_is_told_by_plan_and_status(shop, run_cli, run_json):
    (landed, *_) = sorted(shop.rglob("2025-01-01.csv"))
    landed.with_name("9999-12-31.csv").write_text(landed.read_text())
    told = "1 file of no day of the years 1000 to 8999 left out: 9999-12-31.csv"
    assert told in run_cli("plan")[1]
    assert f"orders: {told}" in run_cli("status")[1]
    (status,) = [each for each in run_json("status") if each["asset"] == "orders"]
    assert status["notes"] == [told]
    assert status["error"] is None
