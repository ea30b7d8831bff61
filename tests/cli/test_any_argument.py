"""Whatever is typed for an argument or option of any command ends with a sentence, and is nobody's bug."""

import click
import pytest

from sparkassets.cli.app import COMMANDS, cli
from sparkassets.cli.run_loop import SignalStopper
from tests.depth import some

ODD = [
    "",
    " ",
    "-1",
    "0",
    "100001",
    "9" * 30,
    "9" * 5_000,
    "1e309",
    "-9999999999d",
    "nan",
    "a\0b",
    "a\nb",
    "x" * 100_000,
    "caf\udce9",
    "\ud83d",
    "e\u0301\u202e",
    "{{job.id}}",
    "{x}",
    "%",
    "..",
    "0001-01-01..9999-12-31",
    "9999-12-31T23:59:59+00:00",
    "conf/project.yml",
    "conf/project.yml/below",
    "/dev/null",
    "nobody",
    "+",
    ",",
    "s3://",
    "[" * 5_000,
    '{"a": ' * 500,
]
LONGEST = 2_000
"""Characters of all that is said of one mistake: what is typed is not printed again in full."""


def commands(group=cli, path=()):
    """Every command by what is typed for it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def takers():
    for path, command in commands():
        for parameter in command.params:
            takes = not getattr(parameter, "is_flag", False)
            if takes:
                yield pytest.param(path, command, parameter, id=f"{' '.join(path)} {parameter.name}")


def typed(parameter, value):
    """An option with its value in one word, so that no value is taken for an option."""
    return [value] if isinstance(parameter, click.Argument) else [f"{parameter.opts[-1]}={value}"]


def usual(command, odd):
    """What else the command cannot do without."""
    needed = [each for each in command.params if each.required and each is not odd]
    return [word for each in needed for word in typed(each, "daily_revenue")]


def test_every_command_is_found():
    assert {path[0] for path, _ in commands()} == set(COMMANDS)


@pytest.mark.parametrize(("path", "command", "parameter"), list(takers()))
def test_no_value_is_a_bug(engine, shop, run_cli, monkeypatch, path, command, parameter):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(SignalStopper, "sleep_until", interrupt)  # or `run --loop` would go on
    monkeypatch.setattr("sparkassets.cli.commands.report.wait", interrupt)  # and `report --watch`
    monkeypatch.setattr("sparkassets.cli.commands.ui.wait", interrupt)  # and `ui` serve
    wrong = []
    for value in some(ODD, " ".join([*path, parameter.name])):
        code, out, err = run_cli(*path, *usual(command, parameter), *typed(parameter, value))
        expected = (0, 2, 130) if parameter.name == "loop" or path == ("ui",) else (0, 2)
        expected += (3,) if path[0] == "state" and "no state in" in err else ()
        told = err if code == 2 else ""
        lines = len(told.splitlines()) - (10 if parameter.name == "file" else 0)  # which tells of ten of its lines
        if code not in expected or "unexpected " in err or "Traceback" in err or len(told) > LONGEST or lines > 4:
            wrong.append((value[:40], code, lines, len(err), err[:300], out[:100]))
    assert not wrong, "\n".join(map(str, wrong))


def test_how_many_runs_are_told_has_bounds(shop, run_cli):
    code, _, err = run_cli("preview", "--count", "100001")
    assert (code, err) == (2, "error: cannot preview 100001 runs of an asset; expected 1 to 100,000\n")


def test_what_was_typed_is_told_by_both_its_ends(shop, run_cli):
    _, _, err = run_cli("explain", "x" * 100_000)
    assert err.startswith("error: no asset 'xxx")
    assert " … xxx" in err
    assert len(err) < LONGEST


def test_half_a_character_is_refused_and_bytes_that_are_no_text_are_not(shop, run_cli):
    assert run_cli("plan", "--at", "\ud83d")[2] == ("error: argument '\\ud83d' contains half of a surrogate pair\n")
    assert run_cli("plan", "--project", "caf\udce9")[2].startswith("error: there is no folder")
