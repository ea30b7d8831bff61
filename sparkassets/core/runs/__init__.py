"""One run as a value: what is asked of it, what it reads, and what it uses up; the same in plan, claim and record."""

from sparkassets.core.runs.applications import app_id, asset_app
from sparkassets.core.runs.consumption import TIMETABLE, Consumption
from sparkassets.core.runs.costs import Forecast, RunCost, Volume, forecast
from sparkassets.core.runs.division import Division, budget
from sparkassets.core.runs.pins import Pin
from sparkassets.core.runs.positions import ChangesTold, Position
from sparkassets.core.runs.promotion import Promotion
from sparkassets.core.runs.publications import FILES, ITERATIONS, ROWS, iteration_folder, iteration_name
from sparkassets.core.runs.request import Requested, RunKind, RunRequest

__all__ = [
    "FILES",
    "ITERATIONS",
    "ROWS",
    "TIMETABLE",
    "ChangesTold",
    "Consumption",
    "Division",
    "Forecast",
    "Pin",
    "Position",
    "Promotion",
    "Requested",
    "RunCost",
    "RunKind",
    "RunRequest",
    "Volume",
    "app_id",
    "asset_app",
    "budget",
    "forecast",
    "iteration_folder",
    "iteration_name",
]
