"""Notices of what failed, is withheld, late or waits for a person, and the messages made of them.

Notices follow from the state of an asset before and after each commit of this driver: other drivers report their own
commits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sparkassets.core.instants import format_zoned, from_unix, to_unix
from sparkassets.core.journal.entries import FailureEntry, NumberedEntry, SuccessEntry
from sparkassets.core.journal.notified import LateEntry, PersonWaitEntry
from sparkassets.core.journal.state import AssetState
from sparkassets.core.journal.withheld_records import describe_verdicts
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.wording import label_partitions, listing, plural
from sparkassets.core.redaction import redact
from sparkassets.core.spec.asset_services import NotifyOn, NotifyRule
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.frozen import frozen

_NUMBER_PATTERN: Final = re.compile(r"\d+")


@frozen
class AssetNotice:
    """One notice about an asset.

    Attributes:
        kind: ``failure``, ``withheld``, ``waiting``, ``late`` or ``recovery``.
        partitions: Labels of the first few partitions; empty for an asset without partitions.
        text: The message, without the asset's name.
        hint: What to do about it.
        run: The failed run of a failure; else empty.
    """

    kind: NotifyOn
    asset: str
    partitions: str = ""
    text: str = ""
    hint: str = ""
    run: str = ""
    owner: str = ""


@frozen
class AssetTrouble:
    """Partitions of an asset that failed, or that are withheld.

    Attributes:
        kind: ``failure`` or ``withheld``.
        token: Fence token of the run.
        run: The run that failed or withheld them.
        text: Its error, or the verdicts.
        at: When it came up, Unix seconds.
        is_instance: Whether it concerns one instance, so that other instances may be in trouble as well.
        interval: Data interval of such an instance, Unix seconds.
    """

    kind: NotifyOn
    partitions: PartitionSet
    token: int
    run: str
    text: str
    at: int
    is_instance: bool = False
    interval: tuple[int, int] | None = None


_RECOVERY_TEXTS: Final[Mapping[NotifyOn, str]] = {"failure": "computed again", "withheld": "published"}
"""By kind of trouble, the text of its recovery."""


@dataclass(slots=True, eq=False)
class _FollowedAsset:
    """One asset through the commits of an invocation.

    Attributes:
        is_silent: Whether nobody is to be notified, as of the latest commit.
        before: Troubles before the invocation, and those that other drivers recorded meanwhile.
        after: Troubles after the latest commit.
    """

    before: list[AssetTrouble]
    after: tuple[AssetTrouble, ...]
    is_silent: bool = False
    ran: bool = False
    late: LateEntry | None = None
    person_wait: PersonWaitEntry | None = None
    hints: dict[str, str] = field(default_factory=dict)

    def add(self, entry: SuccessEntry | FailureEntry | LateEntry | PersonWaitEntry) -> None:
        """Adds what a driver recorded of the asset."""
        match entry:
            case SuccessEntry():
                self.ran = True
            case FailureEntry(run=run, hint=hint):
                self.hints[run] = hint
            case LateEntry():
                self.late = entry
            case PersonWaitEntry():
                self.person_wait = entry


class NoticeCollector:
    """Collects the commits of one invocation, and derives its notices.

    Attributes:
        is_run: Whether a driver recorded any end of a run or lateness; marks and pauses of a person notify nobody.
    """

    def __init__(self) -> None:
        self.is_run = False
        self._assets: dict[str, _FollowedAsset] = {}

    def commit(
        self, entries: Sequence[NumberedEntry], *, before: Mapping[str, AssetState], after: Mapping[str, AssetState]
    ) -> None:
        """Adds a commit: its entries, and the states of their assets before and after it.

        Of the troubles before it only those count that people were notified of: one that began while the asset was
        silenced and lasts is news to them. All troubles after it count; `notices` leaves out an asset that is silenced.
        """
        reported_entries = [
            each.entry
            for each in entries
            if isinstance(each.entry, SuccessEntry | FailureEntry | LateEntry | PersonWaitEntry)
        ]
        self.is_run |= bool(reported_entries)
        for name in dict.fromkeys(each.entry.asset for each in entries if hasattr(each.entry, "asset")):
            if name is not None and name in after:
                self._follow(name, _find_notified(before[name]) if name in before else (), find_troubles(after[name]))
                self._assets[name].is_silent = after[name].is_silenced(to_unix(entries[-1].at))
        for entry in reported_entries:  # `_follow` has added their assets: every entry about one leaves a state of it
            self._assets[entry.asset].add(entry)

    def _follow(self, name: str, before: tuple[AssetTrouble, ...], after: tuple[AssetTrouble, ...]) -> None:
        """Keeps an asset's troubles before this invocation and after the latest commit.

        A trouble that appeared between two commits of this driver comes from another driver, so it counts as earlier.
        """
        followed = self._assets.get(name)
        if followed is None:
            self._assets[name] = _FollowedAsset(list(before), after)
            return
        own_troubles = {(item.kind, item.token) for item in followed.after}
        followed.before += [item for item in before if (item.kind, item.token) not in own_troubles]
        followed.after = after

    def notices(self, project: ProjectSpec) -> list[AssetNotice]:
        """The notices, in the order of the project; none for assets that no longer exist."""
        pairs = ((asset, self._assets.get(name)) for name, asset in project.assets.items())
        return [
            each
            for asset, followed in pairs
            if followed is not None and not asset.written_by and not followed.is_silent
            for each in _find_notices(asset, followed)
        ]


def _find_notified(state: AssetState) -> tuple[AssetTrouble, ...]:
    """The current troubles of an asset that people were notified of: not those that came up while it was silenced."""
    return tuple(each for each in find_troubles(state) if not state.is_silenced(each.at))


def find_troubles(state: AssetState) -> tuple[AssetTrouble, ...]:
    """The current troubles of an asset by its state, failures first; a failure begins when its run was planned."""
    failures = (
        AssetTrouble("failure", each.partitions, each.token, each.run, each.error, each.planned)
        for each in state.failed
    )
    withheld = (
        AssetTrouble(
            "withheld",
            each.partitions,
            each.token,
            each.run,
            describe_verdicts(each.verdicts),
            each.at,
            each.is_instance,
            each.interval,
        )
        for each in state.withheld
    )
    return (*failures, *withheld)


def _find_notices(asset: AssetSpec, followed: _FollowedAsset) -> Iterator[AssetNotice]:
    """Yields an asset's notices: new troubles, recovered ones if it ran, and changes of its lateness and its waiting.

    The partitions of a trouble that was known before, by its text, are taken off: they were reported then.
    """
    for item in followed.after:
        known = (each for each in followed.before if _is_same_trouble(each, item))
        new_partitions = item.partitions - _join_partitions(known)
        if new_partitions:
            label = label_partitions(new_partitions, asset.partitioning) or _label_interval(asset, item)
            hint = followed.hints.get(item.run, "")
            yield AssetNotice(item.kind, asset.name, label, item.text, hint, item.run, asset.owner)
    if followed.ran:
        yield from _recovery_notices(asset, followed)
    if followed.late is not None and asset.deadlines is not None:
        yield make_lateness_notice(asset, followed.late)
    if followed.person_wait is not None:
        yield make_wait_notice(asset, followed.person_wait)


def _recovery_notices(asset: AssetSpec, followed: _FollowedAsset) -> Iterator[AssetNotice]:
    """Yields a notice for each kind of trouble that is over; partitions with trouble of another kind are left out."""
    troubled_partitions = _join_partitions(followed.after)
    for kind, text in _RECOVERY_TEXTS.items():
        recovered = _join_partitions(each for each in followed.before if each.kind == kind) - troubled_partitions
        if recovered:
            label = label_partitions(recovered, asset.partitioning)
            yield AssetNotice("recovery", asset.name, label, text, owner=asset.owner)


def _join_partitions(troubles: Iterable[AssetTrouble]) -> PartitionSet:
    return PartitionSet.union(each.partitions for each in troubles)


def make_lateness_notice(asset: AssetSpec, late: LateEntry) -> AssetNotice:
    """The notice that the asset is late, or that it no longer is, which an entry says by ``over``."""
    label = label_partitions(late.partitions, asset.partitioning)
    deadline = format_zoned(from_unix(late.by), asset.timezone)
    if late.over:
        return AssetNotice("recovery", asset.name, label, "no longer late", owner=asset.owner)
    return AssetNotice("late", asset.name, label, f"expected by {deadline}", owner=asset.owner)


def make_wait_notice(asset: AssetSpec, wait: PersonWaitEntry) -> AssetNotice:
    """The notice that the asset waits for a person, or that it no longer does, which an entry without reason says."""
    if not wait.reason:
        return AssetNotice("recovery", asset.name, text="no longer waits for a person", owner=asset.owner)
    return AssetNotice("waiting", asset.name, text=wait.reason, owner=asset.owner)


def _label_interval(asset: AssetSpec, item: AssetTrouble) -> str:
    """A label of the instance; empty where the asset has none, or its interval is unknown."""
    if not item.is_instance or item.interval is None:
        return ""
    return "..".join(format_zoned(from_unix(at), asset.timezone) for at in item.interval)


def _is_same_trouble(trouble: AssetTrouble, other: AssetTrouble) -> bool:
    """Whether both are the same trouble, so that it is reported once.

    Numbers in the texts are ignored: ports, times and counts differ every time. Different instances are never the same.
    """
    if trouble.is_instance and (trouble.interval != other.interval or trouble.interval is None):
        return trouble.token == other.token
    return trouble.kind == other.kind and text_without_numbers(trouble.text) == text_without_numbers(other.text)


def text_without_numbers(text: str) -> str:
    """The text without what differs each time: ports, times and counts."""
    return _NUMBER_PATTERN.sub("", text)


MOST_LISTED_NOTICES: Final = 20
"""Number of notices of one kind in a message; further ones are only counted."""

_KIND_WORDS: Final[Mapping[NotifyOn, tuple[str, str]]] = {
    "failure": ("failures", "failed"),
    "withheld": ("withheld", "withheld"),
    "waiting": ("waiting", "waiting for a person"),
    "late": ("late", "late"),
    "recovery": ("recovered", "recovered"),
}
"""By kind, the name of its list in templates, and its word in messages."""


@frozen
class NotificationMessage:
    """One message to the receivers of a rule.

    Attributes:
        project: Name of the project.
        notices: The notices that it reports, in the order of the project.
        problem: Why the template could not be used; empty where it could.
    """

    project: str
    title: str
    text: str
    notices: tuple[AssetNotice, ...]
    problem: str = ""

    @property
    def severity(self) -> NotifyOn:
        """The most severe kind among its notices."""
        kinds = {notice.kind for notice in self.notices}
        return next((kind for kind in _KIND_WORDS if kind in kinds), "recovery")


def build_messages(
    notices: Sequence[AssetNotice], project: ProjectSpec
) -> Iterator[tuple[NotifyRule, NotificationMessage]]:
    """The messages to send, each with its rule; rules that differ in ``on`` alone share one message.

    A notice stands in a message once, even if several of these rules select it.
    """
    notices_by_rule: list[tuple[NotifyRule, dict[AssetNotice, None]]] = []
    for notice in notices:
        for rule in project.assets[notice.asset].notify:
            if notice.kind in rule.on and rule.digest is None:
                # without `on`, rules that differ in it alone are equal
                _notices_by_rule(replace(rule, on=()), notices_by_rule)[notice] = None
    for rule, rule_notices in notices_by_rule:
        yield rule, build_message(rule, tuple(rule_notices), project)


def _notices_by_rule(
    rule: NotifyRule, collected: list[tuple[NotifyRule, dict[AssetNotice, None]]]
) -> dict[AssetNotice, None]:
    """The notices collected for a rule so far: the keys of an ordered map in ``collected``, which is added if missing.

    The search is linear, as rules are few.
    """
    for other, rule_notices in collected:
        if other == rule:
            return rule_notices
    collected.append((rule, {}))
    return collected[-1][1]


def build_message(rule: NotifyRule, notices: tuple[AssetNotice, ...], project: ProjectSpec) -> NotificationMessage:
    """The message of a rule about these notices; if its template fails, the default text with the problem."""
    default_title = _default_title(notices, project)
    try:
        title = _render_template(rule.title, notices, project, default_title) if rule.title else default_title
        text = _render_template(rule.template, notices, project, title) if rule.template else _default_text(notices)
    except Exception as error:  # noqa: BLE001  a failing template must not suppress the message
        from sparkassets.errors import describe_error

        return NotificationMessage(
            project.name,
            default_title,
            _default_text(notices),
            notices,
            f"the template of 'notify' failed: {describe_error(error)}",
        )
    title, text = (redact(each, variables=project.variables) for each in (title, text))
    return NotificationMessage(project.name, " ".join(title.split()), text, notices)


def _render_template(template: str, notices: Sequence[AssetNotice], project: ProjectSpec, title: str) -> str:
    """Renders a template of ``notify`` with the project, the title, and the notices, all and by kind."""
    from sparkassets.core.sandbox import render

    names: dict[str, Any] = {"project": project.name, "title": title, "notices": [*map(_notice_values, notices)]}
    for kind, (name, _) in _KIND_WORDS.items():
        names[name] = [_notice_values(notice) for notice in notices if notice.kind == kind]
    return render(template, names)


def _notice_values(notice: AssetNotice) -> dict[str, str]:
    """The keys of a notice in templates."""
    return {
        "kind": notice.kind,
        "asset": notice.asset,
        "partitions": notice.partitions,
        "text": notice.text,
        "hint": notice.hint,
        "run": notice.run,
        "owner": notice.owner,
    }


def _default_title(notices: Sequence[AssetNotice], project: ProjectSpec) -> str:
    """The default title, such as ``flights: 2 assets failed, 1 asset late``."""
    assets = {kind: {notice.asset for notice in notices if notice.kind == kind} for kind in _KIND_WORDS}
    counts = [f"{plural(len(assets[kind]), 'asset')} {word}" for kind, (_, word) in _KIND_WORDS.items() if assets[kind]]
    return f"{project.name}: {listing(counts)}"


def _default_text(notices: Sequence[AssetNotice]) -> str:
    return "\n".join(
        line for kind in _KIND_WORDS for line in _format_notices([each for each in notices if each.kind == kind])
    )


def _format_notices(notices: Sequence[AssetNotice]) -> Iterator[str]:
    """Yields the lines of notices of one kind; more than `MOST_LISTED_NOTICES` are only counted."""
    for notice in notices[:MOST_LISTED_NOTICES]:
        subject = " ".join(filter(None, [notice.asset, notice.partitions]))
        yield f"{_KIND_WORDS[notice.kind][1]}: {subject}: {notice.text}"
        if notice.hint:
            yield f"  hint: {notice.hint}"
        if notice.run:
            yield f"  run: {notice.run}"
    if len(notices) > MOST_LISTED_NOTICES:
        yield f"and {len(notices) - MOST_LISTED_NOTICES} more {_KIND_WORDS[notices[0].kind][1]}"
