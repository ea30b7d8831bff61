"""Removes credentials and values of the environment from the texts of entries.

Names of datasets, files and partitions are recorded as they are, because they are compared. A credential in a name is
refused where the name is declared or announced, and so is one in an extra.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sparkassets.core.journal.entries import Entry, FailureEntry, SuccessEntry
from sparkassets.core.journal.marks import MarkEntry
from sparkassets.core.journal.table_findings import TargetEntry
from sparkassets.core.validations import FailingRow, RuleTally, RuleVerdict


def redact_entry(entry: Entry, variables: Mapping[str, str]) -> Entry:
    """The entry to record; the same object where it holds no text for people.

    Args:
        entry: The entry as decided.
        variables: Variables of the environment; ``${NAME}`` is recorded instead of their values.
    """
    match entry:
        case FailureEntry():
            return replace(entry, error=_redact_text(entry.error, variables), hint=_redact_text(entry.hint, variables))
        case SuccessEntry() if entry.verdicts:
            return replace(entry, verdicts=tuple(_redact_verdict(each, variables) for each in entry.verdicts))
        case MarkEntry():
            return replace(entry, reason=_redact_text(entry.reason, variables))
        case TargetEntry():
            return replace(entry, found=replace(entry.found, reason=_redact_text(entry.found.reason, variables)))
    return entry


def _redact_text(text: str, variables: Mapping[str, str]) -> str:
    if not text:
        return text
    from sparkassets.core.redaction import redact  # most commits hold no text

    return redact(text, variables=variables)


def _redact_verdict(verdict: RuleVerdict, variables: Mapping[str, str]) -> RuleVerdict:
    if not (verdict.observed or verdict.samples or verdict.details):
        return verdict
    return replace(
        verdict,
        observed=_redact_text(verdict.observed, variables),
        samples=_redact_samples(verdict.samples, variables),
        details=tuple(_redact_tally(each, variables) for each in verdict.details),
    )


def _redact_tally(tally: RuleTally, variables: Mapping[str, str]) -> RuleTally:
    observed, samples = _redact_text(tally.observed, variables), _redact_samples(tally.samples, variables)
    return replace(tally, observed=observed, samples=samples)


def _redact_samples(samples: tuple[FailingRow, ...], variables: Mapping[str, str]) -> tuple[FailingRow, ...]:
    if not samples:
        return samples
    from sparkassets.core.redaction import redact_json

    return tuple(redact_json(each, variables=variables) for each in samples)
