"""The named schedules, as the crons that they stand for."""

from __future__ import annotations

from sparkassets.core.crons.fields import CronFields, DayFields, clock_times

_FIRST = frozenset({1})
_MIDNIGHT = (0,)

PRESETS: dict[str, CronFields] = {
    "@hourly": CronFields(clock_times(list(range(24)), [0]), DayFields(), every_hour=True),  # 0 * * * *
    "@daily": CronFields(_MIDNIGHT, DayFields()),  # 0 0 * * *
    "@weekly": CronFields(_MIDNIGHT, DayFields(weekdays=frozenset({(0, 0)}))),  # 0 0 * * 0
    "@monthly": CronFields(_MIDNIGHT, DayFields(days=_FIRST)),  # 0 0 1 * *
    "@quarterly": CronFields(_MIDNIGHT, DayFields(months=frozenset({1, 4, 7, 10}), days=_FIRST)),  # 0 0 1 */3 *
    "@yearly": CronFields(_MIDNIGHT, DayFields(months=_FIRST, days=_FIRST)),  # 0 0 1 1 *
}
PRESETS["@midnight"] = PRESETS["@daily"]
PRESETS["@annually"] = PRESETS["@yearly"]
