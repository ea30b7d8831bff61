"""`--profile` and `--set` on every command that opens a project, and compiled projects that are kept by them."""

import click
import pytest

from sparkassets.cli.app import COMMANDS, cli
from sparkassets.wiring import Project

PROFILES = """
project: shop
state: ${LAKE:-.}/state
warehouse: ${LAKE:-.}/warehouse
profiles:
  dev: {variables: {LAKE: ./dev}}
  prod: {variables: {LAKE: ./prod}}
"""
WITHOUT_PROJECT = {"init", "schema", "completion"}


@pytest.fixture
def profiles(shop):
    (shop / "project.yml").write_text(PROFILES.lstrip() + "".join(_rest(shop)), "utf-8")
    return shop


def _rest(shop):
    """What else the project file says."""
    lines = (shop / "project.yml").read_text("utf-8").splitlines(keepends=True)
    return [line for line in lines if line.startswith(("python:", "assets:"))]


def test_every_command_of_a_project_takes_them():
    context = click.Context(cli)
    for verb in COMMANDS:
        command = cli.get_command(context, verb)
        inner = command.commands.values() if isinstance(command, click.Group) else [command]
        for each in inner:
            known = {option for parameter in each.params for option in parameter.opts}
            assert ({"--profile", "--set"} <= known) == ("--project" in known and verb not in WITHOUT_PROJECT), (
                each.name
            )


def test_each_profile_has_what_was_told_to_it(profiles, run_json, run_cli, monkeypatch):
    assert run_cli("pause", "daily_revenue", "--profile", "dev")[0] == 0
    assert (profiles / "dev/state/journal").is_dir()

    def paused(*options):
        return next(each for each in run_json("status", *options) if each["asset"] == "daily_revenue")["paused"]

    assert paused("--profile", "dev")
    assert not paused("--profile", "prod")
    assert not paused()
    monkeypatch.setenv("SPARKASSETS_PROFILE", "dev")
    assert paused()  # the compiled project of the last call is not taken for this one
    assert not paused("--profile", "prod")
    assert not paused("--set", f"LAKE={profiles}/other")
    assert Project.load(profiles, env={}, profile="prod").spec.state == str(profiles / "prod/state")
    assert Project.load(profiles, env={}, variables={"LAKE": "/x"}).spec.state == "/x/state"


def test_what_nothing_names_cannot_be_set(profiles, run_cli):
    for _ in range(2):  # the second time the project is not compiled again
        code, _, err = run_cli("plan", "--set", "LAKES=x")
        assert code == 2
        assert "the project does not use ${LAKES}" in err
        assert "did you mean 'LAKE'?" in err


@pytest.mark.parametrize("text", ["LAKE", "=x", "9A=x", "a b=c"])
def test_what_is_no_assignment_is_refused_without_its_value(profiles, run_cli, text):
    code, _, err = run_cli("plan", "--set", text)
    assert code == 2
    assert "expected NAME=VALUE, such as --set REGION=de" in err


def test_a_name_is_set_once(profiles, run_cli):
    assert "--set LAKE is given twice" in run_cli("plan", "--set", "LAKE=a", "--set", "LAKE=b")[2]


def test_what_was_set_is_shown_by_its_name(profiles):
    assert Project.load(profiles, env={}, variables={"LAKE": "/x"}).spec.variables == {"LAKE": "/x"}
    assert Project.load(profiles, env={}, profile="dev").spec.variables == {}


def test_logs_are_where_the_profile_says(profiles):
    from sparkassets.wiring.watchers import log_folder

    with (profiles / "project.yml").open("a") as file:
        file.write("logs: ./told\n")
    assert log_folder(Project.load(profiles, env={}).spec) == profiles / "told"


def test_tests_of_assets_are_read_with_the_same_variables(profiles, run_cli):
    (profiles / "tests").mkdir(exist_ok=True)
    assert run_cli("validate", "--profile", "dev")[0] == 0
