"""Texts for people are recorded without credentials, names of data as they are."""

from dataclasses import replace

from sparkassets.core.journal.codec.entries import redact_entry
from sparkassets.core.journal.entries import FailureEntry, ObservedEntry, SuccessEntry
from sparkassets.core.journal.marks import MarkEntry
from sparkassets.core.partitions import EVERYTHING, NOTHING
from sparkassets.core.validations import RuleTally, RuleVerdict

SAID = "refused password=hunter2 of ops-lake"
SHOWN = "refused password=*** of ${BUCKET}"
VARIABLES = {"BUCKET": "ops-lake"}


def test_failures_and_marks():
    failed = FailureEntry("a", "r", 1, EVERYTHING, "error", SAID, "i", hint=SAID)
    assert redact_entry(failed, VARIABLES) == replace(failed, error=SHOWN, hint=SHOWN)
    mark = MarkEntry("a", "x-a", "done", EVERYTHING, SAID, "me")
    assert redact_entry(mark, VARIABLES) == replace(mark, reason=SHOWN)


def test_what_validations_found():
    tally = RuleTally("r", EVERYTHING, 2, 1, SAID, ({"note": SAID, "password": "hunter2"},))
    verdict = RuleVerdict("r", "fail", "withheld", EVERYTHING, 2, 1, SAID, ({"note": SAID},), details=(tally, tally))
    entry = SuccessEntry("a", "x-a", "r", 1, 1, NOTHING, verdicts=(verdict,))
    (found,) = redact_entry(entry, VARIABLES).verdicts
    assert "hunter2" not in repr(found)
    assert (found.observed, found.samples, found.details[1].observed) == (SHOWN, ({"note": SHOWN},), SHOWN)


def test_names_of_data_are_compared_and_stay():
    seen = ObservedEntry("a", "x-a", cursor={"landing/token=3f9aa1c27b.csv": [1, 2]})
    assert redact_entry(seen, VARIABLES) is seen
