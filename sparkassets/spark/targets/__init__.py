"""Targets of runs: Delta tables with two committers, and assets that write themselves."""
