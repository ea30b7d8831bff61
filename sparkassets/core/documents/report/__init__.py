"""The report as data: what its site shows of a project, bounded in size, and without a credential."""

from sparkassets.core.documents.report.past import KINDS, MOST_ENTRIES, Past
from sparkassets.core.documents.report.site import Report, report_of

__all__ = ["KINDS", "MOST_ENTRIES", "Past", "Report", "report_of"]
