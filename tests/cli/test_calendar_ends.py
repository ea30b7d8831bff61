"""At the ends of the calendar: what is typed is refused with a sentence, and no plan fails for it."""

import pytest


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "assets").mkdir()
    (tmp_path / "project.yml").write_text("project: p\nassets: [assets]\n")
    window = "{window: [-7d, 7d], tolerance: 1y, settle: 1d, fresh_within: 30d}"
    for by in ("day", "hour", "week", "month", "year"):
        keys = f"partition: {{by: {by}, column: at}}\n"
        (tmp_path / "assets" / f"s_{by}.yml").write_text(f"asset: s_{by}\nsource: true\n{keys}")
        consumer = f"asset: c_{by}\n{keys}inlets: {{s_{by}: {window}}}\nsql: SELECT 1\n"
        (tmp_path / "assets" / f"c_{by}.yml").write_text(consumer)
    return str(tmp_path)


@pytest.mark.parametrize(
    ("by", "key"),
    [
        *(
            ("day", key)
            for key in ("9999-12-31", "0001-01-01", "0000-01-01", "10000-01-01", "8999-12-31", "1000-01-01")
        ),
        *(("hour", key) for key in ("9999-12-31T23", "0001-01-01T00", "8999-12-31T23")),
        *(("week", key) for key in ("9999-W52", "9999-W53", "0001-W01", "8999-W52")),
        *(("month", key) for key in ("9999-12", "0001-01", "1000-01")),
        *(("year", key) for key in ("9999", "0001", "0000", "8999")),
    ],
)
def test_no_key_at_the_ends_is_a_bug(project, run_cli, by, key):
    expected = 0 if key[:4] in ("8999", "1000") and not key.startswith("10000") else 2
    for arguments in (
        ["events", "add", f"s_{by}", "--partition", key],
        ["explain", f"c_{by}", "--partition", key],
        ["backfill", f"c_{by}", "--partition", key, "--dry-run"],
    ):
        code, out, err = run_cli(*arguments, "--project", project)
        assert "unexpected" not in out + err
        assert code == expected, err
    for arguments in (["plan"], ["status"]):
        code, out, err = run_cli(*arguments, "--project", project)
        assert code == 0, err


@pytest.mark.parametrize(
    "at", ["0001-01-01", "9999-12-31", "9999-12-31T23:59:59Z", "10000-01-01", "0001-01-01T00:00+14:00"]
)
def test_no_time_at_the_ends_is_a_bug(project, run_cli, at):
    for arguments in (
        ["plan", "--at", at],
        ["preview", "--from", at],
        ["events", "add", "s_day", "--at", at],
        ["plan"],
    ):
        code, out, err = run_cli(*arguments, "--project", project)
        assert code in (0, 2)
        assert "unexpected" not in out + err
