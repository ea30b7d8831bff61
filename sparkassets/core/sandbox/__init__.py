"""Jinja's sandbox for SQL: a closed set of names, nothing computed before rendering, and no growth without bounds."""

from sparkassets.core.sandbox.environment import FILE, FUNCTIONS, environment, render, undeclared_names
from sparkassets.core.sandbox.meter import MOST_CHARACTERS, MOST_STEPS, Meter, TooMuchError

__all__ = [
    "FILE",
    "FUNCTIONS",
    "MOST_CHARACTERS",
    "MOST_STEPS",
    "Meter",
    "TooMuchError",
    "environment",
    "render",
    "undeclared_names",
]
