"""Finds what is due: missing and stale partitions, ticks, events, conditions, withheld rows and outdated code."""
