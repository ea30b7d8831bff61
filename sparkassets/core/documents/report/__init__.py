"""The report as data: what its site shows of a project, bounded in size, and without a credential."""

from sparkassets.core.documents.report.history import KINDS, MOST_ENTRIES, ReportHistory
from sparkassets.core.documents.report.report_documents import ReportDocuments, build_report

__all__ = ["KINDS", "MOST_ENTRIES", "ReportDocuments", "ReportHistory", "build_report"]
