"""What the commands about branches say where there is nothing to do, or no such branch."""

import pytest

pytestmark = pytest.mark.usefixtures("engine", "shop")


def changed(shop):
    """Other code of what is computed first."""
    sql = shop / "assets/daily_revenue.sql"
    sql.write_text(sql.read_text() + "\n-- changed\nLIMIT 1000\n")


def test_a_plan_of_a_branch_that_is_its_base_says_so(run_cli):
    run_cli("run")
    code, out, _ = run_cli("plan", "--branch", "same")
    assert code == 0
    assert out.splitlines()[2:] == ["nothing differs from the base, so the branch computes nothing"]
    assert run_cli("run", "--branch", "same")[2] == "nothing differs from the base, so the branch computes nothing\n"


@pytest.mark.parametrize(
    "command",
    [
        ("status", "--branch"),
        ("explain", "daily_revenue", "--branch"),
        ("plan", "--as-of", "2025-01-01", "--branch"),
        ("diff", "--branch"),
        ("promote",),
        ("drop",),
    ],
)
def test_a_branch_that_is_not_there_is_named_and_the_others_with_it(command, shop, run_cli):
    run_cli("run")
    text = "error: unknown branch 'x'\n  hint: `sparkassets run --branch x` creates it\n"
    assert run_cli(*command, "x") == (2, "", text)
    changed(shop)
    assert run_cli("run", "--branch", "dev")[0] == 0
    assert run_cli(*command, "x") == (2, "", "error: unknown branch 'x'\n  hint: known is dev\n")
    assert run_cli(*command, "dve") == (2, "", "error: unknown branch 'dve'\n  hint: did you mean 'dev'?\n")


def test_a_promotion_of_nothing_says_why(shop, run_cli):
    run_cli("run")
    changed(shop)
    assert run_cli("run", "--branch", "dev")[0] == 0
    assert "2 runs: 2 success" in run_cli("promote", "dev")[2]
    text = "nothing to promote: the base already has everything that branch dev computed"
    assert run_cli("promote", "dev") == (0, "", f"{text}\n")
    assert run_cli("promote", "dev", "--dry-run")[1].splitlines()[2] == text


def test_code_that_the_branch_has_not_run_is_refused_by_a_dry_promotion_as_well(shop, run_cli):
    run_cli("run")
    changed(shop)
    assert run_cli("run", "--branch", "dev")[0] == 0
    changed(shop)
    refused = run_cli("promote", "dev")
    assert refused[0] == 2
    assert refused[2].startswith("error: branch 'dev' has not run the current code of daily_revenue\n  hint: ")
    assert run_cli("promote", "dev", "--dry-run") == refused


def test_select_in_a_branch_takes_any_asset_of_the_project(run_cli):
    run_cli("run")
    code, out, _ = run_cli("plan", "--branch", "same", "--select", "daily_revenue")
    assert code == 0
    assert out.splitlines()[2:] == ["nothing differs from the base, so the branch computes nothing"]
