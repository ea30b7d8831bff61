"""What an asset asks for beside its rows: a budget of its runs, a deadline, notifications."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from sparkassets.core.spec.code_bodies import PythonBody
from sparkassets.core.timetables import Timetable
from sparkassets.frozen import frozen, replace

NotifyOn = Literal["failure", "withheld", "waiting", "late", "recovery"]


@frozen
class RunBudget:
    """Limits for the cost of one run of an asset; None is no limit."""

    bytes: int | None = None
    seconds: int | None = None


@frozen
class DeadlineSpec:
    """By when the newest of an asset has to be there.

    Attributes:
        deadlines: A timetable; the ``run_after`` of each slot is a deadline.
        text: As it was written, for people.
    """

    deadlines: Timetable
    text: str


@frozen
class NotifyRule:
    """Who is notified of what.

    Attributes:
        to: Variables of the environment that hold the receivers' URLs, which no spec does.
        hook: A function that is given the message.
        title, template: Jinja templates; empty for the usual ones.
        digest: At whose ticks everything since the tick before is sent as one message; None sends it at once.
    """

    on: tuple[NotifyOn, ...]
    to: tuple[str, ...] = ()
    hook: PythonBody | None = None
    title: str = ""
    template: str = ""
    digest: Timetable | None = None

    def by_receiver(self) -> Iterator[tuple[str, NotifyRule]]:
        """Each receiver, by its variable or function, with the rule for it alone."""
        if self.hook is not None:
            yield f"{self.hook.module}:{self.hook.function}", replace(self, to=())
        for name in self.to:
            yield name, replace(self, to=(name,), hook=None)
