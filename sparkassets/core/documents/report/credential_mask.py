"""No credential is shown: every text of a document is looked at, each once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sparkassets.core.redaction import redact

_HARMLESS = re.compile(r"[A-Za-z0-9_.]{0,14}|\d{4}-[0-9T:.,-]{0,40}")
"""What surely needs no look: short words, and keys of time; most texts of a large report are these."""

_KEYS_AND_NUMBERS = frozenset({"times", "cells", "codes"})
"""What hundreds of thousands of slices are told by."""


class CredentialMask:
    """What hides credentials and the values of variables; texts that were looked at are remembered."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self._known: dict[str, str] = {}

    def mask(self, value: Any) -> Any:  # noqa: ANN401  any JSON
        """The same JSON without them, but for what stands as a key."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return {name: each if name in _KEYS_AND_NUMBERS else self.mask(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.mask(each) for each in value]
        return value

    def _text(self, text: str) -> str:
        if text not in self._known:
            self._known[text] = self._mask_text(text)
        return self._known[text]

    def _mask_text(self, text: str) -> str:
        if not self._variables and _HARMLESS.fullmatch(text):
            return text
        return redact(text, variables=self._variables)
