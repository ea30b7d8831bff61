"""Keeps due partitions from running now: inlets, upstream runs, failures, lost tables and unaligned inlets."""
