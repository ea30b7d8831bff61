"""Outlines of SQL templates by their texts: reading them takes most of the time of compiling a project."""

from __future__ import annotations

from collections.abc import Mapping

from sparkassets.core.query_outline import QueryOutline
from sparkassets.digests import blake2b


class OutlineMemo:
    """The outlines of texts, each read once.

    Args:
        known: Outlines of texts that were read before, by `digest_text`.

    Attributes:
        used: The outlines that were asked for, likewise.
    """

    def __init__(self, known: Mapping[str, QueryOutline] | None = None) -> None:
        self._known = known or {}
        self.used: dict[str, QueryOutline] = {}

    def find_outline(self, text: str, macros: str = "", *, is_stored: bool) -> QueryOutline:
        """The outline of a template.

        Args:
            text: Of the template.
            macros: Definitions of those that it uses.
            is_stored: Whether the outline may be in ``used``, which is stored: not where the text holds values of the
                environment, which may be secret.

        Raises:
            TemplateError: It is none; with the line at fault.
        """
        key = digest_text(f"{macros}\0{text}" if macros else text) if is_stored else ""
        found = self._known.get(key)
        if found is None:
            from sparkassets.core.templating import read_outline  # Jinja is for texts that are new

            found = read_outline(text, macros)
        if is_stored:
            self.used[key] = found
        return found


def digest_text(text: str) -> str:
    """A digest that identifies a text."""
    return blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()
