"""Spark: session, reads, writers, and the loading of the authors' functions."""

from __future__ import annotations

from sparkassets.spark.engine import SparkEngine
from sparkassets.spark.targets import SparkTargetFactory

__all__ = ["SparkEngine", "SparkTargetFactory"]
