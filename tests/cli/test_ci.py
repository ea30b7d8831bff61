"""What `sparkassets ci` writes for a pull request, and what fails it; an engine without Spark computes."""

from __future__ import annotations

import re

import pytest

from sparkassets.cli.commands.ci import _git_branch
from sparkassets.core.documents.table_difference import ColumnDifference, RowComparison, RowCounts, RowDifference
from sparkassets.core.partitions import EVERYTHING
from sparkassets.errors import InputError
from sparkassets.features.branches.branch_project import check_branch_name
from tests.builders import days

pytestmark = pytest.mark.usefixtures("engine", "shop")

CHANGED = RowDifference("changed", {"shop": "<b>|nl", "revenue": "200"}, {"shop": "<b>|nl", "revenue": "205"})


class Compared:
    """Finds the same difference in every table; `seen` has the compared partitions by asset."""

    seen: dict[str, object]
    columns = ColumnDifference()
    counts = RowCounts(changed=1, same=11)

    def __init__(self, *_: object) -> None:
        Compared.seen = {}

    def compare(self, asset, before, after, *, keys, samples):
        assert before.partitions == after.partitions
        assert samples == 5
        self.seen[asset.name] = after.partitions
        parts = EVERYTHING if asset.partitioning.time is None else days("2025-01-01")
        return self.columns, RowComparison(tuple(keys), False, ((parts, self.counts),), (CHANGED,))  # noqa: FBT003

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def changed(shop, run_cli, monkeypatch):
    """A base that has run, and other code of what is computed first."""
    monkeypatch.setattr("sparkassets.spark.table_comparison.SparkTableComparer", Compared)
    monkeypatch.setenv("GITHUB_HEAD_REF", "feature-new-prices")
    for test in (shop / "tests").glob("*.yml"):
        test.unlink()  # they need an engine that computes
    assert run_cli("run")[0] == 0
    sql = shop / "assets/daily_revenue.sql"
    sql.write_text(sql.read_text() + "\n-- changed\nLIMIT 1000\n")
    return sql


def test_a_sample_of_what_changed_runs_in_a_branch_named_after_git_and_is_compared(changed, shop, run_cli, tmp_path):
    code, out, err = run_cli("ci", "--sample", "1", "--summary", str(tmp_path / "summary.md"))
    assert code == 0, err
    assert out == (tmp_path / "summary.md").read_text()
    lines = out.splitlines()
    assert lines[0] == "## ✅ passed: sparkassets on branch `feature-new-prices`"
    assert "- ⚠️ `daily_revenue`: rows differ: 0 added, 0 removed, 1 changed" in lines
    assert "- 0 of 0 tests passed" in lines
    assert (
        "- `best_shops` was not computed: it reads all of daily_revenue, and the branch computes only a sample of that"
        in lines
    )
    assert "    ~ shop=<b>|nl, revenue=200 -> 205" in lines
    assert list(Compared.seen) == ["daily_revenue"]
    assert run_cli("diff", "--branch", "feature-new-prices")[0] == 0, "the branch is still there"


def test_rows_fail_it_where_the_policy_says_so(changed, run_cli):
    assert run_cli("ci", "--fail-on", "rows")[0] == 1
    assert "- ❌ `daily_revenue`: rows differ" in run_cli("ci", "--fail-on", "rows")[1]
    assert run_cli("ci", "--fail-on", "none")[0] == 0


def test_the_project_says_what_fails_it_and_how_much_is_computed(changed, shop, run_cli):
    with (shop / "project.yml").open("a") as file:
        file.write("ci: {fail_on: [rows], sample: 1}\n")
    code, out, _ = run_cli("ci")
    assert (code, "- ❌ `daily_revenue`: rows differ" in out, "`best_shops` was not computed" in out) == (1, True, True)
    code, out, _ = run_cli("ci", "--fail-on", "tests", "--sample", "100")
    assert (code, "`best_shops` was not computed" in out) == (0, False)


def test_a_finding_that_there_is_not_is_refused_at_its_line(changed, shop, run_cli):
    with (shop / "project.yml").open("a") as file:
        file.write("ci: {fail_on: [row]}\n")
    assert "project.yml:" in run_cli("validate")[2]


def test_as_data(changed, run_json):
    found = run_json("ci", "--sample", "1")
    assert (found["branch"], found["passed"]) == ("feature-new-prices", True)
    assert [each["kind"] for each in found["findings"]] == ["rows"]
    assert [(each["asset"], each["rows"]["changed"]) for each in found["differences"]] == [("daily_revenue", 1)]


def test_a_removed_column_fails_it(changed, run_cli, monkeypatch):
    monkeypatch.setattr(Compared, "columns", ColumnDifference(removed={"old": "int"}, changed={"n": ("int", "date")}))
    code, out, _ = run_cli("ci")
    assert code == 1
    assert "- ❌ `daily_revenue`: columns removed or of another type: old, n" in out.splitlines()


def test_a_failed_run_fails_it_and_the_branch_is_dropped_where_asked(changed, run_cli, engine):
    engine.hooks["daily_revenue", "compute"] = lambda _: (_ for _ in ()).throw(ValueError("no *such* table"))
    code, out, _ = run_cli("ci", "--drop")
    assert code == 1
    assert "failed: ValueError: no \\*such\\* table" in out
    assert run_cli("diff", "--branch", "feature-new-prices")[2].startswith("error: unknown branch")


def test_a_failed_test_fails_it(changed, shop, run_cli):
    (shop / "tests").mkdir(exist_ok=True)
    steps = "[{at: 2025-01-01 03:00, runs: {daily_revenue: [2024-12-31]}}]"
    (shop / "tests/times.yml").write_text(f"test: at night\nsteps: {steps}\n")
    code, out, err = run_cli("ci")
    assert (code, "- ❌ test `at night` failed" in out) == (1, True), out + err


def test_an_invalid_project_is_written_down_as_well(changed, run_cli):
    changed.write_text("SELECT {{ inlets.nobody }}")
    code, out, err = run_cli("ci")
    assert code == 2
    assert "no inlet 'nobody'" in err or "nobody" in err
    assert out.startswith(
        "## ❌ failed: sparkassets on branch `feature-new-prices`\n\nThe check ended early:\n\n    1 problem"
    )


def test_nothing_is_computed_where_nothing_differs(run_cli):
    run_cli("run")
    code, out, _ = run_cli("ci", "--branch", "same", "--fail-on", "rows,schema")
    assert code == 0
    assert "- nothing differs from the base, so nothing was computed" in out


def test_what_the_policy_may_name(run_cli):
    assert run_cli("ci", "--fail-on", "row")[2] == "error: --fail-on row: expected tests, runs, schema, rows or none\n"


@pytest.mark.parametrize(
    ("env", "name"),
    [
        ({"GITHUB_HEAD_REF": "fix-a-b"}, "fix-a-b"),
        ({"GITHUB_HEAD_REF": "", "CI_COMMIT_REF_NAME": "fix/A_b"}, "fix-a-b-@"),
        ({"GITHUB_REF_NAME": "12/merge"}, "12-merge-@"),
        ({"GITHUB_HEAD_REF": "x" * 61}, "x" * 53 + "-@"),
        ({"GITHUB_HEAD_REF": "x" * 52 + "/y"}, "x" * 52 + "-@"),
    ],
)
def test_the_branch_has_a_name_that_is_allowed(env, name):
    found = _git_branch(env)
    assert check_branch_name(found) == found
    assert re.sub("(?<=-)[0-9a-f]{6}$", "@", found) == name


def test_no_two_branches_of_git_have_one_name():
    names = ("a-b", "a/b", "a_b", "A-b", "a--b", "x" * 61, "x" * 62)
    assert len({_git_branch({"GITHUB_HEAD_REF": name}) for name in names}) == len(names)


def test_without_git_a_name_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(InputError, match="the Git branch is unknown"):
        _git_branch({})
