"""The protocol of a run holds in every state that small scenarios come to, and each wrong rule is caught in one."""

import pytest

from tests.model.checker import explore
from tests.model.rules import Rules
from tests.model.suite import CASES, SAMPLE, Case, verdict_text


@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.name)
def test_what_is_right_passes_and_what_is_wrong_is_caught(case):
    verdict = explore(case.rules)
    assert verdict.ok is case.passes, verdict_text(case, verdict)
    assert bool(verdict.trace) == (not case.passes)


def test_too_many_states_are_no_verdict():
    assert explore(Rules(), limit=100).ok is None


def test_a_verdict_that_is_not_expected_stands_out():
    case = Case("X", passes=True, rules=Rules(commits="driver", claims=1, crashes=0, fence="never", sweep="on_error"))
    text = verdict_text(case, explore(case.rules))
    assert text.splitlines()[0].startswith("VIOLATED   X | states ")
    assert text.splitlines()[0].endswith("are not whole in outlet 0   <<<<<< UNEXPECTED")
    assert text.splitlines()[-1].lstrip().startswith("- attempt 1.1 of run 1, outlet 0, COMMITS")


def test_cases_have_names_of_their_own():
    assert len({case.name for case in CASES}) == len(CASES)
