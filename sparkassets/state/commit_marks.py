"""What each commit to the state says of itself in its ``userMetadata``: its number, where no transaction id is told."""

from __future__ import annotations

import json

from sparkassets.frozen import frozen


@frozen
class StateCommitMark:
    """One commit to one of the state's tables.

    Attributes:
        app: The transaction id whose version the number is.
        attempt: Of nobody else's.
    """

    app: str
    number: int
    attempt: str = ""

    def __str__(self) -> str:
        return json.dumps({"app": self.app, "number": self.number, "attempt": self.attempt})

    @classmethod
    def parse(cls, text: str | None, app: str) -> StateCommitMark | None:
        """The mark of a commit of that transaction id; None where it has none.

        >>> StateCommitMark.parse(str(StateCommitMark("journal", 7)), "journal")
        StateCommitMark(app='journal', number=7, attempt='')
        >>> StateCommitMark.parse("by hand", "journal"), StateCommitMark.parse(None, "journal")
        (None, None)
        """
        try:
            told = json.loads(text or "")
            return cls(app, int(told["number"]), str(told["attempt"])) if told["app"] == app else None
        except (ValueError, KeyError, TypeError):
            return None
