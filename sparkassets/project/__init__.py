"""A project's folder as a compiled model: finds and reads its files; imports nothing of it."""

from sparkassets.project.load import load
from sparkassets.project.storage import check_storage
from sparkassets.project.traces import PROJECT_FILE

__all__ = ["PROJECT_FILE", "check_storage", "load"]
