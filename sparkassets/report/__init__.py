"""The report's site: written to a folder, and served on loopback for those who want it."""

from sparkassets.report.site import WrittenSite, write_site

__all__ = ["WrittenSite", "write_site"]
