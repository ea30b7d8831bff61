"""Validations by Spark: which rows fail, and what is measured of each block."""

from __future__ import annotations

from sparkassets.spark.validating.blocks import BlockKeys
from sparkassets.spark.validating.calling import Caller
from sparkassets.spark.validating.failing import STAYS, TAKEN, Asked
from sparkassets.spark.validating.measuring import measure

__all__ = ["STAYS", "TAKEN", "Asked", "BlockKeys", "Caller", "measure"]
