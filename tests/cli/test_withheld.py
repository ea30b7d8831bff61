"""What validations withhold, by whole commands: exit codes, words and documents."""

import pytest

from sparkassets.core.validations import RuleTally, RuleVerdict, RunJudgement
from tests.builders import days

BAD = days("2025-01-01")
SAMPLES = ({"shop": "NULL"},)


@pytest.fixture
def judged(shop, engine):
    """The shop whose daily revenue has a rule, which its first day fails."""
    path = shop / "assets" / "daily_revenue.yml"
    path.write_text(f"{path.read_text().rstrip()}\nvalidations:\n  - {{not_null: shop}}\n")

    def judge(order):
        held = BAD & order.partitions - order.accepted_partitions
        verdict = RuleVerdict("not_null(shop)", "fail", "withheld", held, 9, 2, samples=SAMPLES)
        warned = RuleVerdict("pattern(shop)", "warn", "warned", order.partitions, 9, 1)
        engine.judged["daily_revenue"] = RunJudgement(held, (verdict, warned) if held else (warned,))

    engine.hooks["daily_revenue", "prepare"] = judge
    return engine


@pytest.mark.usefixtures("judged")
def test_a_run_says_what_it_withheld_and_accept_publishes_it(run_cli, run_json):
    code, _, err = run_cli("run")
    told = " ".join(err.split())
    assert code == 1, err
    assert "daily_revenue 2025-01-01 withheld: not_null(shop): 2 of 9 rows" in told
    assert "not_null(shop): shop=NULL" in told
    assert "daily_revenue warned: pattern(shop): 1 of 9 rows" in told
    (row,) = (each for each in run_json("status") if each["asset"] == "daily_revenue")
    assert row["partitions"]["withheld"] == 1
    assert row["withheld"][0]["rules"][0]["samples"] == [{"shop": "NULL"}]
    assert "daily_revenue 2025-01-01 withheld by" in " ".join(run_cli("status")[1].split())
    statuses = {each["partition"]: each["status"] for each in run_json("partitions", "daily_revenue")}
    assert statuses["2025-01-01"] == "withheld"
    (ran,) = run_json("runs", "--asset", "daily_revenue")
    assert ran["withheld"]["ranges"] == ["2025-01-01..2025-01-01"]
    assert {each["outcome"] for each in ran["validations"]} == {"withheld", "warned"}
    assert run_cli("run")[0] == 0
    code, out, _ = run_cli("accept", "daily_revenue", "--partition", "2025-01-01", "--reason", "a holiday")
    assert (code, out) == (0, "daily_revenue  2025-01-01  accepted: the next run publishes it\n")
    again = run_json("accept", "daily_revenue", "--reason", "a holiday")
    assert (again["mark"], again["changed"], again["reason"]) == ("accept", False, "a holiday")
    assert "accepted by" in " ".join(run_cli("plan")[1].split())
    assert run_cli("run")[0] == 0
    (row,) = (each for each in run_json("status") if each["asset"] == "daily_revenue")
    assert (row["partitions"]["withheld"], row["withheld"]) == (0, [])


@pytest.mark.usefixtures("judged")
@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("daily_revenue", "--partition", "2025-01-02"), "daily_revenue 2025-01-02 is not withheld"),
        (("best_shops",), "best_shops is not withheld"),
        (("orders",), "asset 'orders' is a source: others write it, so there is nothing to accept"),
        (("daily_revenue", "--partition", "March"), "'March'"),
    ],
)
def test_what_is_not_withheld_is_not_accepted(run_cli, args, told):
    run_cli("run")
    code, _, err = run_cli("accept", *args, "--reason", "x")
    assert (code, told in " ".join(err.split())) == (2, True)


@pytest.mark.usefixtures("judged")
def test_partitions_are_accepted_by_their_keys_alone(run_cli):
    run_cli("run")
    code, _, err = run_cli("accept", "daily_revenue", "--run", "daily_revenue-1", "--reason", "x")
    assert (code, "has partitions, but --run is for assets without" in " ".join(err.split())) == (2, True)


@pytest.mark.usefixtures("judged")
def test_days_are_told_each_with_its_own_figures(run_cli, engine):
    first, second = BAD, days("2025-01-02")
    tallies = (
        RuleTally("not_null(shop)", first, 9, 2, samples=({"shop": "NULL"},)),
        RuleTally("not_null(shop)", second, 7, 1, samples=({"shop": "none"},)),
    )
    both = RuleVerdict("not_null(shop)", "fail", "withheld", first | second, 16, 3, "", SAMPLES, details=tallies)
    engine.hooks.clear()
    engine.judged["daily_revenue"] = RunJudgement(first | second, (both,))
    for out in (run_cli("run")[2], run_cli("status")[1]):
        told = " ".join(out.split())
        assert "not_null(shop): 3 of 16 rows" in told
        assert "2025-01-01: not_null(shop): 2 of 9 rows not_null(shop): shop=NULL" in told
        assert "2025-01-02: not_null(shop): 1 of 7 rows not_null(shop): shop=none" in told


def test_a_run_that_publishes_nothing_names_no_place_where_rows_were_put(judged, run_cli):
    def judge(order):
        rules = (
            RuleVerdict("row_count(min 9)", "fail", "withheld", order.partitions, 3),
            RuleVerdict("not_null(shop)", "quarantine", "quarantined", order.partitions, 9, 6),
        )
        judged.judged["daily_revenue"] = RunJudgement(order.partitions, rules)

    judged.hooks["daily_revenue", "prepare"] = judge
    told = " ".join(run_cli("run")[2].split())
    assert "daily_revenue quarantined: not_null(shop): 6 of 9 rows" in told
    assert "daily_revenue_quarantine" not in told
