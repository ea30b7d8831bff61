"""`make demo`: real flights land week by week, and each time only what they touch is computed.

Makes `.demo/` beside this repository's `conf/` again. Every step types the two commands that a person would, in one
process, so that Spark starts once.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

from jobs.landing import correct_day, land_days, land_dimensions
from sparkassets.cli import main as sparkassets

HOME = Path(__file__).parent.parent
LAST = date(2013, 1, 14)
CORRECTED = date(2013, 1, 5)

STEPS: tuple[tuple[str, Callable[[Path], object]], ...] = (
    ("The first week of 2013 lands", lambda landing: land_days(landing, date(2013, 1, 1), date(2013, 1, 7))),
    ("The second week lands: only that is computed", lambda landing: land_days(landing, date(2013, 1, 8), LAST)),
    (
        "A corrected fifth of January lands: its day, its week and the seven days whose window holds it",
        lambda landing: correct_day(landing, CORRECTED),
    ),
    ("Nothing lands: nothing is due", lambda _: None),
)


def main() -> int:
    """Runs the demo; returns the exit code of the first command that fails, else 0."""
    began = time.monotonic()
    home = HOME / ".demo"
    shutil.rmtree(home, ignore_errors=True)
    land_dimensions(home / "landing")
    for title, land in STEPS:
        print(f"\n=== {title}", flush=True)
        land(home / "landing")
        for command in ("plan", "run"):
            print(f"\n$ sparkassets {command}", flush=True)
            code = sparkassets([command, "--project", str(HOME / "conf")])
            if code:
                return code
    print(f"\nThe demo took {time.monotonic() - began:.0f} seconds. What it made is in {home.relative_to(HOME)}/.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
