"""`sparkassets test`: which tests run, and what is said of them; those of steps need no Spark."""

import json

import pytest

pytestmark = pytest.mark.usefixtures("shop")

WAITS = """
test: waits
steps:
  - at: 2025-03-02T06:00
    events: [{asset: orders, partition: 2025-03-01}]
    runs: {daily_revenue: 2025-03-01, best_shops: true}
"""
WRONG = """
test: wrong
steps:
  - {at: 2025-03-02T06:00, runs: {best_shops: true}}
"""


@pytest.fixture
def tests(shop):
    (shop / "tests").mkdir()
    (shop / "tests/a.yml").write_text(WAITS + "---" + WRONG)


@pytest.mark.usefixtures("tests")
def test_one_that_passes_and_one_that_does_not(run_cli):
    code, out, err = run_cli("test")
    lines = [line.split("  ")[0] if line[0] in "✓✗" else line for line in out.splitlines()]
    assert (code, err) == (1, "")
    assert lines == [
        "✓ waits",
        "✗ wrong",
        "  conf/tests/a.yml:8:7",
        "  at 2025-03-02T06:00Z (conf/tests/a.yml:10:5):",
        "    best_shops does not run; expected a run (waits for daily_revenue: no data yet)",
        "2 tests, 1 failed",
    ]


@pytest.mark.usefixtures("tests")
def test_those_that_are_named(run_cli):
    code, out, _ = run_cli("test", "wai*", "--json")
    (told,) = json.loads(out)["tests"]
    assert code == 0
    assert told.pop("seconds") >= 0
    assert told == {
        "test": "waits",
        "asset": None,
        "file": "conf/tests/a.yml",
        "line": 2,
        "outcome": "passed",
        "message": None,
    }
    code, _, err = run_cli("test", "wats")
    assert (code, "unknown test 'wats'" in err, "did you mean 'waits'?" in err) == (2, True, True)


@pytest.mark.usefixtures("tests")
def test_validate_checks_them(run_cli, shop):
    assert run_cli("validate")[1].endswith("2 assets, 1 source, 2 tests\n")
    (shop / "tests/b.yml").write_text("test: b\nasset: nobody\nexpect: []\n")
    code, _, err = run_cli("validate")
    assert (code, "conf/tests/b.yml:2:8: unknown asset 'nobody'" in err) == (2, True)


def test_without_any(run_cli):
    assert run_cli("test") == (
        0,
        "no tests found: write one to tests/<name>.yml in the project's folder\n",
        "",
    )
