"""The list of versions, and the table that `make matrix` writes."""

from sparkassets.spark.installation import NEWEST, OLDEST, version_numbers
from tests.matrix.__main__ import FILES, PAGE, RELEASES, ROOT, Outcome, read_report, render_row, with_row


def test_the_oldest_and_the_newest_version_that_are_taken_are_run():
    versions = [version_numbers(release.name) for release in RELEASES]
    assert versions == sorted(versions)
    assert (versions[0], versions[-1]) == (OLDEST, NEWEST)


def test_every_file_that_is_run_is_there():
    assert [file for file in FILES if not (ROOT / file).exists()] == []


def test_a_version_has_one_row_which_is_replaced():
    release = RELEASES[0]
    row = render_row(release, Outcome(passed=7, failed=1, skipped=2, seconds=119), tests="main path")
    page = with_row(PAGE.read_text("utf-8"), release, row)
    assert page.count(row) == 1
    assert len(page.splitlines()) == len(PAGE.read_text("utf-8").splitlines())


def test_what_pytest_reports_is_counted(tmp_path):
    report = tmp_path / "tests.xml"
    report.write_text('<testsuites><testsuite tests="9" failures="1" errors="2" skipped="3"/></testsuites>')
    assert read_report(report, 5) == Outcome(passed=3, failed=3, skipped=3, seconds=5)
    assert read_report(tmp_path / "none", 5).passed == 0
