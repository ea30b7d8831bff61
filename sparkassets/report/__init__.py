"""The report's site: written to a folder, and served on loopback for those who want it."""

from sparkassets.report.site import Written, write_site

__all__ = ["Written", "write_site"]
