"""Tests of a project's assets as values: given rows and events, and the expected outcome."""

from sparkassets.core.cases.model import Case, CaseStep, ExpectedOutcome, GivenRows, RowCase, TimeCase
from sparkassets.core.cases.reader import read_cases

__all__ = ["Case", "CaseStep", "ExpectedOutcome", "GivenRows", "RowCase", "TimeCase", "read_cases"]
