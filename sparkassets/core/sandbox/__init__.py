"""Jinja's sandbox for SQL: a closed set of names, nothing computed before rendering, and no growth without bounds."""

from sparkassets.core.sandbox.environment import (
    FILE,
    FUNCTIONS,
    NO_FILTERED_BLOCK,
    environment,
    refused_raw,
    render,
    render_sql,
    undeclared_names,
)
from sparkassets.core.sandbox.literals import ValueInSqlError
from sparkassets.core.sandbox.meter import MOST_CHARACTERS, MOST_STEPS, Meter, TooMuchError
from sparkassets.core.sandbox.origins import raw_from_outside
from sparkassets.core.sandbox.values import Sql

__all__ = [
    "FILE",
    "FUNCTIONS",
    "MOST_CHARACTERS",
    "MOST_STEPS",
    "NO_FILTERED_BLOCK",
    "Meter",
    "Sql",
    "TooMuchError",
    "ValueInSqlError",
    "environment",
    "raw_from_outside",
    "refused_raw",
    "render",
    "render_sql",
    "undeclared_names",
]
