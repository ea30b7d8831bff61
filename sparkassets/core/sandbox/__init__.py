"""Jinja's sandbox for SQL: a closed set of names, nothing computed before rendering, and no growth without bounds."""

from sparkassets.core.sandbox.cost_meter import MOST_CHARACTERS, MOST_STEPS, CostMeter, TooMuchError
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
from sparkassets.core.sandbox.sql_values import RAW, SqlFragment, find_untrusted_raw

__all__ = [
    "FILE",
    "FUNCTIONS",
    "MOST_CHARACTERS",
    "MOST_STEPS",
    "NO_FILTERED_BLOCK",
    "RAW",
    "CostMeter",
    "SqlFragment",
    "TooMuchError",
    "ValueInSqlError",
    "environment",
    "find_untrusted_raw",
    "refused_raw",
    "render",
    "render_sql",
    "undeclared_names",
]
