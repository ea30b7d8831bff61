"""Compiles the keys `expect`, when updates are late, and `notify`, who is notified."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from jinja2 import TemplateError, TemplateSyntaxError

from sparkassets.core.instants import DAY, Duration, InstantError, zone_offsets
from sparkassets.core.phrases import listing
from sparkassets.core.sandbox import environment, undeclared_names
from sparkassets.core.spec.asset_services import DeadlineSpec, NotifyRule
from sparkassets.core.spec.bodies import compile_function
from sparkassets.core.spec.code_bodies import PythonBody
from sparkassets.core.spec.drafts import ProjectDraft
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.module_source import ModuleSource
from sparkassets.core.spec.project_models import NotifyMap
from sparkassets.core.spec.schedule_models import DeadlineMap
from sparkassets.core.spec.selection import select_assets
from sparkassets.core.spec.time_bounds import TimeBounds
from sparkassets.core.spec.value_kinds import one_or_more
from sparkassets.core.spec.yaml_document import DocumentPlace
from sparkassets.core.suggestions import did_you_mean
from sparkassets.core.timetables.parse import parse_timetable
from sparkassets.core.timetables.tick_timetable import TickTimetable
from sparkassets.core.timetables.ticks import every_ticks
from sparkassets.core.timetables.timetable import InstantIntervals, Timetable, TimetableError
from sparkassets.errors import InputError

_TIME_OF_DAY: Final = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_DAILY: Final = "1d"


def compile_expect(at: DocumentPlace, keys: DeadlineMap | None, *, within: TimeBounds) -> DeadlineSpec | None:
    """The deadlines; None where there are none, or where they are wrong, which becomes a problem.

    Args:
        at: The place of ``expect``.
        keys: As written.
        within: Zone and bounds of the asset; no deadline is before its start.
    """
    if keys is None:
        return None
    time_of_day = _TIME_OF_DAY.fullmatch(keys.by.strip())
    if time_of_day is None:
        return _compile_cron_deadline(at, keys, within)
    minutes = int(time_of_day[1]) * 60 + int(time_of_day[2])
    return _compile_daily_deadline(at, keys, minutes * 60, within)


def _compile_cron_deadline(at: DocumentPlace, keys: DeadlineMap, within: TimeBounds) -> DeadlineSpec | None:
    """A deadline at each tick."""
    if keys.every is not None:
        message = "'every' of 'expect' needs a time of day in 'by'; a cron already says how often"
        (at / "every").add_key_problem(message)
        return None
    try:
        deadlines = parse_timetable({"at": keys.by}, timezone=within.timezone, start=within.start, end=within.end)
    except TimetableError as error:
        expected = "expected a time of day such as 08:00, or a cron such as '0 8 * * MON'"
        (at / "by").add_problem(f"'by' of 'expect' is {keys.by!r}; {expected}", hint=error.hint)
        return None
    return DeadlineSpec(deadlines, f"by {keys.by}")


def _compile_daily_deadline(
    at: DocumentPlace, keys: DeadlineMap, seconds: int, within: TimeBounds
) -> DeadlineSpec | None:
    """A deadline at a time of day, every so many days; or every so many hours, from that time on.

    ``seconds`` is the time of day, since midnight on the wall clock.
    """
    every = keys.every or _DAILY
    try:
        length = Duration.parse(every)
    except InstantError as error:
        (at / "every").add_problem(str(error.args[0]), hint=error.hint)
        return None
    if not _is_whole(length):
        message = f"'every' of 'expect' is {every!r}; expected a positive duration, in either calendar or elapsed time"
        (at / "every").add_problem(message)
        return None
    if length != Duration(days=1) and not length.seconds and within.start is None:
        message = f"'every: {every}' counts from the asset's 'start', which is missing"
        (at / "every").add_problem(message, hint="add 'start', or write 'by' as a cron such as '0 8 * * MON'")
        return None
    clock = zone_offsets(within.timezone)
    # the time of day on the local date of the start: from there on every `length` is counted
    local = 0 if within.start is None else within.start + clock.offset_at(within.start)
    anchor = clock.tick_instant(local - local % DAY + seconds)
    ticks = every_ticks(every, length, timezone=within.timezone, anchor=anchor)
    text = f"by {keys.by.strip()}" if keys.every in (None, _DAILY) else f"by {keys.by.strip()} every {every}"
    return DeadlineSpec(TickTimetable(text, within.timezone, ticks, InstantIntervals(), within.start, within.end), text)


def _is_whole(length: Duration) -> bool:
    """Whether it is above 0, and counts either days and months or seconds, not both."""
    calendar = length.days, length.months
    if min(length.seconds, *calendar) < 0:
        return False
    return bool(length.seconds) != any(calendar)


NAMES: Final = ("project", "title", "notices", "failures", "withheld", "waiting", "late", "recovered")
"""Names that a message template may use; `sparkassets.features.notifications.notices` has a value for each."""
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

WrittenNotifications = NotifyMap | Sequence[NotifyMap] | None


def written_rules(keys: WrittenNotifications) -> Sequence[NotifyMap]:
    """The rules as they are written, one by one."""
    if keys is None:
        return ()
    return (keys,) if isinstance(keys, NotifyMap) else keys


def compile_notify(
    at: DocumentPlace, keys: WrittenNotifications, *, project: ProjectDraft, modules: Mapping[str, ModuleSource]
) -> tuple[NotifyRule, ...]:
    """The rules; what is wrong becomes problems.

    Args:
        at: The place of ``notify``.
        keys: As written.
        project: Says which packages functions may come from.
        modules: Those that exist of the modules that hooks name, by name.
    """
    places = [at] if isinstance(keys, NotifyMap) else [at / index for index in range(len(written_rules(keys)))]
    return tuple(
        _compile_rule(place, each, project, modules) for place, each in zip(places, written_rules(keys), strict=True)
    )


def narrow_rules(
    project: ProjectDraft, rules: Sequence[NotifyRule], assets: Mapping[str, AssetSpec]
) -> dict[str, tuple[NotifyRule, ...]]:
    """For each asset those of the project's notification rules that select it; a wrong selection is a problem.

    ``rules`` are the compiled ones, in the order in which they are written.
    """
    written = written_rules(project.keys.notify)
    at = project.at / "notify"
    chosen: list[tuple[NotifyRule, frozenset[str]]] = []
    for index, (keys, rule) in enumerate(zip(written, rules, strict=True)):
        names = frozenset(assets)
        if keys.select is not None:
            place = at if isinstance(project.keys.notify, NotifyMap) else at / index
            try:
                names = frozenset(select_assets(assets, [keys.select], project=project.keys.project))
            except InputError as error:
                (place / "select").add_problem(f"'select' of 'notify': {error.args[0]}", hint=error.hint)
        chosen.append((rule, names))
    return {name: tuple(rule for rule, names in chosen if name in names) for name in assets}


def refuse_selections(at: DocumentPlace, keys: WrittenNotifications) -> None:
    """Refuses `select` in the rules of one asset, which are for that asset alone."""
    for index, rule in enumerate(written_rules(keys)):
        if rule.select is not None:
            place = at if isinstance(keys, NotifyMap) else at / index
            (place / "select").add_key_problem(
                "'select' goes with the project's 'notify': an asset's own is for it alone"
            )


def _compile_rule(
    at: DocumentPlace, keys: NotifyMap, project: ProjectDraft, modules: Mapping[str, ModuleSource]
) -> NotifyRule:
    """One notification rule; a rule without receivers, or with a URL in place of a variable's name, is a problem."""
    on, to = tuple(dict.fromkeys(one_or_more(keys.on))), tuple(dict.fromkeys(one_or_more(keys.to)))
    if not to and keys.python is None and "notify" not in at.document.failed:
        at.add_problem(
            "'notify' has no recipient",
            hint="write 'to: <VARIABLE>', the environment variable with the URL, or 'python: <function>'",
        )
    if not all(map(_VARIABLE.fullmatch, to)):
        message = "'to' of 'notify' is not a name; expected the environment variable that holds the URL"
        (at / "to").add_problem(message, hint="write 'to: ALERTS_URL', and set ALERTS_URL to the URL", secret=True)
        return NotifyRule(on)  # nothing else is shown of a line that may hold a URL
    for key, text in (("title", keys.title), ("template", keys.template)):
        if text is not None:
            _check_template(at / key, text)
    return NotifyRule(
        on,
        to,
        _compile_hook(at / "python", keys.python, project, modules),
        keys.title or "",
        keys.template or "",
        _compile_digest(at / "digest", keys.digest, timezone=project.timezone),
    )


def _compile_digest(at: DocumentPlace, written: str | None, *, timezone: str) -> Timetable | None:
    """When a digest is sent; None where there is none, or where it is wrong, which becomes a problem."""
    if written is None:
        return None
    time_of_day = _TIME_OF_DAY.fullmatch(written.strip())
    cron = written if time_of_day is None else f"{int(time_of_day[2])} {int(time_of_day[1])} * * *"
    try:
        return parse_timetable({"at": cron}, timezone=timezone)
    except TimetableError as error:
        expected = "expected a time of day such as 08:00, or a cron such as '0 8 * * MON'"
        at.add_problem(f"'digest' of 'notify' is {written!r}; {expected}", hint=error.hint)
        return None


def _compile_hook(
    at: DocumentPlace, written: str | None, project: ProjectDraft, modules: Mapping[str, ModuleSource]
) -> PythonBody | None:
    """Compiles the function that messages are passed to; None where none is written, or it is wrong."""
    if written is None:
        return None
    function = compile_function(at, written, project, modules)
    if function is not None and len(function.arguments) != 1:
        count = f"{len(function.arguments)} arguments" if function.arguments else "no argument"
        at.add_problem(f"{written!r} takes {count}; expected one, the message: def {function.function}(message)")
    return function


def _check_template(at: DocumentPlace, text: str) -> None:
    """Refuses what Jinja cannot read, and names that no message has."""
    try:
        names = undeclared_names(environment().parse(text)) - {*NAMES, *environment().globals}
    except TemplateSyntaxError as error:
        at.add_problem(f"invalid Jinja template: line {error.lineno}: {error.message}")
        return
    except TemplateError as error:
        at.add_problem(f"invalid Jinja template: {error.message}")
        return
    for name in sorted(names):
        hint = did_you_mean(name, NAMES)
        at.add_word_problem(
            name, f"unknown name {name!r} in a message template; expected {listing(NAMES, last='or')}", hint=hint
        )
