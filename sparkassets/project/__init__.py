"""Finds, reads and compiles the files of a project's folder; imports none of the project's code in this process."""

from sparkassets.project.compile_trace import PROJECT_FILE
from sparkassets.project.project_loader import check_storage, load_cases, load_project

__all__ = ["PROJECT_FILE", "check_storage", "load_cases", "load_project"]
