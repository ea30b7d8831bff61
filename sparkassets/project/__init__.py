"""A project's folder as a compiled model: finds and reads its files; imports nothing of it."""

from sparkassets.project.load import PROJECT_FILE, load

__all__ = ["PROJECT_FILE", "load"]
