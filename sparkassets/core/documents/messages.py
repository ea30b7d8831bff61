"""Notification messages of an invocation: one for each receiver and template, however many notices there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sparkassets.core.documents.notices import AssetNotice
from sparkassets.core.planner.wording import listing, plural
from sparkassets.core.redaction import redact
from sparkassets.core.spec.model import NotifyOn, NotifyRule, ProjectSpec
from sparkassets.frozen import frozen

MOST_TOLD: Final = 20
"""At most so many notices of one kind stand in a message; further ones are only counted."""

_KINDS: Final[Mapping[NotifyOn, tuple[str, str]]] = {
    "failure": ("failures", "failed"),
    "withheld": ("withheld", "withheld"),
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
        return next((kind for kind in _KINDS if kind in kinds), "recovery")


def build_messages(
    notices: Sequence[AssetNotice], project: ProjectSpec
) -> Iterator[tuple[NotifyRule, NotificationMessage]]:
    """The messages to send, each with its rule; rules that differ in ``on`` alone share one message.

    A notice stands in a message once, even if several of these rules select it.
    """
    found: list[tuple[NotifyRule, dict[AssetNotice, None]]] = []
    for notice in notices:
        for rule in project.assets[notice.asset].notify:
            if notice.kind in rule.on:
                _notices_of_rule(replace(rule, on=()), found)[notice] = None
    for rule, told in found:
        yield rule, _build_message(rule, tuple(told), project)


def _notices_of_rule(
    rule: NotifyRule, found: list[tuple[NotifyRule, dict[AssetNotice, None]]]
) -> dict[AssetNotice, None]:
    """The notices of a rule, an ordered set that is added if missing; a linear search, as rules are few."""
    for other, told in found:
        if other == rule:
            return told
    found.append((rule, {}))
    return found[-1][1]


def _build_message(rule: NotifyRule, notices: tuple[AssetNotice, ...], project: ProjectSpec) -> NotificationMessage:
    usual = _title(notices, project)
    try:
        title = _render_template(rule.title, notices, project, usual) if rule.title else usual
        text = _render_template(rule.template, notices, project, title) if rule.template else _text(notices)
    except Exception as error:  # noqa: BLE001  a failing template must not suppress the message
        from sparkassets.errors import describe_error

        return NotificationMessage(
            project.name, usual, _text(notices), notices, f"the template of 'notify' failed: {describe_error(error)}"
        )
    title, text = (redact(each, variables=project.variables) for each in (title, text))
    return NotificationMessage(project.name, " ".join(title.split()), text, notices)


def _render_template(template: str, notices: Sequence[AssetNotice], project: ProjectSpec, title: str) -> str:
    from sparkassets.core.sandbox import render

    names: dict[str, Any] = {"project": project.name, "title": title, "notices": [*map(_notice_values, notices)]}
    for kind, (name, _) in _KINDS.items():
        names[name] = [_notice_values(notice) for notice in notices if notice.kind == kind]
    return render(template, names)


def _notice_values(notice: AssetNotice) -> dict[str, str]:
    return {
        "kind": notice.kind,
        "asset": notice.asset,
        "partitions": notice.partitions,
        "text": notice.text,
        "hint": notice.hint,
        "run": notice.run,
        "owner": notice.owner,
    }


def _title(notices: Sequence[AssetNotice], project: ProjectSpec) -> str:
    """``flights: 2 assets failed, 1 asset late``."""
    assets = {kind: {notice.asset for notice in notices if notice.kind == kind} for kind in _KINDS}
    told = [f"{plural(len(assets[kind]), 'asset')} {word}" for kind, (_, word) in _KINDS.items() if assets[kind]]
    return f"{project.name}: {listing(told)}"


def _text(notices: Sequence[AssetNotice]) -> str:
    return "\n".join(line for kind in _KINDS for line in _lines([each for each in notices if each.kind == kind]))


def _lines(notices: Sequence[AssetNotice]) -> Iterator[str]:
    for notice in notices[:MOST_TOLD]:
        which = " ".join(filter(None, [notice.asset, notice.partitions]))
        yield f"{_KINDS[notice.kind][1]}: {which}: {notice.text}"
        if notice.hint:
            yield f"  hint: {notice.hint}"
        if notice.run:
            yield f"  run: {notice.run}"
    if len(notices) > MOST_TOLD:
        yield f"and {len(notices) - MOST_TOLD} more {_KINDS[notices[0].kind][1]}"
