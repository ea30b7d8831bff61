"""A project's folder as a compiled model: finds and reads its files; imports nothing of it."""

from sparkassets.project.compile_trace import PROJECT_FILE
from sparkassets.project.project_loader import load_project
from sparkassets.project.storage_check import check_storage

__all__ = ["PROJECT_FILE", "check_storage", "load_project"]
