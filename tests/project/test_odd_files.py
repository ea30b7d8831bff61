"""Whatever lies in a project's folders: it is read or refused with its place; nothing hangs, and nothing is a bug."""

import os
import socket
from pathlib import Path

import pytest

from sparkassets.cli import main
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.errors import InputError, SpecError
from sparkassets.project import load_project
from sparkassets.project.compile_trace import MOST_BYTES

ASSET = "asset: a\nsql: SELECT 1\n"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "assets").mkdir()
    (tmp_path / "project.yml").write_text("project: p\nassets: [assets]\npython: [jobs, deep.er]\n")
    (tmp_path / "assets" / "a.yml").write_text(ASSET)
    return tmp_path


def refusal_of(home):
    """What the project is refused with; empty where it is not."""
    try:
        assert isinstance(load_project(home, {}), ProjectSpec)
    except SpecError as error:
        return str(error)
    return ""


def test_a_pipe_and_a_socket_are_not_opened(home):
    os.mkfifo(home / "assets" / "pipe.yml")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("assets/socket.yml")
        assert refusal_of(home) == (
            "assets/pipe.yml: cannot be read: it is not a regular file, but a pipe, a socket or a "
            "device\nassets/socket.yml: cannot be read: it is not a regular file, but a pipe, a socket or a device"
        )


@pytest.mark.parametrize("name", ["assets/a.sql", "assets/b.sql", "jobs/work.py"])
def test_neither_are_pipes_for_code(home, name):
    (home / "jobs").mkdir()
    (home / "assets" / "a.yml").write_text("asset: a\n" if "a.sql" in name else "asset: a\nsql: assets/b.sql\n")
    if "jobs" in name:
        (home / "assets" / "a.yml").write_text("asset: a\npython: jobs.work:x\n")
    os.mkfifo(home / name)
    assert refusal_of(home) == f"{name}: cannot be read: it is not a regular file, but a pipe, a socket or a device"


@pytest.mark.parametrize("content", [b"SELECT caf\xe9", b"x" * (MOST_BYTES + 1)])
@pytest.mark.parametrize("sql", ["", "sql: assets/a.sql\n"])
def test_sql_that_cannot_be_read_is_there(home, content, sql):
    (home / "assets" / "a.yml").write_text("asset: a\n" + sql)
    (home / "assets" / "a.sql").write_bytes(content)
    (problem,) = refusal_of(home).splitlines()
    assert problem.startswith(("assets/a.sql:1:11: the byte 0xe9 is not UTF-8", "assets/a.sql: cannot be read: it has"))


def test_what_two_assets_share_is_told_once(home):
    (home / "jobs").mkdir()
    for name in "abcd":
        body = "sql: x.sql" if name in "ab" else f"python: jobs.work:{name}"
        (home / "assets" / f"{name}.yml").write_text(f"asset: {name}\n{body}\n")
    os.mkfifo(home / "x.sql")
    os.mkfifo(home / "jobs" / "work.py")
    assert refusal_of(home).splitlines() == [
        "jobs/work.py: cannot be read: it is not a regular file, but a pipe, a socket or a device",
        "x.sql: cannot be read: it is not a regular file, but a pipe, a socket or a device",
    ]


def test_devices_and_folders(home):
    (home / "assets" / "zero.yml").symlink_to("/dev/zero")
    (home / "assets" / "folder.yml").mkdir()
    (home / "assets" / "folder.yml" / "b.yml").write_text("asset: b\nsql: SELECT 1\n")
    assert refusal_of(home) == (
        "assets/zero.yml: cannot be read: it is not a regular file, but a pipe, a socket or a device"
    )
    (home / "assets" / "zero.yml").unlink()
    assert set(load_project(home, {}).assets) == {"a", "b"}


def test_links_that_lead_nowhere_or_back(home):
    (home / "assets" / "self.yml").symlink_to("self.yml")
    (home / "assets" / "self").symlink_to("self")
    (home / "assets" / "back").symlink_to(home / "assets")
    (home / "assets" / "up").symlink_to(home)
    (home / "assets" / "gone.yml").symlink_to("nothing")
    assert refusal_of(home) == "assets/self.yml: cannot be read: Too many levels of symbolic links"


def test_the_root_of_the_file_system_is_no_folder_of_assets(home, monkeypatch):
    monkeypatch.setattr("sparkassets.project.compile_trace.MOST_NAMES", 100)
    for number in range(101):
        (home / "assets" / f"{number}.txt").touch()
    assert refusal_of(home).startswith("assets: cannot be read: the project's folders contain more than 100 files")


def test_a_file_has_a_size(home):
    (home / "assets" / "a.yml").write_text(ASSET + "#" * MOST_BYTES)
    assert refusal_of(home).startswith(
        "assets/a.yml: cannot be read: it has 2,097,175 bytes; expected at most 2,097,152"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the project has no assets"),
        (b"---\n", "the project has no assets"),
        (b"\xff\xfea\x00s\x00", "assets/a.yml:1:1: the byte 0xff is not UTF-8; files of a project are UTF-8 text"),
        (b"asset: caf\xe9\n", "assets/a.yml:1:11: the byte 0xe9 is not UTF-8; files of a project are UTF-8 text"),
        (b"\xef\xbb\xbfasset: a\r\nsql: SELECT 1\r\n", ""),
        (b"asset: a\n\tsql: SELECT 1\n", "assets/a.yml:2:1: a tab cannot indent; expected spaces"),
        (b"asset: a\nsql: SELECT 1\n---\nasset: a\nsql: SELECT 1\n", "the asset 'a' is defined twice"),
        (b"asset: a\nsql: SELECT 1\nretries: " + b"9" * 5_000, "'retries' is '999"),
        (b"asset: a\nsql: SELECT 1\nretries: 0x" + b"f" * 5_000, "'retries' is '0xfff"),
        (b"asset: a\nsql: SELECT 1\nextra: {n: " + b"9" * 5_000 + b"}", ""),
        (b"asset: a\nsql: SELECT {{ " + b"9" * 5_000 + b" }}", "a number in it has more than 4,300 digits"),
        (b'asset: a\nsql: "SELECT 1\\0"\n', "this text contains the character U+0000"),
        (b'asset: a\npath: "x\\0y"\nsql: SELECT 1\n', "this text contains the character U+0000"),
        (b'asset: a\nsql: "x\\0.sql"\n', "this text contains the character U+0000"),
        (b'asset: a\nsql: SELECT 1\nextra: {x: "\\ud83d\\ude00"}\n', ""),
        (b'asset: a\nsql: SELECT 1\nextra: {x: "\\ud83d"}\n', "this escape does not exist in double quotes"),
        (b'asset: a\nsql: SELECT 1\nextra: {x: "\\ude00\\ud83d"}\n', "this escape does not exist in double quotes"),
        (b"asset: a\nsql: " + b"x" * 5_000 + b".sql\n", "a.yml:2:6: the file 'xxx"),
        (b"asset: a\nsql: " + b"x/" * 5_000 + b"y.sql\n", "a.yml:2:6: the file 'x/x"),
        (b"asset: a\nsql: SELECT 1\npath: " + b"x" * 500_000 + b"\nshedule: 1", "unknown key 'shedule'"),
        (b"asset: a\nsql: SELECT 1\n" + b"k" * 500_000 + b": 1", "expected ':' after this key"),
        (b"asset: a\npython: jobs." + b"x" * 5_000 + b":f\n", "module 'jobs.xxx"),
        (b"asset: a\nsource: csv\npath: " + b"x" * 5_000 + b"/{day}.csv\n", None),
    ],
    ids=range(23),
)
def test_odd_content(home, content, message):
    (home / "assets" / "a.yml").write_bytes(content)
    found = refusal_of(home)
    if message is not None:
        assert message in found if message else found == ""
    assert len(found) < 6_000


def test_json_has_pairs_of_surrogates(home):
    (home / "assets" / "a.yml").write_text('{"asset": "a", "sql": "SELECT 1", "extra": {"x": "a\\ud83d\\ude00b"}}')
    assert load_project(home, {}).assets["a"].extra == {"x": "a😀b"}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (b"def f():\n    pass\n", ""),
        (b"# -*- coding: latin-1 -*-\n# caf\xe9\ndef f():\n    pass\n", ""),
        (
            b"# caf\xe9\ndef f():\n    pass\n",
            "jobs/work.py:1:6: the byte 0xe9 is not UTF-8; files of a project are UTF-8",
        ),
        (b"x = " + b"+" * 50_000 + b"1\n", "jobs/work.py:1:1: invalid Python: it is nested too deeply"),
        (b"x = " + b"(" * 50_000 + b"\n", "jobs/work.py:1:"),
        (b"x = " + b"1 + " * 50_000 + b"1\n", "jobs/work.py:1:1: invalid Python: it is nested too deeply"),
        (b"x = " + b"9" * 5_000 + b"\ndef f():\n    pass\n", "jobs/work.py:1:"),
        (b"x = 1\0\n", "jobs/work.py:1:1: invalid Python: source code string cannot contain null bytes"),
    ],
    ids=range(8),
)
def test_odd_modules(home, source, message):
    (home / "jobs").mkdir()
    (home / "jobs" / "work.py").write_bytes(source)
    (home / "assets" / "a.yml").write_text("asset: a\npython: jobs.work:f\n")
    found = refusal_of(home)
    assert message in found if message else found == ""
    assert "not found" not in found


def test_a_package_may_be_inside_another(home):
    (home / "deep" / "er").mkdir(parents=True)
    (home / "deep" / "er" / "work.py").write_text("def f():\n    pass\n")
    (home / "assets" / "a.yml").write_text("asset: a\npython: deep.er.work:f\n")
    assert refusal_of(home) == ""
    (home / "assets" / "a.yml").write_text("asset: a\npython: deep.other:f\n")
    assert "the package 'deep' is not allowed" in refusal_of(home)


def test_a_name_that_is_no_text(home):
    Path(os.fsdecode(b"assets/\xff")).mkdir()
    Path(os.fsdecode(b"assets/\xff/\xfe.yml")).write_text("asset: b\nshedule: 1\n")
    assert "shedule" in refusal_of(home)
    assert main(["validate", "--project", "."]) == 2


def test_a_project_file_that_is_none(home, capsys):
    (home / "project.yml").unlink()
    (home / "project.yml").mkdir()
    with pytest.raises(InputError, match=r"there is no project\.yml"):
        load_project(home, {})
    (home / "project.yml").rmdir()
    os.mkfifo(home / "project.yml")
    assert main(["validate", "--project", "."]) == 2
    assert "unexpected" not in capsys.readouterr().err


@pytest.mark.parametrize("folder", ["x\0y", "x" * 5_000, "/dev/null", "x/" * 3_000])
def test_odd_folders(folder, capsys):
    assert main(["validate", "--project", folder]) == 2
    assert "unexpected" not in capsys.readouterr().err


def test_a_long_line_is_shown_around_the_column(home):
    (home / "assets" / "a.yml").write_text(f"{{asset: a, sql: SELECT 1, owner: {'x' * 900_000}, shedule: 1}}\n")
    found = refusal_of(home)
    assert "    …" in found
    line, marks = found.split("\n")[1:3]
    assert line[marks.index("^") :].startswith("shedule")
    assert len(found) < 1_000
