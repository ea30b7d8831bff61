"""The list of versions, and the table that `make matrix` writes."""

from sparkassets.spark.installation import NEWEST, OLDEST, version_numbers
from tests.matrix.__main__ import (
    FILES,
    PAGE,
    RELEASES,
    Outcome,
    read_report,
    render_row,
    render_suite_row,
    with_row,
)
from tests.matrix.suites import ROOT, SUITES


def test_the_oldest_and_the_newest_version_that_are_taken_are_run():
    versions = [version_numbers(release.name) for release in RELEASES]
    assert versions == sorted(versions)
    assert (versions[0], versions[-1]) == (OLDEST, NEWEST)


def test_every_file_that_is_run_is_there():
    assert [
        file for file in (*FILES, *(file for suite in SUITES for file in suite.files)) if not (ROOT / file).exists()
    ] == []


def test_a_version_and_a_suite_have_one_row_each_which_is_replaced():
    outcome = Outcome(passed=7, failed=1, skipped=2)
    rows = [render_row(release, outcome, tests="main path") for release in RELEASES]
    rows += [render_suite_row(suite, outcome) for suite in SUITES]
    page = PAGE.read_text("utf-8")
    for row in rows:
        page = with_row(page, row)
    assert {row: page.count(row) for row in rows} == dict.fromkeys(rows, 1)
    assert len(page.splitlines()) == len(PAGE.read_text("utf-8").splitlines())


def test_what_pytest_reports_is_counted(tmp_path):
    report = tmp_path / "tests.xml"
    report.write_text('<testsuites><testsuite tests="9" failures="1" errors="2" skipped="3"/></testsuites>')
    assert read_report(report) == Outcome(passed=3, failed=3, skipped=3)
    assert read_report(tmp_path / "none").passed == 0
