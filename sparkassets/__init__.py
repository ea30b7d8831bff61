"""Data-aware, incremental, partition-aware Spark pipelines without an orchestrator."""
