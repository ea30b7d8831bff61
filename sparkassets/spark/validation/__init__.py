"""Validations in Spark: which rows fail, and the measures of each partition."""

from __future__ import annotations

from sparkassets.spark.validation.inlet_checks import CheckCaller
from sparkassets.spark.validation.measurement import measure
from sparkassets.spark.validation.observation import ObservedFigures, RuleObservation, plan_observation
from sparkassets.spark.validation.partition_grouping import PartitionGrouping
from sparkassets.spark.validation.row_rules import STAYS, TAKEN, RowRules

__all__ = [
    "STAYS",
    "TAKEN",
    "CheckCaller",
    "ObservedFigures",
    "PartitionGrouping",
    "RowRules",
    "RuleObservation",
    "measure",
    "plan_observation",
]
