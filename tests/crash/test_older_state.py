"""The state is put back from a backup, or copied, while the tables are newer: nothing is doubled, and all is told."""

from __future__ import annotations

import shutil

import pytest
from deltalake import DeltaTable

from sparkassets.cli import main
from sparkassets.errors import StateError
from tests.crash.driver import PlainProject
from tests.crash.shop import SCENARIOS, Shop

SAMPLE = ("latest_only, append", "every_instance, append, two outlets", "date_range, replace", "full_refresh, publish")
NAMES = [pytest.param(each, marks=() if each in SAMPLE else pytest.mark.crash) for each in SCENARIOS]
HINT = (
    "a restored or copied state is older than its tables: restore the newest state, or tables of the same age; "
    "without either, remove the state, and everything is recomputed"
)


class Kept(Shop):
    """A shop that is backed up and restored."""

    def run(self):
        """A driver, to its end."""
        return PlainProject.load(self.folder).run(check=False)

    def sell_and_run(self, times=1):
        """Its sales are in."""
        for _ in range(times):
            self.sell()
            self.run()

    def keep(self, what):
        """A backup of a folder."""
        shutil.copytree(self.home / what, self.home / f"{what}.backup")

    def restore(self, what):
        """The backup takes the folder's place."""
        shutil.rmtree(self.home / what)
        shutil.copytree(self.home / f"{what}.backup", self.home / what)

    def refused(self):
        """What a driver is told that changes nothing."""
        versions = [DeltaTable(str(self.table(name))).version() for name in self.scenario.tables]
        with pytest.raises(StateError) as told:
            self.run()
        assert [DeltaTable(str(self.table(name))).version() for name in self.scenario.tables] == versions
        assert told.value.hint == HINT
        return str(told.value.args[0])

    def is_right(self):
        """Whether every row is there once."""
        found = self.wrong()
        return (found.lost, found.doubled) == (0, 0)


@pytest.mark.parametrize("first", [True, False], ids=["after the first run", "before any"])
@pytest.mark.parametrize("name", NAMES)
def test_a_state_that_is_older_than_its_tables_is_told_and_nothing_runs(name, first, tmp_path):
    shop = Kept(tmp_path, SCENARIOS[name])
    if first:
        shop.sell_and_run()
    else:
        PlainProject.load(shop.folder)._context.adapters.store.create(project="shop")
    shop.keep("state")
    shop.sell_and_run(3)
    shutil.copytree(tmp_path / "state", tmp_path / "newest")
    shop.restore("state")
    table = shop.scenario.tables[0]
    said = shop.refused()
    assert said.startswith(f"the state is older than the table of {table}: version ")
    assert f" of its table at {shop.table(table)} is by copy-" in said
    assert said.endswith(", which the journal does not record")
    shop.sell()
    shop.refused()
    shutil.rmtree(tmp_path / "state")
    shutil.copytree(tmp_path / "newest", tmp_path / "state")
    assert [run.status for run in shop.run().runs if run.status != "success"] == []
    assert shop.is_right()


def test_whatever_is_recorded_in_between_does_not_hide_it(tmp_path):
    shop = Kept(tmp_path, SCENARIOS["every_instance, append"])
    shop.sell_and_run()
    shop.keep("state")
    shop.sell_and_run(3)
    shop.restore("state")
    for _ in range(20):  # so that the tokens of what ran since are numbers that the journal has
        PlainProject.load(shop.folder).events.add("s3://elsewhere")
    shop.refused()


def test_tables_that_are_as_old_go_on(tmp_path):
    shop = Kept(tmp_path, SCENARIOS["latest_only, append"])
    shop.sell_and_run()
    shop.keep("state")
    shop.keep("warehouse")
    shop.sell_and_run(2)
    shop.restore("state")
    shop.refused()
    shop.restore("warehouse")
    assert [run.status for run in shop.run().runs] == ["success"]
    assert shop.is_right()


def test_without_a_state_all_is_computed_anew(tmp_path):
    shop = Kept(tmp_path, SCENARIOS["date_range, replace"])
    shop.sell_and_run()
    shop.keep("state")
    shop.sell_and_run(2)
    shop.restore("state")
    shop.refused()
    shutil.rmtree(tmp_path / "state")
    assert [run.status for run in shop.run().runs] == ["success"]
    assert shop.is_right()


@pytest.mark.parametrize(
    "name", ["latest_only, append", "every_instance, append", "every_instance, append, two outlets"]
)
def test_without_a_state_nothing_is_appended_again(name, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    shop = Kept(tmp_path, SCENARIOS[name])
    shop.sell_and_run()
    shutil.rmtree(tmp_path / "state")
    versions = [DeltaTable(str(shop.table(each))).version() for each in shop.scenario.tables]
    for verb in ("plan", "run"):
        main([verb, "--project", str(shop.folder)])
        shown = capsys.readouterr()
        text = " ".join((shown.out + shown.err).split())
        assert "copy appended to its table" in text, verb
        assert "mark the rows in the table (mark copy --done), or use a new table" in text, verb
    assert [DeltaTable(str(shop.table(each))).version() for each in shop.scenario.tables] == versions
    assert shop.is_right()


def test_what_a_table_has_is_marked_and_only_new_rows_are_appended(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    shop = Kept(tmp_path, SCENARIOS["every_instance, append"])
    shop.sell_and_run()
    shutil.rmtree(tmp_path / "state")
    shop.run()
    project = str(shop.folder)
    reason = ["--done", "--reason", "appended under the state that is lost"]
    assert main(["mark", "copy", "--partition", "2024-01-01", *reason, "--project", project]) == 0
    shop.sell()
    assert [run.status for run in shop.run().runs] == ["success"]
    assert shop.is_right()


def test_two_that_go_on_from_copies_of_one_state_are_told_of_each_other(tmp_path):
    shop = Kept(tmp_path, SCENARIOS["every_instance, append"])
    shop.sell_and_run()
    shop.keep("state")
    shop.sell_and_run()
    shutil.move(tmp_path / "state", tmp_path / "one")
    shutil.copytree(tmp_path / "state.backup", tmp_path / "state")
    shop.refused()
    shutil.rmtree(tmp_path / "state")
    shutil.move(tmp_path / "one", tmp_path / "state")
    shop.run()
    assert shop.is_right()


def test_who_only_looks_is_told_too(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    shop = Kept(tmp_path, SCENARIOS["date_range, replace"])
    shop.sell_and_run()
    shop.keep("state")
    shop.sell_and_run()
    shop.restore("state")
    for verb, code in (["plan"], 3), (["state", "verify"], 3), (["status"], 3), (["events", "list"], 0):
        assert main([*verb, "--project", str(shop.folder)]) == code, verb
        told = capsys.readouterr()
        assert ("the state is older than the table of copy" in told.out + told.err) == (code == 3), verb
