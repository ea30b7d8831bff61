"""How rows land in a table, a file for each write mode."""

from __future__ import annotations

from sparkassets.spark.writes.landing import Landing, Mode
from sparkassets.spark.writes.modes import mode_of
from sparkassets.spark.writes.planned import PlannedWrite, check_schema, chosen, layout_of, planned

__all__ = ["Landing", "Mode", "PlannedWrite", "check_schema", "chosen", "layout_of", "mode_of", "planned"]
