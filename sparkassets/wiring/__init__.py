"""Makes the real adapters for the use cases; nothing else reads the clock, the host or the environment."""

from sparkassets.wiring.project import Project

__all__ = ["Project"]
