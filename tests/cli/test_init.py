"""`init`: a project that is valid as it is, written whole or not at all."""

import os
import shlex
from pathlib import Path

import pytest


def lines(text):
    return [line.rstrip() for line in text.splitlines()]


def test_init_writes_a_project_and_says_what_to_type(tmp_path, monkeypatch, run_cli):
    monkeypatch.chdir(tmp_path)
    code, out, err = run_cli("init")
    assert (code, err) == (0, "")
    assert lines(out) == [
        "wrote conf/assets/best_shops.sql",
        "wrote conf/assets/best_shops.yml",
        "wrote conf/assets/daily_revenue.sql",
        "wrote conf/assets/daily_revenue.yml",
        "wrote conf/assets/orders.yml",
        "wrote conf/.gitignore",
        "wrote conf/landing/orders/2025-01-01.csv",
        "wrote conf/landing/orders/2025-01-02.csv",
        "wrote conf/project.yml",
        "",
        "next:",
        "  sparkassets plan",
        "  sparkassets run",
        "  sparkassets status",
    ]
    assert len((tmp_path / "conf/assets/daily_revenue.yml").read_text().splitlines()) == 2


def test_init_elsewhere_says_where(tmp_path, monkeypatch, run_cli):
    monkeypatch.chdir(tmp_path)
    _, out, _ = run_cli("init", "shop")
    assert "  sparkassets plan --project shop" in lines(out)
    assert run_cli("validate", "--project", "shop")[0] == 0


def test_init_overwrites_nothing_and_then_writes_nothing(shop, run_cli):
    (shop / "project.yml").unlink()
    (shop / "assets/orders.yml").write_text("mine")
    code, out, err = run_cli("init")
    assert (code, out) == (2, "")
    assert lines(err) == [
        "error: 'conf/assets/best_shops.sql' already exists; nothing was written",
        "  hint: name another folder: sparkassets init conf2",
    ]
    assert (shop / "assets/orders.yml").read_text() == "mine"
    assert not (shop / "project.yml").exists()


def test_init_below_a_file_is_refused(tmp_path, monkeypatch, run_cli):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    assert run_cli("init", "file/shop") == (2, "", "error: cannot write into 'file/shop': Not a directory\n")


@pytest.mark.parametrize(
    "name",
    [
        *("my shop", "lädchen", "./-x", "./--json", "a/b/c", ".", "./here", "..hidden", "con", "__init__", "null"),
        *("a*b", "a[b]", "a?b", "$HOME", "a'b", 'a"b', "#x", "a:b", "x;y", "~", "1", "state", "shop.yml"),
    ],
)
def test_whatever_the_folder_is_called_what_is_told_next_works(tmp_path, monkeypatch, run_cli, name):
    monkeypatch.chdir(tmp_path)
    code, out, err = run_cli("init", name)
    assert (code, err) == (0, "")
    told = next(line for line in out.splitlines() if line.startswith("  sparkassets plan"))
    code, out, err = run_cli(*shlex.split(told)[1:], "--at", "2025-01-03T06:00")
    assert (code, err) == (0, "")
    assert "2025-01-01..2025-01-02" in out


@pytest.mark.parametrize(
    ("name", "why"),
    [
        *((name, "'{' is special in the paths of tables") for name in ("a{b}", "${HOME}/x", "{day:%Y}")),
        ("100%", "'%' is special in the paths of tables"),
        ("a/**", "'**' is special in the paths of tables"),
        *((name, "its name has unprintable characters") for name in ("a\nb", "caf\udce9", "a\x1b[2J")),
    ],
)
def test_a_folder_in_which_nothing_would_be_found_is_refused(tmp_path, monkeypatch, run_cli, name, why):
    monkeypatch.chdir(tmp_path)
    text = str(tmp_path / name)
    assert run_cli("init", name) == (2, "", f"error: {text!r} cannot contain a project: {why}\n")
    assert not list(tmp_path.iterdir())


def test_an_empty_name_is_refused(tmp_path, monkeypatch, run_cli):
    monkeypatch.chdir(tmp_path)
    assert run_cli("init", "") == (
        2,
        "",
        "error: the name of the folder is empty\n  hint: for the current folder use: sparkassets init .\n",
    )
    assert not list(tmp_path.iterdir())


def test_a_folder_may_be_there_with_other_things_in_it(tmp_path, monkeypatch, run_cli):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/notes.txt").write_text("mine")
    assert run_cli("init")[0] == 0


def test_what_cannot_be_written_whole_is_not_written_at_all(tmp_path, monkeypatch, run_cli):
    monkeypatch.chdir(tmp_path)
    write, left = Path.write_bytes, iter(range(3))

    def full(path, data):
        if next(left, None) is None:
            raise OSError(28, "No space left on device")
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    assert run_cli("init") == (2, "", "error: cannot write into 'conf': No space left on device\n")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="permissions do not bind here")
def test_a_read_only_parent_is_told(tmp_path, monkeypatch, run_cli):
    monkeypatch.chdir(tmp_path)
    tmp_path.chmod(0o500)
    try:
        assert run_cli("init") == (2, "", "error: cannot write into 'conf': Permission denied\n")
    finally:
        tmp_path.chmod(0o700)


def test_the_folder_may_be_an_option_as_elsewhere(tmp_path, monkeypatch, run_cli):
    monkeypatch.chdir(tmp_path)
    assert run_cli("init", "--project", "shop")[0] == 0
    assert (tmp_path / "shop" / "project.yml").is_file()
    code, _, err = run_cli("init", "other", "--project", "shop")
    assert (code, "the folder is given twice" in err) == (2, True)
    assert not (tmp_path / "other").exists()
