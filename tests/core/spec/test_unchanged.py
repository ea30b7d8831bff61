"""What may be said of partitions that come out the same."""

import pytest

from tests.core.spec.in_memory import errors_of, one

SKIPPED = "project: shop\ndefaults: {unchanged: skip}\n"
APPENDS = "asset: a\nstrategy: every_instance\nschedule: '@daily'\nwrite: append\n"


@pytest.mark.parametrize(
    ("project", "text", "expected"),
    [
        ("project: shop\n", "asset: a\n", "publish"),
        ("project: shop\n", "asset: a\nunchanged: skip\n", "skip"),
        (SKIPPED, "asset: a\n", "skip"),
        (SKIPPED, "asset: a\nunchanged: publish\n", "publish"),
        (SKIPPED, "asset: a\nwrite: {upsert: {keys: [id]}}\nstrategy: latest_only\nschedule: '@daily'\n", "skip"),
        (SKIPPED, APPENDS, "publish"),
        (SKIPPED, "asset: a\nwrite: {publish: {keep: 3}}\n", "publish"),
    ],
)
def test_an_asset_skips_what_is_unchanged_where_it_or_the_project_says_so(project, text, expected):
    assert one(text, **{"project.yml": project}).unchanged == expected


def test_what_appends_is_always_news():
    assert errors_of(APPENDS + "unchanged: skip\n") == (
        "a.yml:5:12: 'unchanged: skip' needs 'write: replace' or an upsert: added rows are always an update\n    "
        "unchanged: skip\n               ^^^^\n  hint: leave it out"
    )


def test_another_word():
    assert errors_of("asset: a\nunchanged: skipp\n").splitlines()[0] == (
        "a.yml:2:12: 'unchanged' is 'skipp'; expected skip or publish"
    )


def test_a_source_has_no_runs_to_compare():
    assert errors_of("asset: a\nsource: true\nunchanged: skip\n").splitlines()[0] == (
        "a.yml:3:1: 'unchanged' is not allowed for a source: others write it, so nothing runs"
    )
