"""What may be said of blocks that come out the same."""

from tests.core.spec.in_memory import errors_of


def test_what_appends_is_always_news():
    assert errors_of("asset: a\nstrategy: every_instance\nschedule: '@daily'\nwrite: append\nunchanged: skip\n") == (
        "a.yml:5:12: 'unchanged: skip' needs 'write: replace': what a run adds is always news\n"
        "    unchanged: skip\n"
        "               ^^^^\n"
        "  hint: leave it out"
    )


def test_another_word():
    assert errors_of("asset: a\nunchanged: skipp\n").splitlines()[0] == (
        "a.yml:2:12: 'unchanged' is 'skipp'; expected skip or publish"
    )


def test_a_source_has_no_runs_to_compare():
    assert errors_of("asset: a\nsource: true\nunchanged: skip\n").splitlines()[0] == (
        "a.yml:3:1: 'unchanged' has no meaning for a source: others write it, so nothing runs"
    )
