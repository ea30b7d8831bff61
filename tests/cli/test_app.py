"""The entry point: arguments, help, errors and exit codes."""

import json
import sys

import click
import pytest

from sparkassets.cli import main
from sparkassets.cli.app import COMMANDS, cli, without_separator
from sparkassets.errors import FileLocation, InputError, SpecError, SpecProblem, StateError

HELP = "  help: docs/troubleshooting.md#invalid-argument\n"


@pytest.fixture
def broken(monkeypatch):
    """Makes ``plan`` raise what is given, as soon as it opens its project."""

    def make(error):
        def raise_it(_):
            raise error

        monkeypatch.setattr("sparkassets.cli.commands.plan.open_project", raise_it)

    return make


def test_help_lists_every_command_with_its_first_sentence(capsys):
    assert main(["--help"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    for name, line in COMMANDS.items():
        assert name in printed
        assert line in printed
    assert "0 success, 1 a run failed, 2 invalid input or project, 3 unusable state, 129, 130 or" in printed


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_that_ends_in_a_sentence_and_says_json(name, capsys):
    assert main([name, "--help"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"Usage: sparkassets {name} ")
    assert "--json" in printed or name in ("events", "import", "notify", "state", "deploy", "ui", "completion")


def test_every_command_is_registered_under_its_own_name():
    context = click.Context(cli)
    assert {name: cli.get_command(context, name).name for name in COMMANDS} == {name: name for name in COMMANDS}


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("sparkassets 0.")


def test_no_arguments_show_help_on_stderr_and_are_invalid(capsys):
    assert main([]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("Usage: sparkassets ")


@pytest.mark.parametrize("group", ["events", "deploy", "state"])
def test_the_help_of_a_group_says_all_of_what_its_commands_do(group, capsys):
    assert main([group, "--help"]) == 0
    assert "..." not in capsys.readouterr().out.partition("Commands:")[2]


@pytest.mark.parametrize(
    ("args", "message", "hint"),
    [
        (["plam"], "no such command: 'plam'", "did you mean 'plan'?"),
        (["bogus"], "no such command: 'bogus'", "`sparkassets --help` shows all of them"),
        (["state", "verfy"], "no such command: 'verfy'", "did you mean 'verify'?"),
        (["state", "x"], "no such command: 'x'", "known are compact, export, migrate, verify"),
        (["plan", "--once"], "no such option: --once", "`sparkassets plan --help` shows what it takes"),
        (
            ["pause", "a", "--until", "x"],
            "no such option: --until",
            "known are --help, --json, --profile, --project, --reason, --set",
        ),
        (
            ["--project", "conf", "plan"],
            "no such option: --project",
            "options come after the command: sparkassets COMMAND --project DIR",
        ),
        (["plan", "--selct", "a"], "no such option: --selct", "did you mean '--select'?"),
        (["graph", "--x"], "no such option: --x", "known are --format, --help, --json, --profile, --project, --set"),
        (["explain"], "missing argument 'ASSET'", "`sparkassets explain --help` shows what it takes"),
        (
            ["runs", "--last", "0"],
            "invalid value for '--last': 0 is not in the range x>=1",
            "`sparkassets runs --help` shows what it takes",
        ),
        (
            ["plan", "x"],
            "got unexpected extra argument (x)",
            "name assets by --select: sparkassets plan --select x",
        ),
        (
            ["status", "x", "y"],
            "got unexpected extra arguments (x y)",
            "name assets by --select: sparkassets status --select x,y",
        ),
        (
            ["runs", "a", "b"],
            "got unexpected extra argument (b)",
            "name assets by --asset: sparkassets runs --asset b",
        ),
        (
            ["state", "verify", "x"],
            "got unexpected extra argument (x)",
            "`sparkassets state verify --help` shows what it takes",
        ),
        (["events"], "missing command", "`sparkassets events --help` shows what it takes"),
        (
            ["run", "--at", "{{job.parameters.day}}"],
            "argument '{{job.parameters.day}}' still contains '{{'",
            "the job's parameter reference was not replaced; check its name",
        ),
        (
            ["run", "--loop", "soon"],
            "'soon' is not a duration; expected a number and a unit (s m h d w mo y), such as 90s, 1h30m or 7d",
            None,
        ),
        (["run", "--loop", "0s"], "--loop 0s: expected a pause of at least a second", None),
        (["events", "add", "a", "--extra", "x"], "--extra 'x': expected KEY=VALUE", None),
        (["events", "add", "a", "--extra", "x=1", "--extra", "x=2"], "--extra: 'x' is given twice", None),
    ],
)
def test_wrong_arguments_are_one_sentence_and_exit_2(args, message, hint, capsys):
    assert main(args) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"error: {message}\n" + (f"  hint: {hint}\n" if hint else "") + HELP


def test_with_json_an_error_is_the_document(capsys):
    assert main(["plan", "--selct", "a", "--json"]) == 2
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {
        "error": {
            "message": "no such option: --selct",
            "hint": "did you mean '--select'?",
            "help": "docs/troubleshooting.md#invalid-argument",
        }
    }
    assert captured.err == "error: no such option: --selct\n  hint: did you mean '--select'?\n" + HELP


@pytest.mark.parametrize(
    ("error", "code", "last"),
    [
        (InputError("no asset 'x'"), 2, HELP),
        (StateError("the state is read-only"), 3, "  help: docs/troubleshooting.md#state-damaged\n"),
    ],
)
def test_an_error_of_the_product_has_its_exit_code(broken, error, code, last, capsys):
    broken(error)
    assert main(["plan"]) == code
    assert capsys.readouterr().err == f"error: {error}\n{last}"


def test_every_problem_of_a_project_is_told(broken, capsys):
    problems = [
        SpecProblem(
            FileLocation("conf/a.yml", 3, 1), "unknown key 'shedule'", "did you mean 'schedule'?", "shedule: x", 7
        ),
        SpecProblem(FileLocation("conf/b.sql"), "the file is empty"),
    ]
    broken(SpecError(problems))
    assert main(["plan", "--json"]) == 2
    captured = capsys.readouterr()
    assert captured.err == (
        "conf/a.yml:3:1: unknown key 'shedule'\n    shedule: x\n    ^^^^^^^\n  hint: did you mean 'schedule'?\n"
        "conf/b.sql: the file is empty\n\n2 problems in the project's files\n"
        "  help: docs/troubleshooting.md#invalid-project\n"
    )
    error = json.loads(captured.out)["error"]
    assert (error["message"], error["hint"]) == ("2 problems in the project's files", None)
    assert error["problems"] == [
        {
            "file": "conf/a.yml",
            "line": 3,
            "column": 1,
            "message": "unknown key 'shedule'",
            "hint": "did you mean 'schedule'?",
        },
        {"file": "conf/b.sql", "line": 0, "column": 0, "message": "the file is empty", "hint": None},
    ]


def test_what_nobody_expected_is_one_sentence_and_a_file(broken, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    broken(KeyError("token=hunter2"))
    assert main(["plan"]) == 1
    (file,) = tmp_path.iterdir()
    assert capsys.readouterr().err == (
        f"error: unexpected KeyError: 'token=***'\n  hint: this is a bug in sparkassets: please report it with {file}\n"
        "  help: docs/troubleshooting.md#unexpected-error\n"
    )
    story = file.read_text("utf-8")
    assert story.startswith("Traceback")
    assert "hunter2" not in story


def test_ctrl_c_in_a_query_is_130_without_a_word(broken, capsys):
    broken(KeyboardInterrupt())
    assert main(["plan"]) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("args", [["--", "plan", "--help"], ["plan", "--", "--help"], ["--", "plan", "--", "--help"]])
def test_the_separator_of_spark_submit_is_tolerated(args, capsys):
    assert main(args) == 0
    assert capsys.readouterr().out.startswith("Usage: sparkassets plan")


def test_only_a_leading_separator_is_dropped():
    assert without_separator(["run", "--project", "x", "--"]) == ["run", "--project", "x", "--"]


def test_as_an_entry_point_it_leaves_by_exception_only_when_something_is_wrong(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["sparkassets", "plam"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    monkeypatch.setattr(sys, "argv", ["sparkassets", "--version"])
    assert main() == 0
