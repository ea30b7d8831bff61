"""One run as a value: its request, its pins and its consumption; the same in plan, claim and record."""

from sparkassets.core.runs.applications import app_id, asset_app
from sparkassets.core.runs.consumption import TIMETABLE, RunConsumption
from sparkassets.core.runs.costs import CostForecast, InletVolume, RunCost, forecast_cost
from sparkassets.core.runs.division import RunDivision, allowed_division_runs
from sparkassets.core.runs.pins import InletPin
from sparkassets.core.runs.positions import ChangeAvailability, TablePosition
from sparkassets.core.runs.promotion import BranchPromotion
from sparkassets.core.runs.publications import FILES, ITERATIONS, ROWS, iteration_folder, iteration_name
from sparkassets.core.runs.request import RequestedRun, RunKind, RunRequest

__all__ = [
    "FILES",
    "ITERATIONS",
    "ROWS",
    "TIMETABLE",
    "BranchPromotion",
    "ChangeAvailability",
    "CostForecast",
    "InletPin",
    "InletVolume",
    "RequestedRun",
    "RunConsumption",
    "RunCost",
    "RunDivision",
    "RunKind",
    "RunRequest",
    "TablePosition",
    "allowed_division_runs",
    "app_id",
    "asset_app",
    "forecast_cost",
    "iteration_folder",
    "iteration_name",
]
