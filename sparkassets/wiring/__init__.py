"""Where adapters are made and meet the use cases: the only reader of the clock, the host and the environment."""

from sparkassets.wiring.project import Project

__all__ = ["Project"]
