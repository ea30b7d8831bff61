"""Compiles `notify` of the project and of assets; it names receivers and never holds their URLs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from jinja2 import TemplateError, TemplateSyntaxError

from sparkassets.core.phrases import listing
from sparkassets.core.sandbox import environment, undeclared_names
from sparkassets.core.spec.bodies import ModuleSource, compile_function
from sparkassets.core.spec.drafts import ProjectDraft
from sparkassets.core.spec.file_models import NotifyMap
from sparkassets.core.spec.model import NotifyRule, PythonBody
from sparkassets.core.spec.yaml_document import DocumentPlace
from sparkassets.core.suggestions import did_you_mean

NAMES: Final = ("project", "title", "notices", "failures", "withheld", "late", "recovered")
"""Names that a message template may use; `sparkassets.core.documents.messages` has a value for each."""
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
    return tuple(_rule(place, each, project, modules) for place, each in zip(places, written_rules(keys), strict=True))


def _rule(at: DocumentPlace, keys: NotifyMap, project: ProjectDraft, modules: Mapping[str, ModuleSource]) -> NotifyRule:
    on = (keys.on,) if isinstance(keys.on, str) else tuple(dict.fromkeys(keys.on))
    to = (keys.to,) if isinstance(keys.to, str) else tuple(dict.fromkeys(keys.to or ()))
    if not to and keys.python is None and "notify" not in at.document.failed:
        at.add_problem(
            "'notify' tells nobody", hint="write 'to: <VARIABLE>', which holds the URL, or 'python: <function>'"
        )
    if not all(map(_VARIABLE.fullmatch, to)):
        message = "'to' of 'notify' is the name of a variable of the environment, not the URL that it holds"
        (at / "to").add_problem(message, hint="write 'to: ALERTS_URL', and set ALERTS_URL to the URL", secret=True)
        return NotifyRule(on)  # nothing else is shown of a line that may hold a URL
    for key, text in (("title", keys.title), ("template", keys.template)):
        if text is not None:
            _check_template(at / key, text)
    return NotifyRule(
        on, to, _hook(at / "python", keys.python, project, modules), keys.title or "", keys.template or ""
    )


def _hook(
    at: DocumentPlace, written: str | None, project: ProjectDraft, modules: Mapping[str, ModuleSource]
) -> PythonBody | None:
    if written is None:
        return None
    found = compile_function(at, written, project, modules)
    if found is not None and len(found.arguments) != 1:
        count = f"{len(found.arguments)} arguments" if found.arguments else "no argument"
        at.add_problem(f"{written!r} takes {count}; expected one, the message: def {found.function}(message)")
    return found


def _check_template(at: DocumentPlace, text: str) -> None:
    """Refuses what Jinja cannot read, and names that no message has."""
    try:
        names = undeclared_names(environment().parse(text)) - {*NAMES, *environment().globals}
    except TemplateSyntaxError as error:
        at.add_problem(f"this is no Jinja template: line {error.lineno}: {error.message}")
        return
    except TemplateError as error:
        at.add_problem(f"this is no Jinja template: {error.message}")
        return
    for name in sorted(names):
        hint = did_you_mean(name, NAMES)
        at.add_word_problem(name, f"a message has no {name!r}; there are {listing(NAMES, last='and')}", hint=hint)
