"""Crons and wall clocks: the text of five fields, and the instants at which a zone's clock shows one of their times."""

from sparkassets.core.crons.expand import CronError, expand
from sparkassets.core.crons.fields import CronFields
from sparkassets.core.crons.wall_clock import WallClockTicks

__all__ = ["CronError", "CronFields", "WallClockTicks", "expand"]
