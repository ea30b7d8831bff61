"""Sinks and watchers that report commits and runs to other systems."""
