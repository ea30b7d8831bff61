"""How rows land in a table, a file for each write mode."""

from __future__ import annotations

from sparkassets.spark.writes.landing import LandingMode, RowLanding
from sparkassets.spark.writes.modes import mode_of
from sparkassets.spark.writes.planned_write import PlannedWrite, check_schema, choose_judged_rows, layout_of, plan_write

__all__ = [
    "LandingMode",
    "PlannedWrite",
    "RowLanding",
    "check_schema",
    "choose_judged_rows",
    "layout_of",
    "mode_of",
    "plan_write",
]
