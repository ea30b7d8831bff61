"""Where adapters meet the runtime: the only reader of the clock, the host and the environment."""

from sparkassets.wiring.alignment import align_crons
from sparkassets.wiring.backlog import Backlog
from sparkassets.wiring.project import Project

__all__ = ["Backlog", "Project", "align_crons"]
