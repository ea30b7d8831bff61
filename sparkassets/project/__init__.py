"""A project's folder as a compiled model: finds and reads its files; imports nothing of it."""

from sparkassets.project.compile_trace import PROJECT_FILE
from sparkassets.project.project_loader import check_storage, load_project

__all__ = ["PROJECT_FILE", "check_storage", "load_project"]
