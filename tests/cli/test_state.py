"""``sparkassets state``, and what is said of history that is not kept any more."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from deltalake import DeltaTable

from sparkassets import Project
from sparkassets.core.journal.rows import FORMAT
from sparkassets.ports import HistoryQuery
from sparkassets.wiring.host import SystemClock

PROJECT = """\
project: shop
state: {path: ./state, retention: 30d}
"""
FEED = """\
asset: feed
source: true
uri: s3://lake/feed
partition: {by: day, column: day}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "conf" / "assets").mkdir(parents=True)
    (tmp_path / "conf" / "project.yml").write_text(PROJECT)
    (tmp_path / "conf" / "assets" / "feed.yml").write_text(FEED)
    return tmp_path / "conf"


@pytest.fixture
def clock(monkeypatch):
    """The day of January 2025 that it is."""

    class Calendar:
        day = 1

        def now(self) -> datetime:
            return datetime(2025, 1, 1, 12, tzinfo=UTC) + timedelta(days=self.day - 1)

    calendar = Calendar()
    monkeypatch.setattr(SystemClock, "now", calendar.now)
    return calendar


@pytest.fixture
def announced(folder, clock):
    """An event every five days, until the 56th."""
    project = Project.load(folder)
    for clock.day in range(1, 57, 5):
        day = (datetime(2025, 1, 1, tzinfo=UTC) + timedelta(days=clock.day - 1)).strftime("%Y-%m-%d")
        project.events.add("feed", partition=day, extra={"password_file": "none"})
    return folder


def test_compact_lets_go_of_what_is_older_than_it_is_kept(announced, run_cli):
    before = Project.load(announced)._context.read_state("test")
    code, out, _ = run_cli("state", "compact", "--project", str(announced))
    assert (code, out) == (0, "compacted: 7 entries; 6 expired entries were removed\n")
    assert (
        run_cli("state", "compact", "--project", str(announced), "--json")[1]
        == '{\n  "entries": 7,\n  "let_go": 0\n}\n'
    )
    after = Project.load(announced)._context.read_state("test")
    assert (after.assets, after.datasets, after.seq) == (before.assets, before.datasets, before.seq)


def test_what_is_asked_of_history_says_where_it_begins(announced, run_cli):
    run_cli("state", "compact", "--project", str(announced))
    where = "entries before 2025-01-26T12:00:00Z are no longer kept (`retention` of the state)\n"
    code, out, err = run_cli("events", "list", "--project", str(announced), "--last", "100")
    assert (code, len(out.splitlines()), err) == (0, 8, where)
    code, out, err = run_cli("events", "list", "--project", str(announced), "--last", "100", "--json")
    assert (len(json.loads(out)), err) == (7, where)
    assert run_cli("events", "list", "--project", str(announced), "--last", "7")[2] == ""
    assert run_cli("runs", "--project", str(announced))[2] == where
    code, out, err = run_cli("lineage", "feed", "--partition", "2025-01-06", "--project", str(announced))
    assert (code, "the journal has no record of the run" in out, err) == (0, True, where)
    assert run_cli("lineage", "feed", "--partition", "2025-02-10", "--project", str(announced))[2] == ""
    assert run_cli("runs", "feed-1", "--project", str(announced))[2].endswith(
        f"hint: `sparkassets runs` lists them; {where}"
    )


def test_a_driver_lets_go_by_itself_once_that_is_worth_it(folder, clock):
    project = Project.load(folder)
    store = project._context.adapters.store
    for clock.day in range(1, 201, 2):
        project.events.add("feed", partition="2025-01-01", extra={"day": clock.day})
    first = store.read_history(HistoryQuery(after_seq=store.oldest_seq() - 1, up_to_seq=store.oldest_seq()))[0]
    assert timedelta(days=30) < clock.now() - first.at < timedelta(days=100)
    assert project.state.verify().damages == ()


def test_verify(announced, run_cli):
    assert run_cli("state", "verify", "--project", str(announced)) == (
        0,
        "intact: entries 1 to 13, and the snapshot matches them\n",
        "",
    )
    run_cli("state", "compact", "--project", str(announced))
    code, out, _ = run_cli("state", "verify", "--project", str(announced), "--json")
    assert (code, json.loads(out)) == (0, {"begins": 7, "entries": 7, "damages": [], "tables": []})


def test_verify_names_a_snapshot_that_is_not_what_the_journal_comes_to(announced, run_cli):
    project = Project.load(announced)
    project.state.compact()
    store = project._context.adapters.store
    rows, seq = store._watermarks.read_snapshot()
    harmed = [row if row.asset is None else type(row)(**{**_fields(row), "cursor": '{"other": 1}'}) for row in rows]
    store._watermarks._replace(harmed, seq=seq, is_superseded=lambda: False)
    code, out, _ = run_cli("state", "verify", "--project", str(announced))
    hint = "stop all drivers and remove the state's `watermarks`; it is rebuilt from the journal"
    assert code == 3
    assert out == f"the snapshot at entry 13 differs from the journal for feed\n  hint: {hint}\n"


def _fields(row):
    return {name: getattr(row, name) for name in row.__dataclass_fields__}


def test_there_is_no_state(folder, run_cli):
    for verb in (["compact"], ["verify"], ["migrate"], ["export", "--out", "x.jsonl"]):
        code, out, err = run_cli("state", *verb, "--project", str(folder))
        assert (code, out) == (3, "")
        assert "no state in" in err


def test_export(announced, run_cli, tmp_path):
    file = tmp_path / "state.jsonl"
    code, out, _ = run_cli("state", "export", "--out", str(file), "--project", str(announced))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert (code, out) == (0, f"{len(lines):,} lines in {file}\n")
    assert {key: lines[0][key] for key in ("table", "project", "format", "begins", "seq")} == {
        "table": "state",
        "project": "shop",
        "format": FORMAT,
        "begins": 1,
        "seq": 13,
    }
    told = [line for line in lines if line["table"] == "journal"]
    assert [line["seq"] for line in told] == list(range(1, 14))
    assert (told[-1]["kind"], told[-1]["at"], told[-1]["extra"]) == (
        "event",
        "2025-02-25T12:00:00Z",
        {"password_file": "none"},
    )
    assert {line["table"] for line in lines} == {"state", "journal"}
    assert run_cli("state", "export", "--out", str(file), "--project", str(announced))[0] == 0
    run_cli("state", "compact", "--project", str(announced))
    run_cli("state", "export", "--out", str(file), "--project", str(announced))
    tables = [json.loads(line)["table"] for line in file.read_text().splitlines()]
    assert [tables.count(name) for name in ("state", "base", "journal", "watermarks")] == [1, 2, 7, 2]


@pytest.mark.parametrize("text", ["", "mine\n", "{}\n", '{"sparkassets_export": 1, "project": "other"}\n'])
def test_export_never_goes_over_what_is_not_its_own(announced, run_cli, tmp_path, text):
    file = tmp_path / "mine.jsonl"
    file.write_text(text)
    code, _, err = run_cli("state", "export", "--out", str(file), "--project", str(announced))
    assert (code, file.read_text()) == (2, text)
    assert f"{str(file)!r} exists and is not an export of project 'shop'" in err
    assert list(tmp_path.glob(".*part")) == []


def test_export_without_values_of_the_environment(folder, clock, run_cli, monkeypatch, tmp_path):
    monkeypatch.setenv("LAKE", "hidden-lake")
    (folder / "assets" / "feed.yml").write_text(FEED.replace("s3://lake", "s3://${LAKE}"))
    Project.load(folder).events.add("feed", partition="2025-01-01")
    file = tmp_path / "state.jsonl"
    run_cli("state", "export", "--out", str(file), "--project", str(folder))
    assert "hidden-lake" not in file.read_text()
    assert "s3://${LAKE}/feed" in file.read_text()
    assert all(json.loads(line) for line in file.read_text().splitlines())


def test_migrate(announced, run_cli):
    assert run_cli("state", "migrate", "--project", str(announced)) == (
        0,
        f"everything is already in format {FORMAT}\n",
        "",
    )
    table = DeltaTable(str(announced / "state" / "journal"))
    assert table.metadata().configuration["sparkassets.format"] == str(FORMAT)
