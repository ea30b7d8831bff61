"""Where adapters meet the runtime: the only reader of the clock, the host and the environment."""

from sparkassets.wiring.alignment import align_crons
from sparkassets.wiring.backfilling import BackfillRequest
from sparkassets.wiring.project import Project

__all__ = ["BackfillRequest", "Project", "align_crons"]
