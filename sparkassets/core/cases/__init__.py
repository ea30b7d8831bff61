"""Tests of a project's assets, as values: what is given, and what is to come of it."""

from sparkassets.core.cases.model import Case, Expected, Given, RowCase, Step, TimeCase
from sparkassets.core.cases.reading import read_cases

__all__ = ["Case", "Expected", "Given", "RowCase", "Step", "TimeCase", "read_cases"]
