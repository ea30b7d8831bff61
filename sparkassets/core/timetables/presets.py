"""The named schedules, as the crons that they stand for."""

from __future__ import annotations

from sparkassets.core.crons.fields import CronFields, DayFields, clock_times

_FIRST = frozenset({1})
_MIDNIGHT = (0,)

PRESETS: dict[str, CronFields] = {
    "@hourly": CronFields(clock_times(list(range(24)), [0]), DayFields(), every_hour=True),
    "@daily": CronFields(_MIDNIGHT, DayFields()),
    "@weekly": CronFields(_MIDNIGHT, DayFields(weekdays=frozenset({(0, 0)}))),
    "@monthly": CronFields(_MIDNIGHT, DayFields(days=_FIRST)),
    "@quarterly": CronFields(_MIDNIGHT, DayFields(months=frozenset({1, 4, 7, 10}), days=_FIRST)),
    "@yearly": CronFields(_MIDNIGHT, DayFields(months=_FIRST, days=_FIRST)),
}
PRESETS["@midnight"] = PRESETS["@daily"]
PRESETS["@annually"] = PRESETS["@yearly"]

AS_CRONS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@quarterly": "0 0 1 */3 *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
"""The same as text, for who takes crons alone."""
