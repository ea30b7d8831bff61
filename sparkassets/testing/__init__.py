"""Tests of a project's assets: those in its ``tests`` folder, and fixtures for tests in Python."""

from sparkassets.testing.results import CaseResult
from sparkassets.testing.running import run_cases

__all__ = ["CaseResult", "run_cases"]
